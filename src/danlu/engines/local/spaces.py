"""How much room the disks of folders have. A share whose server is away must not stop anybody."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from danlu.engines.api import Space

_PATIENCE = 5.0  # seconds
_MOST_STUCK = 8


class Spaces:
    def __init__(self) -> None:
        self._stuck: dict[str, asyncio.Future[Space | None]] = {}
        self._threads = ThreadPoolExecutor(_MOST_STUCK, "danlu-disks")

    async def look(self, folders: Sequence[str]) -> Mapping[str, Space]:
        """Without those that do not exist or do not answer."""
        loop = asyncio.get_running_loop()
        asked: dict[str, asyncio.Future[Space | None]] = {}
        for folder in dict.fromkeys(folders):
            before = self._stuck.pop(folder, None)
            if before is not None and not before.done():
                self._stuck[folder] = before  # still waiting since the last look
            elif len(self._stuck) < _MOST_STUCK:
                asked[folder] = loop.run_in_executor(self._threads, _look, folder)
        if asked:
            await asyncio.wait(asked.values(), timeout=_PATIENCE)
        found: dict[str, Space] = {}
        for folder, work in asked.items():
            if not work.done():
                self._stuck[folder] = work
            elif (space := work.result()) is not None:
                found[folder] = space
        return found


def _look(folder: str) -> Space | None:
    try:
        disk, place = os.statvfs(folder), os.stat(folder)
    except OSError:
        return None
    free = disk.f_bavail * disk.f_frsize
    used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
    device = f"{os.major(place.st_dev)}:{os.minor(place.st_dev)}"
    return Space(device, used + free, free)
