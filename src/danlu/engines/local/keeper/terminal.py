"""Terminals for tasks, opened without resolving paths in the task's file system."""

from __future__ import annotations

import fcntl
import os
import termios

from danlu.engines.local.keeper import frames

_UNLOCK = 0x40045431  # TIOCSPTLCK
_PEER = 0x5441  # TIOCGPTPEER, since Linux 4.13


def open_pair(terminals: int) -> tuple[int, int]:
    """(our end, the task's). `terminals`: the task's own pts folder; -1: the machine's."""
    if terminals < 0:
        return os.openpty()
    flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
    ours = os.open("ptmx", flags | os.O_NOFOLLOW, dir_fd=terminals)
    fcntl.ioctl(ours, _UNLOCK, bytes(4))
    return ours, fcntl.ioctl(ours, _PEER, flags)


def resize(terminal: int, body: bytes) -> None:
    if len(body) != frames.SIZE.size:
        return
    rows, cols = frames.SIZE.unpack(body)
    size = rows.to_bytes(2, "little") + cols.to_bytes(2, "little") + bytes(4)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
