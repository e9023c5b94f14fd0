"""Finds and ends what finished attempts left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable

from danlu.engines.local.attempts import load, read_claim
from danlu.engines.local.keeper import cgroup, record
from danlu.engines.local.plan import MARKER

_DRAFT_AGE = 60.0  # seconds after which an incomplete folder is abandoned


class Disposal:
    """Removes folders of forgotten attempts in a thread, so a busy disk does not block the server.

    The next sweep finds what a crash leaves.
    """

    def __init__(self) -> None:
        self.folders: set[str] = set()
        self._waiting: list[tuple[str, bool]] = []
        self._worker: asyncio.Task[None] | None = None

    def add(self, folder: str, tidy: bool) -> None:
        """`tidy`: its keepers left nothing but the folder."""
        if folder in self.folders:
            return
        self.folders.add(folder)
        self._waiting.append((folder, tidy))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())

    async def flush(self) -> None:
        if self._worker is not None:
            await self._worker

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            await asyncio.to_thread(_dispose, batch)
            self.folders.difference_update(folder for folder, _ in batch)
        self._worker = None


def _dispose(batch: list[tuple[str, bool]]) -> None:
    for folder, tidy in batch:
        attempt = None if tidy else load(folder)
        for task in attempt.tasks if attempt else ():
            found = read_claim(folder, task.index)
            if found is not None:
                cgroup.remove(list(found[0]["cgroups"]))
        record.discard(folder)


def marked(tag: str, installation: str = "") -> list[tuple[int, str, int]]:
    """Processes of this server's tasks by the marker in their environment: (pid, attempt, task).

    `installation`: skip processes launched by another.
    """
    wanted = f"{MARKER}=".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            value = _marker(int(name), wanted)
            mine, _, of = value.partition("@")
            attempt, _, task = mine.partition("/")
            of, _, owner = of.partition(":")
            foreign = bool(owner and installation) and owner != installation
            if of == tag and task.isdigit() and not foreign:
                found.append((int(name), attempt, int(task)))
    return found


def _marker(pid: int, wanted: bytes) -> str:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            for entry in file.read().split(b"\0"):
                if entry.startswith(wanted):
                    return entry[len(wanted) :].decode(errors="replace")
    except OSError:
        pass
    return ""


def end_marked(
    tag: str, keep: Callable[[], frozenset[str]], only: str | None = None, installation: str = ""
) -> int:
    """Kill marked processes of attempts that are not live (or of one attempt)."""
    count = 0
    found = marked(tag, installation)
    live = keep()  # called after looking: attempts started in between were not found
    for pid, attempt, _ in found:
        if attempt != only if only is not None else attempt in live:
            continue
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            try:
                # The pid may have been reused since it was read; a pidfd cannot be.
                if _marker(pid, f"{MARKER}=".encode()).startswith(f"{attempt}/"):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    count += 1
            finally:
                os.close(handle)
    return count


def end_groups(bases: Iterable[str], keep: Callable[[], frozenset[str]]) -> int:
    """Kill and remove the cgroups of attempts that are not live."""
    count = 0
    for base in bases:
        with contextlib.suppress(OSError):
            entries = list(os.scandir(base))
            live = keep() | {"trial"}
            for entry in entries:
                attempt = entry.name.rpartition(".")[0]
                if attempt == cgroup.SPARE:
                    cgroup.remove([entry.path])  # fails while an idle keeper is in it
                elif entry.is_dir() and attempt and attempt not in live:
                    count += bool(cgroup.members([entry.path]))
                    cgroup.end([entry.path])
    return count


def remove_drafts(run: str) -> None:
    for entry in list(os.scandir(run)):
        with contextlib.suppress(OSError):
            old = time.time() - entry.stat(follow_symlinks=False).st_mtime > _DRAFT_AGE
            if entry.name.startswith(".") and entry.is_dir() and old:
                record.remove(entry.path)
