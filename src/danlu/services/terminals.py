"""Terminals that stay in their task when nobody is connected, and end when access does.

The engine keeps them, so that they outlive the server. A server that has restarted watches those of
a person again once they come back to one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from danlu.access.gate import Gate
from danlu.access.principal import Principal
from danlu.engines.api import Engine, InDoubt, Refused, TaskRef, Unreachable


class Terminals:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._watched: dict[tuple[TaskRef, str], asyncio.Task[None]] = {}

    def watch(
        self, who: Principal, still: Callable[[Principal], bool], engine: Engine, place: TaskRef
    ) -> None:
        """Ends theirs once `still` no longer holds. Signing out does not: people come back."""
        key = (place, who.name)
        if key not in self._watched:
            watching = asyncio.create_task(self._end_with_access(who, still, engine, place))
            self._watched[key] = watching
            watching.add_done_callback(lambda _: self._watched.pop(key, None))

    async def _end_with_access(
        self, who: Principal, still: Callable[[Principal], bool], engine: Engine, place: TaskRef
    ) -> None:
        await self._gate.barred(who, still, signed_in=False)
        with contextlib.suppress(Refused, Unreachable, InDoubt, OSError):
            await engine.hang_up(place, who.name)
