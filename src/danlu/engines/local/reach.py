"""Ways into running tasks, through their keepers: also for a process that is not the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from danlu.engines.api import Duplex, Endpoint, Listener, Refused, Run, TaskRef
from danlu.engines.local import duplex
from danlu.engines.local.keeper import frames
from danlu.engines.local.pipes import exec_apart

_PATIENCE = 10.0  # seconds until a new keeper must be listening; on a busy machine it takes a few
_Reached = TypeVar("_Reached")


class LocalReach:
    """`is_over`: whether it is known that a task will not listen any more."""

    def __init__(self, run: str, is_over: Callable[[TaskRef], bool] = lambda _: False) -> None:
        self._run = run
        self._is_over = is_over

    async def attach(self, task: TaskRef) -> Duplex:
        return await self._call(task, lambda at: duplex.to_keeper(*at, frames.ATTACH, {}))

    async def exec(self, task: TaskRef, run: Run) -> Duplex:
        if not run.words and not run.files:
            raise Refused("exec needs a command")
        tty = run.tty
        size = None if tty is None else {"rows": tty.rows, "cols": tty.cols, "term": tty.term}
        ask = {
            "argv": run.words,
            "tty": size,
            "env": dict(run.env),
            "cwd": run.cwd,
            "shell": run.shell,
            "files": run.files,
            "keep": None if run.keep is None else [run.keep.user, run.keep.name],
        }
        if tty is None:
            return await self._call(task, lambda at: exec_apart(*at, ask))
        return await self._call(task, lambda at: duplex.to_keeper(*at, frames.EXEC, ask))

    async def connect(self, task: TaskRef, to: Endpoint) -> Duplex:
        return await self._call(task, lambda at: duplex.connect(*at, to))

    async def listen(self, task: TaskRef, at: Endpoint) -> Listener:
        return await self._call(task, lambda keeper: duplex.listen(*keeper, at))

    async def hang_up(self, task: TaskRef, user: str) -> None:
        ask = {"user": user}
        link = await self._call(task, lambda at: duplex.to_keeper(*at, frames.HANG_UP, ask))
        await link.exit_code()
        await link.close()

    async def _call(
        self, task: TaskRef, call: Callable[[tuple[str, int]], Awaitable[_Reached]]
    ) -> _Reached:
        """Calls the task's keeper, which may not listen yet."""
        limit = time.monotonic() + _PATIENCE
        while True:
            try:
                return await call((f"{self._run}/{task.attempt_id}", task.task))
            except duplex.NoKeeper:
                if self._is_over(task) or time.monotonic() > limit:
                    raise
            await asyncio.sleep(0.005)
