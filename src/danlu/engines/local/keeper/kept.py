"""Terminals that stay when their connection is lost, and how they are found again.

The keeper knows each by whose it is and what it is called. The child that holds it is handed the
next connection; when the keeper lets go of the child, the terminal is hung up.
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import time

from danlu.engines.local.keeper import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.engines.local.keeper.session import Ask

MOST = 40  # in one task
MOST_EACH = 10  # of one person
_HISTORY = 256 * 1024
_MESSAGE = 1 << 18
_LINE = 4096
_LEFT = b"-"  # a child has lost its connection

# What makes a terminal answer. Repeated, the answers would arrive as if they had been typed.
_QUESTIONS = re.compile(
    rb"\x1b\[[0-9;?>=]*[cn]"  # what it is, where its cursor is
    rb"|\x1b\[[0-9;?]*\$p|\x1b\[>[0-9;]*q|\x1b\[\?u"  # modes, version, keyboard
    rb"|\x1b\[(?:1[1-9]|2[01])(?:;[0-9]*)*t"  # its size and title
    rb"|\x1bP[+$]q[^\x1b\x07]*(?:\x1b\\|\x07)"  # settings
    rb"|\x1b\][0-9a-z;]*;\?(?:\x1b\\|\x07)"  # colours, clipboard
    rb"|\x1bZ"
)


class History:
    """What was printed last, from the beginning of a line."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > _HISTORY * 5 // 4:
            del self._data[: len(self._data) - _HISTORY]
            del self._data[: self._data.find(b"\n", 0, _LINE) + 1]

    def replay(self) -> bytes:
        return _QUESTIONS.sub(b"", bytes(self._data))


class _Held:
    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.left_at: float | None = None  # None: somebody is connected


class Terminals:
    """The keeper's side."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], _Held] = {}

    def register(self, poll: select.poll) -> None:
        for held in self._held.values():
            poll.register(held.link, select.POLLIN)

    def handle(self, ready: dict[int, int]) -> None:
        for key, held in list(self._held.items()):
            if held.link.fileno() in ready:
                self._hear(key, held)

    def _hear(self, key: tuple[str, str], held: _Held) -> None:
        try:
            heard = held.link.recv(1)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        if heard == _LEFT:
            held.left_at = time.monotonic()
        else:
            self._drop(key)

    def hand_over(self, key: tuple[str, str], ask: Ask) -> bool:
        """True: it is there, and has a new connection."""
        held = self._held.get(key)
        if held is None:
            return False
        early = b"".join(frames.pack(kind, body) for kind, body in ask.early)
        message = frames.pack(frames.EXEC, json.dumps(ask.values["tty"]).encode())
        try:
            socket.send_fds(held.link, [message, early, ask.reader.rest], [ask.conn.fileno()])
        except OSError:  # it has ended, or does not listen
            self._drop(key)
            return False
        held.left_at = None
        return True

    def make(self, key: tuple[str, str]) -> socket.socket | None:
        """The child's end for a new one. None: there are too many."""
        self._make_room(key[0])
        own = sum(1 for user, _ in self._held if user == key[0])
        if own >= MOST_EACH or len(self._held) >= MOST:
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._held[key] = _Held(ours)
        return theirs

    def _make_room(self, user: str) -> None:
        """The one that this person left first goes."""
        own = {key: held for key, held in self._held.items() if key[0] == user}
        if len(own) < MOST_EACH and len(self._held) < MOST:
            return
        left = [(held.left_at, key) for key, held in own.items() if held.left_at is not None]
        if left:
            self._drop(min(left)[1])

    def hang_up(self, user: str) -> None:
        for key in [key for key in self._held if key[0] == user]:
            self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        self._held.pop(key).link.close()

    def forget(self) -> None:
        """In a child: closes the copies, which would keep the others' terminals open."""
        for held in self._held.values():
            held.link.close()

    close = forget


def key_of(ask: dict[str, Any]) -> tuple[str, str] | None:
    keep = ask.get("keep")
    if not isinstance(keep, list) or len(keep) != 2 or not ask.get("tty"):
        return None
    return str(keep[0]), str(keep[1])


def refusal() -> bytes:
    words = (
        f"you have {MOST_EACH} terminals open in this task, or the task has {MOST}; close one. "
        f"此任务中你已打开 {MOST_EACH} 个终端，或总数已达 {MOST} 个；请先关闭一个"
    )
    return json.dumps({"code": 125, "error": words}).encode()


class Link:
    """The child's side: connections that the keeper hands over."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def fileno(self) -> int:
        return self._link.fileno()

    def receive(self) -> tuple[socket.socket, bytes] | None:
        """A connection and what it has sent. None: the keeper has let go."""
        try:
            data, fds, _, _ = socket.recv_fds(self._link, _MESSAGE, 1)
        except OSError:
            return None
        return (socket.socket(fileno=fds[0]), data) if fds else None

    def tell_left(self) -> None:
        with contextlib.suppress(OSError):  # the keeper has let go
            self._link.send(_LEFT)

    def last(self) -> tuple[socket.socket, bytes] | None:
        """The connection that was handed over meanwhile; from here on there is none."""
        self._link.shutdown(socket.SHUT_RD)
        found = None
        while (each := self.receive()) is not None:
            if found is not None:
                found[0].close()
            found = each
        self._link.close()
        return found
