"""Counts what is in folders, one at a time, in a process that gives way to everything else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from dataclasses import dataclass

from danlu.files import counting_worker
from danlu.files.plain_paths import open_folder

LONGEST = 6 * 3600.0  # seconds
_IDLE = ("ionice", "-c", "3")


@dataclass(frozen=True, slots=True)
class Counted:
    bytes: int  # contents
    blocks: int  # bytes on the disk
    files: int
    fingerprint: str


class Uncountable(Exception):
    """The message says why."""


class Counting:
    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)

    async def count(self, folder: str) -> Counted:
        """`folder`: a path without links. Raises Uncountable."""
        async with self._turn:
            process = await self._start(folder)
            try:
                async with asyncio.timeout(LONGEST):
                    text, _ = await process.communicate()
            except TimeoutError:
                raise Uncountable("it takes too long") from None
            finally:
                if process.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
        answer = json.loads(text) if text else {"error": "it ended"}
        if "error" in answer:
            raise Uncountable(str(answer["error"]))
        return Counted(
            int(answer["bytes"]), int(answer["blocks"]), int(answer["files"]), answer["fingerprint"]
        )

    async def _start(self, folder: str) -> asyncio.subprocess.Process:
        idle = _IDLE if shutil.which("ionice") else ()
        try:
            fd = await asyncio.to_thread(open_folder, folder)
        except OSError as error:
            raise Uncountable(error.strerror or str(error)) from None
        try:
            return await asyncio.create_subprocess_exec(
                *(*idle, sys.executable, "-I", "-S", counting_worker.__file__, str(fd)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                pass_fds=(fd,),
            )
        finally:
            os.close(fd)
