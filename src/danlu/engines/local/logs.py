"""Reads task logs from any offset, and waits for more."""

from __future__ import annotations

import asyncio
import glob
import os
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

from danlu.engines.api import LogFile, TaskRef
from danlu.engines.local.keeper import linux

_PIECE = 128 * 1024
_EVENT = struct.Struct("iIII")
_SLOW = 1.0  # seconds between polls without inotify


def log_path(folder: str, job_id: str, attempt_id: str, task: int, stream: str) -> str:
    """Few folders with many files: a folder per job would cost more than its log."""
    return f"{folder}/{job_id[-2:]}/{job_id}.{attempt_id}.{task}.{stream}"


class LogFiles:
    def __init__(self, data: Path) -> None:
        self._folder = str(data / "logs")

    def path(self, task: TaskRef, stream: str) -> str:
        if stream not in ("out", "err"):
            raise ValueError(f"no stream {stream!r}: a task has out and, if split, err")
        if task.job_id:
            return log_path(self._folder, task.job_id, task.attempt_id, task.task, stream)
        name = f"{task.attempt_id}.{task.task}.{stream}"
        found = glob.glob(f"{glob.escape(self._folder)}/*/*.{glob.escape(name)}")
        return found[0] if found else f"{self._folder}/-/{name}"

    def size(self, task: TaskRef, stream: str) -> int:
        try:
            return os.stat(self.path(task, stream)).st_size
        except FileNotFoundError:
            return 0

    def export(self) -> Iterator[LogFile]:
        """All logs, without symbolic links and files removed meanwhile."""
        for entry in _below(self._folder):
            try:
                fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                continue
            found = os.fstat(fd)
            name = os.path.relpath(entry.path, self._folder)
            yield LogFile(name, found.st_size, found.st_mtime, os.fdopen(fd, "rb"))

    def old(self, before: float, keep: Callable[[str], bool], remove: bool) -> tuple[int, int]:
        """Bytes and files of logs last written before then, unless their job is to be kept."""
        size = count = 0
        for entry in _below(self._folder):
            try:
                found = entry.stat(follow_symlinks=False)
                if found.st_mtime >= before or keep(entry.name.partition(".")[0]):
                    continue
                if remove:
                    os.unlink(entry.path)
            except OSError:
                continue
            size, count = size + found.st_blocks * 512, count + 1
        return size, count

    async def read(
        self, task: TaskRef, stream: str, offset: int, limit: int | None
    ) -> AsyncIterator[bytes]:
        try:
            fd = os.open(self.path(task, stream), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            end = os.fstat(fd).st_size
            if limit is not None:
                end = min(end, offset + limit)
            while offset < end:
                piece = await _read(fd, min(_PIECE, end - offset), offset)
                if not piece:
                    return
                offset += len(piece)
                yield piece
        finally:
            os.close(fd)


def _below(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
        elif entry.is_file(follow_symlinks=False):
            yield entry


async def _read(fd: int, count: int, offset: int) -> bytes:
    """Reads inline from the page cache, in a thread from disk."""
    buffer = bytearray(count)
    try:
        got = os.preadv(fd, [buffer], offset, os.RWF_NOWAIT)
    except OSError:
        got = 0
    if got:
        return bytes(memoryview(buffer)[:got])
    return await asyncio.to_thread(os.pread, fd, count, offset)


class Growth:
    """Waits until files grow: one inotify descriptor for all followers."""

    def __init__(self) -> None:
        self._fd = -1
        self._waiters: dict[int, set[asyncio.Future[None]]] = {}
        self._watches: dict[str, int] = {}  # by path; one without waiters is spent

    def start(self) -> None:
        try:
            self._fd = linux.inotify_init()
        except OSError:
            return  # inotify instances are used up: poll instead
        asyncio.get_running_loop().add_reader(self._fd, self._drain)

    def close(self) -> None:
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    async def wait(
        self, path: str, offset: int, also: asyncio.Future[None], patience: float
    ) -> bool:
        """True once the file is longer than `offset`; returns early when `also` is done."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + patience
        while True:
            watch, future = self._watch(path)
            try:
                # After setting the watch, which does not report earlier writes.
                if _size(path) > offset:
                    return True
                left = limit - loop.time()
                if also.done() or left <= 0:
                    return False
                wake = partial(_wake, future)
                alarm = loop.call_later(left if watch >= 0 else min(left, _SLOW), wake)
                also.add_done_callback(wake)
                try:
                    await future
                finally:
                    alarm.cancel()
                    also.remove_done_callback(wake)
            finally:
                self._unwatch(path, watch, future)

    def _watch(self, path: str) -> tuple[int, asyncio.Future[None]]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._fd < 0:
            return -1, future
        # Shared by all waiters for the same file: it has not fired yet, or its event is still
        # unread.
        watch = self._watches.get(path, -1)
        if watch not in self._waiters:
            try:
                watch = linux.inotify_add(self._fd, path, linux.IN_MODIFY | linux.IN_ONESHOT)
            except OSError:
                return -1, future
            self._watches[path] = watch
        self._waiters.setdefault(watch, set()).add(future)
        return watch, future

    def _unwatch(self, path: str, watch: int, future: asyncio.Future[None]) -> None:
        future.cancel()
        waiters = self._waiters.get(watch)
        if waiters is not None:
            waiters.discard(future)
            if not waiters:
                del self._waiters[watch]
                linux.inotify_remove(self._fd, watch)
        if self._watches.get(path) == watch and watch not in self._waiters:
            del self._watches[path]

    def _drain(self) -> None:
        try:
            data = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            if mask & linux.IN_IGNORED:
                waiters = self._waiters.pop(watch, set())
            else:
                waiters = self._waiters.get(watch, set())
            for future in waiters:
                if not future.done():
                    future.set_result(None)


def _wake(future: asyncio.Future[None], *_: object) -> None:
    if not future.done():
        future.set_result(None)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
