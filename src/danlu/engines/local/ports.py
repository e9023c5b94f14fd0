"""Port leases: no two live attempts on a machine share a port."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence

from danlu.engines.api import Unreachable


class PortLeases:
    """All declared nodes share one machine, so a port is leased once for all of them."""

    def __init__(self, port_range: tuple[int, int]) -> None:
        self._first, self._last = port_range
        # Random start, so that servers on the same machine rarely collide.
        self._next = random.randint(self._first, self._last)
        self._held: set[int] = set()
        self._by_attempt: dict[str, set[int]] = {}

    async def lease(
        self, attempt_id: str, node: str, count: int, first: int | None = None
    ) -> tuple[int, ...]:
        found: list[int] = []
        if first is not None and count and first not in self._held and _bindable(first):
            found.append(first)
        for _ in range(self._last - self._first + 1):
            if len(found) == count:
                break
            port = self._next
            self._next = self._first if port == self._last else port + 1
            if port not in self._held and port != first and _bindable(port):
                found.append(port)
        if len(found) < count:
            raise Unreachable(
                f"no {count} free ports on {node} between {self._first} and {self._last}"
            )
        self.hold(attempt_id, found)
        return tuple(found)

    async def keep(self, attempt_id: str, node: str, ports: Sequence[int]) -> None:
        self.hold(attempt_id, ports)

    async def free(self, attempt_id: str) -> None:
        self.drop(attempt_id)

    def hold(self, attempt_id: str, ports: Sequence[int]) -> None:
        """Reserves these for an attempt until it is dropped (e.g. after a restart)."""
        if ports:
            self._held.update(ports)
            self._by_attempt.setdefault(attempt_id, set()).update(ports)

    def drop(self, attempt_id: str) -> None:
        self._held -= self._by_attempt.pop(attempt_id, set())


def _bindable(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
