"""Keepers made ahead of time, while nothing else is to do: a task starts in half the time.

A keeper in reserve has its namespaces and the host's folders already; it waits for a task. It is
let go unused when the host's mounts change, so a task never sees an old picture of the host.
"""

from __future__ import annotations

import array
import os
import select
import socket
import struct

_HEAD = struct.Struct("!III")  # bytes of the message, which task of it, how many logs
_MOST_FDS = 4


class Spare:
    def __init__(self, pid: int, start: int, conn: socket.socket) -> None:
        self.pid = pid
        self.start = start
        self.conn = conn


class Reserve:
    def __init__(self, size: int) -> None:
        self.size = size
        self.spares: list[Spare] = []
        self.mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._changed = select.poll()
        self._changed.register(self.mounts, select.POLLPRI)
        self._root = 0

    @property
    def full(self) -> bool:
        return len(self.spares) >= self.size

    def add(self, pid: int, start: int, conn: socket.socket) -> None:
        self._look()
        self.spares.append(Spare(pid, start, conn))

    def give(self, body: bytes, task: int, logs: list[int], go: int) -> Spare | None:
        """Hand a task to a spare. None: there is none that will do."""
        self._look()
        while self.spares:
            spare = self.spares.pop(0)
            fds = [*logs, go] if go >= 0 else logs
            head = _HEAD.pack(len(body), task, len(logs))
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            try:
                spare.conn.sendmsg([head], rights)
                spare.conn.sendall(body)
            except OSError:
                continue  # it died; nobody needs it
            finally:
                spare.conn.close()
            return spare
        return None

    def let_go(self) -> None:
        for spare in self.spares:
            spare.conn.close()
        self.spares.clear()

    def forget(self) -> None:
        """In a child of the spawner: the spares are not its own."""
        self.let_go()
        os.close(self.mounts)

    def _look(self) -> None:
        """Has the host changed since the spares were made?"""
        root = os.stat("/").st_mtime_ns
        if self._changed.poll(0) or root != self._root:
            self.let_go()
        self._root = root


def wait(conn: socket.socket) -> tuple[bytes, int, list[int], int] | None:
    """In the spare: (message, which task, logs, go). None: not needed any more."""
    space = socket.CMSG_SPACE(_MOST_FDS * 4)
    head, rights, _, _ = conn.recvmsg(_HEAD.size, space, socket.MSG_CMSG_CLOEXEC)
    if len(head) < _HEAD.size:
        return None
    length, task, count = _HEAD.unpack(head)
    fds = array.array("i")
    for _, _, data in rights:
        fds.frombytes(data)
    body = bytearray()
    while len(body) < length:
        piece = conn.recv(length - len(body))
        if not piece:
            return None
        body += piece
    conn.close()
    return bytes(body), task, list(fds[:count]), fds[count] if len(fds) > count else -1
