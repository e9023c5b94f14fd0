"""Asks a process of its own to copy, remove or measure."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from danlu.files.plain_paths import open_folder

Values = dict[str, Any]
_WORKER = os.path.join(os.path.dirname(__file__), "staging_worker.py")  # a program of its own


class Trouble(Exception):
    """`code`: full, missing or failed."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


async def copy(source: str, folder: str, name: str, told: Callable[[int], None]) -> int:
    """`source`: a path without links. Returns the bytes that were copied. Raises Trouble."""
    try:
        fd = await asyncio.to_thread(open_folder, source)
    except FileNotFoundError:
        raise Trouble("missing", source) from None
    except OSError as error:
        raise Trouble("failed", error.strerror or str(error)) from None
    try:
        words = ("copy", str(fd), folder, name)
        last = await _run(words, lambda line: told(int(line.get("done", 0))), (fd,))
    finally:
        os.close(fd)
    return int(last.get("done", 0))


async def remove(folder: str) -> None:
    """Raises Trouble."""
    try:
        await _run(("remove", folder))
    except Trouble as trouble:
        if trouble.code != "missing":
            raise


async def measure(folder: str) -> Values:
    """Bytes per second: `read` and `write`. Raises Trouble."""
    return await _run(("measure", folder))


async def _run(
    words: tuple[str, ...],
    told: Callable[[Values], None] | None = None,
    fds: tuple[int, ...] = (),
) -> Values:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", _WORKER, *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        pass_fds=fds,
    )
    assert process.stdout is not None
    last: Values = {}
    try:
        async for line in process.stdout:
            last = json.loads(line)
            if told is not None and "error" not in last:
                told(last)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
    finally:
        await process.wait()
    if "error" in last or not last:
        raise Trouble(str(last.get("error", "failed")), str(last.get("detail", "it ended")))
    return last
