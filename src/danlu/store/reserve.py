"""Disk space allocated ahead of need.

When other files have filled the disk, the database can still record how jobs end: the blocks behind
its end, and those of its write-ahead log, are already its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import time

LARGEST = 16 * 2**20  # bytes, for each of the two files
EVERY = 30.0  # seconds
_KEEP_SIZE = 1


class Reserve:
    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        self._renewed = float("-inf")

    def renew(self) -> None:
        """Cheap enough to be called after every commit. Never raises."""
        at = time.monotonic()
        if at - self._renewed < EVERY:
            return
        self._renewed = at
        with contextlib.suppress(OSError):
            if self._descriptor >= 0 and os.fstat(self._descriptor).st_nlink == 0:
                self.close()  # the file was replaced
            if self._descriptor < 0:
                # Stays open: closing any descriptor of the file would drop SQLite's locks on it.
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            _allocate(self._descriptor, os.fstat(self._descriptor).st_size)
            log = os.open(f"{self._path}-wal", os.O_RDWR | os.O_CLOEXEC)
            try:
                _allocate(log, 0)
            finally:
                os.close(log)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _allocate(descriptor: int, start: int) -> None:
    """Reserves blocks without changing the size of the file. Raises OSError."""
    disk = os.fstatvfs(descriptor)
    length = min(LARGEST, disk.f_blocks * disk.f_frsize // 20)
    libc = ctypes.CDLL(None, use_errno=True)
    offset, size = ctypes.c_int64(start), ctypes.c_int64(length)
    if libc.fallocate(descriptor, _KEEP_SIZE, offset, size) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
