"""Input for a running task: bytes for its stdin, and further commands (exec)."""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Iterable

from danlu.engines.local.keeper import cgroup, command, frames, kept, session, sockets, terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SERVED_APART = (frames.EXEC, frames.EXEC_APART, frames.CONNECT, frames.LISTEN)
_SERVED_HERE = (frames.ATTACH, frames.HANG_UP)


class Inputs:
    """The keeper's socket, the attached clients, and the task's stdin."""

    def __init__(self, folder: str, task: dict[str, Any]) -> None:
        self._task = task
        self.terminals = -1  # the folder of the task's own terminals
        self._tty = task["stdin"] == "tty"
        self._pending = b""
        self._end_wanted = False
        self._attached: dict[int, tuple[socket.socket, frames.Reader]] = {}
        self._kept = kept.Terminals()
        self._listener: socket.socket | None = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.stdin = -1  # write end of the task's input: a pipe or its terminal
        self.sized = False  # a client has set the terminal size
        try:
            os.chdir(folder)  # socket paths are limited to 108 bytes
            self._listener.bind(f"{task['index']}.sock")
            self._listener.listen(16)
        except OSError:
            self._listener = None  # disk full: the task runs without exec

    def close(self) -> None:
        for conn in [self._listener, *(conn for conn, _ in self._attached.values())]:
            if conn is not None:
                conn.close()
        self._kept.close()
        if self.stdin >= 0:
            os.close(self.stdin)

    def register(self, poll: select.poll) -> None:
        if self._listener is not None:
            poll.register(self._listener, select.POLLIN)
        self._kept.register(poll)
        if self._pending:
            # The terminal is also read; register() replaces its earlier mask.
            poll.register(self.stdin, select.POLLOUT | (select.POLLIN if self._tty else 0))
            return  # read no more input until the task has consumed this
        for fd in self._attached:
            poll.register(fd, select.POLLIN)

    def handle(
        self, ready: dict[int, int], outputs: Iterable[int], group: cgroup.Group | None
    ) -> None:
        if self._pending and ready.get(self.stdin, 0) & ~select.POLLIN:
            self._feed()
        for fd in [fd for fd in self._attached if fd in ready]:
            self._hear(fd)
        self._kept.handle(ready)
        if self._listener is not None and self._listener.fileno() in ready:
            self._accept(self._listener, outputs, group)

    def _accept(
        self, listener: socket.socket, outputs: Iterable[int], group: cgroup.Group | None
    ) -> None:
        conn, _ = listener.accept()
        conn.settimeout(2)
        reader = frames.Reader()
        try:
            asked: list[tuple[bytes, bytes]] = []
            while not asked:
                data = conn.recv(1 << 16)
                if not data:
                    raise ValueError("empty request")
                asked = reader.feed(data)
            kind, body = asked[0]
            ask = json.loads(body)
            if kind not in (*_SERVED_APART, *_SERVED_HERE) or not isinstance(ask, dict):
                raise ValueError("invalid request")
        except (OSError, ValueError, RecursionError):
            conn.close()
            return
        conn.setblocking(True)
        if kind in _SERVED_APART:
            wanted = session.Ask(conn, ask, reader, asked[1:])
            self._serve_apart(listener, kind, wanted, outputs, group)
            conn.close()
        elif kind == frames.HANG_UP:
            self._kept.hang_up(str(ask.get("user")))
            conn.close()
        elif self.stdin < 0:
            refusal = json.dumps({"error": "the task takes no input (stdin is none)"}).encode()
            conn.sendall(frames.pack(frames.EXIT, refusal))
            conn.close()
        else:
            self._attached[conn.fileno()] = (conn, reader)
            self._take(asked[1:])

    def _serve_apart(
        self,
        listener: socket.socket,
        kind: bytes,
        ask: session.Ask,
        outputs: Iterable[int],
        group: cgroup.Group | None,
    ) -> None:
        key = kept.key_of(ask.values) if kind == frames.EXEC else None
        if key is None:
            self._fork_session(listener, kind, ask, outputs, group, None)
        elif not self._kept.hand_over(key, ask):
            link = self._kept.make(key)
            if link is None:
                ask.conn.sendall(frames.pack(frames.EXIT, kept.refusal()))
                return
            self._fork_session(listener, kind, ask, outputs, group, link)
            link.close()

    def _fork_session(
        self,
        listener: socket.socket,
        kind: bytes,
        ask: session.Ask,
        outputs: Iterable[int],
        group: cgroup.Group | None,
        link: socket.socket | None,
    ) -> None:
        with command.as_likely_to_be_killed(group):
            child = os.fork()
        if child:
            return
        try:
            listener.close()
            # If these stayed open, the task's streams would not end with the task.
            for fd in {*outputs, self.stdin} - {-1}:
                os.close(fd)
            self._kept.forget()
            if kind in (frames.EXEC, frames.EXEC_APART):
                apart = kind == frames.EXEC_APART
                session.serve(ask, self._task, group, self.terminals, link, apart)
            else:
                sockets.serve(kind, ask.conn, ask.values, self._task, group)
        finally:
            os._exit(0)

    def _hear(self, fd: int) -> None:
        conn, reader = self._attached[fd]
        try:
            data = conn.recv(1 << 16)
            asked = reader.feed(data)
        except (OSError, ValueError):
            data = b""
        if not data:
            conn.close()
            del self._attached[fd]
            return
        self._take(asked)

    def _take(self, asked: list[tuple[bytes, bytes]]) -> None:
        for kind, body in asked:
            if kind == frames.INPUT:
                self._pending += body
            elif kind == frames.END_OF_INPUT:
                self._end_wanted = True
            elif kind == frames.RESIZE and self._tty:
                terminal.resize(self.stdin, body)
                self.sized = True
        self._feed()

    def _feed(self) -> None:
        if self.stdin < 0:
            self._pending = b""
            return
        try:
            while self._pending:
                self._pending = self._pending[os.write(self.stdin, self._pending) :]
        except BlockingIOError:
            return
        except OSError:
            self._pending = b""
        if not self._end_wanted:
            return
        self._end_wanted = False
        if self._tty:
            os.write(self.stdin, b"\x04")
        else:
            os.close(self.stdin)
            self.stdin = -1
