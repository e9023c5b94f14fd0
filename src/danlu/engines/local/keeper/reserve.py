"""Idle keepers, so that the next task starts in a fraction of the time.

Fresh ones are created in advance while the spawner is idle: they already have their namespaces and
the host's folders. Used ones have run a task before and take another with the same profile (user,
mounts and limits). All of them are dismissed when the host's mounts change, so a task never sees
an outdated view of the host.
"""

from __future__ import annotations

import array
import os
import select
import socket
import struct

_HEAD = struct.Struct("!III")  # message length, task index, number of logs
_MOST_FDS = 4
_MOST_USED = 64
_LONGEST_OFFER = 512

Profile = tuple[object, ...]


class Spare:
    def __init__(
        self, pid: int, start: int, conn: socket.socket, profile: Profile | None = None
    ) -> None:
        self.pid = pid
        self.start = start
        self.conn = conn
        self.profile = profile  # None: fresh, fits any task


class Reserve:
    def __init__(self, size: int) -> None:
        self.size = size
        self.spares: list[Spare] = []
        self.mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self.offers, self.counter = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.offers.setblocking(False)
        self._changed = select.poll()
        self._changed.register(self.mounts, select.POLLPRI)
        self._root = _picture()
        self._picture = 0
        self._away: dict[int, tuple[int, int, Profile]] = {}  # pid -> (start, picture, profile)

    @property
    def full(self) -> bool:
        return len(self.spares) >= self.size

    @property
    def used(self) -> bool:
        return any(spare.profile is not None for spare in self.spares)

    def add(self, pid: int, start: int, conn: socket.socket) -> None:
        # In this order: the host may have changed after the spare captured its view.
        self.spares.append(Spare(pid, start, conn))
        self._look()

    def give(
        self, profile: Profile, body: bytes, task: int, logs: list[int], go: int
    ) -> Spare | None:
        """Gives a task to an idle keeper. None: none fits."""
        self._look()
        while (spare := self._choose(profile)) is not None:
            fds = [*logs, go] if go >= 0 else logs
            head = _HEAD.pack(len(body), task, len(logs))
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            try:
                spare.conn.sendmsg([head], rights)
                spare.conn.sendall(body)
            except OSError:
                continue  # it died
            finally:
                spare.conn.close()
            self.went(spare.pid, spare.start, profile)
            return spare
        return None

    def _choose(self, profile: Profile) -> Spare | None:
        for wanted in (profile, None):
            for number, spare in enumerate(self.spares):
                if spare.profile == wanted:
                    return self.spares.pop(number)
        return None

    def went(self, pid: int, start: int, profile: Profile) -> None:
        """Registers a keeper that got a task with this profile."""
        self._away[pid] = (start, self._picture, profile)

    def died(self, pid: int) -> None:
        self._away.pop(pid, None)

    def take_back(self) -> list[list[object]]:
        """Takes back idle keepers; returns [attempt, task] of each ended task."""
        ended: list[list[object]] = []
        space = socket.CMSG_SPACE(4)
        while True:
            try:
                words, rights, _, _ = self.offers.recvmsg(
                    _LONGEST_OFFER, space, socket.MSG_CMSG_CLOEXEC
                )
            except BlockingIOError:
                break
            pid, attempt, task = words.split()
            ended.append([attempt.decode(), int(task)])
            if not rights:
                continue  # out of descriptors: it notices and exits
            conn = socket.socket(fileno=array.array("i", rights[0][2][:4])[0])
            start, picture, profile = self._away.pop(int(pid), (0, -1, ()))
            if picture == self._picture and len(self.spares) < self.size + _MOST_USED:
                self.spares.append(Spare(int(pid), start, conn, profile))
            else:
                conn.close()
        self._look()
        return ended

    def let_go(self) -> None:
        self._picture += 1
        self._close(self.spares)
        self.spares = []

    def let_go_used(self) -> None:
        self._close([spare for spare in self.spares if spare.profile is not None])
        self.spares = [spare for spare in self.spares if spare.profile is None]

    def forget(self) -> None:
        """In a child of the spawner: closes the inherited spares."""
        self._close(self.spares)
        os.close(self.mounts)
        self.offers.close()

    def _close(self, spares: list[Spare]) -> None:
        for spare in spares:
            spare.conn.close()

    def _look(self) -> None:
        """Whether the host has changed since the spares were created."""
        root = _picture()
        if self._changed.poll(0) or root != self._root:
            self.let_go()
        self._root = root


class Given:
    """What an idle keeper receives: a task of a message, and its open files."""

    def __init__(self, body: bytes, task: int, logs: list[int], go: int) -> None:
        self.body = body
        self.task = task
        self.logs = logs
        self.go = go


def offer(counter: socket.socket, pid: int, attempt: str, task: int) -> socket.socket | None:
    """In a keeper that is idle again: the socket for its next task."""
    ours, theirs = socket.socketpair()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))]
    try:
        counter.sendmsg([f"{pid} {attempt} {task}".encode()], rights)
    except OSError:
        return None  # the spawner is gone
    finally:
        theirs.close()
    return ours


def _picture() -> tuple[int, ...]:
    """Host folders whose entries are mounted or linked one by one."""
    return tuple(map(_changed, ("/", "/mnt", "/etc")))


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1


def wait(conn: socket.socket) -> Given | None:
    """In the spare: waits for its task. None: it is no longer needed."""
    with conn:
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
    return Given(bytes(body), task, list(fds[:count]), fds[count] if len(fds) > count else -1)
