"""Carries bytes between two sockets, both ways, each at its own pace."""

from __future__ import annotations

import contextlib
import select
import socket

_PIECE = 64 * 1024
_MOST = 256 * 1024  # bytes that wait for a slow reader


class _Way:
    """One direction."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self.target = target
        self.waiting = b""
        self.ended = False  # nothing more comes
        self.done = False

    def read(self) -> None:
        try:
            data = self.source.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.waiting += data
        self.ended = self.ended or not data
        self.write()

    def write(self) -> None:
        while self.waiting:
            try:
                self.waiting = self.waiting[self.target.send(self.waiting) :]
            except BlockingIOError:
                return
            except OSError:
                self.waiting, self.ended = b"", True
        if self.ended and not self.done:
            self.done = True
            with contextlib.suppress(OSError):
                self.target.shutdown(socket.SHUT_WR)


def carry(one: socket.socket, other: socket.socket) -> None:
    """Until both have said all, or one is gone and nobody is left to hear the rest."""
    for each in (one, other):
        each.setblocking(False)
    ways = (_Way(one, other), _Way(other, one))
    while not all(way.done for way in ways):
        wanted = {one.fileno(): 0, other.fileno(): 0}
        for way in ways:
            if not way.ended and len(way.waiting) < _MOST:
                wanted[way.source.fileno()] |= select.POLLIN
            if way.waiting:
                wanted[way.target.fileno()] |= select.POLLOUT
        poll = select.poll()
        for fd, events in wanted.items():
            if events:  # a socket that hung up would wake us again and again
                poll.register(fd, events)
        ready = dict(poll.poll())
        for way in ways:
            if way.waiting and way.target.fileno() in ready:
                way.write()
            if wanted[way.source.fileno()] & select.POLLIN and way.source.fileno() in ready:
                way.read()
    for each in (one, other):
        each.close()
