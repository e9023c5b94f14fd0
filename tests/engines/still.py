"""Tests that need the host to stand still meanwhile: other tests' containers come and go beside."""

from __future__ import annotations

import functools
import os
import select
from collections.abc import Awaitable, Callable
from typing import ParamSpec

P = ParamSpec("P")
_TRIES = 20


def on_a_host_that_stands_still(test: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Keepers are sent home when a mount comes or goes on the host. If one did, try again."""

    @functools.wraps(test)
    async def tried(*args: P.args, **more: P.kwargs) -> None:
        for _ in range(_TRIES):
            with open("/proc/self/mountinfo") as mounts:  # noqa: ASYNC230
                changed = select.poll()
                changed.register(mounts, select.POLLPRI)
                root = _root()
                try:
                    await test(*args, **more)
                    return
                except (AssertionError, OSError):  # a keeper that went home is no process any more
                    if not changed.poll(0) and _root() == root:
                        raise
        raise AssertionError(f"the host changed {_TRIES} times")

    return tried


def _root() -> list[int]:
    return [os.stat(path).st_mtime_ns for path in ("/", "/mnt") if os.path.isdir(path)]
