"""Ports leased to tasks: never the same one to two live attempts of a machine."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable

from danlu.engines.api import Unreachable


class PortLeases:
    """All declared nodes share one machine, so a port is leased once for all of them."""

    def __init__(self, port_range: tuple[int, int]) -> None:
        self._first, self._last = port_range
        # Anywhere: another server on this machine counts up from somewhere else.
        self._next = random.randint(self._first, self._last)
        self._held: dict[int, str] = {}  # port -> attempt; "" until it is told
        self._by_attempt: dict[str, set[int]] = {}

    def lease(self, node: str, count: int, first: int | None = None) -> tuple[int, ...]:
        found: list[int] = []
        if first is not None and count and first not in self._held and _bindable(first):
            self._held[first] = ""
            found.append(first)
        for _ in range(self._last - self._first + 1):
            if len(found) == count:
                break
            port = self._next
            self._next = self._first if port == self._last else port + 1
            if port not in self._held and _bindable(port):
                self._held[port] = ""
                found.append(port)
        if len(found) < count:
            self.release(found)
            raise Unreachable(
                f"no {count} free ports on {node} between {self._first} and {self._last}"
            )
        return tuple(found)

    def keep(self, attempt_id: str, ports: Iterable[int]) -> None:
        """These belong to an attempt until it is freed (also after a restart)."""
        for port in ports:
            self._held[port] = attempt_id
            self._by_attempt.setdefault(attempt_id, set()).add(port)

    def free(self, attempt_id: str) -> None:
        self.release(self._by_attempt.pop(attempt_id, set()))

    def release(self, ports: Iterable[int]) -> None:
        for port in ports:
            self._held.pop(port, None)


def _bindable(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
