"""The door to a task: a port of its node where whoever has the attempt's token can talk to it.

Every caller is served by a process of its own, which hands the request to the keeper's socket and
carries bytes. Sockets that the keeper opens inside the task stay on the node; their bytes travel.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time

from danlu.engines.local.keeper import frames, linux
from danlu.engines.slurm.node import measure, proof
from danlu.engines.slurm.node.carry import carry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USAGE = b"u"  # JSON: {}; the answer is a USAGE frame
WAKE = b"w"  # an order was written into the record
TAKE = b"t"  # JSON: key, of a connection that was accepted inside the task
ACCEPTED = b"a"  # JSON: key

_MOST = 256  # callers at once
_GREETING = 10.0  # seconds
_TAKING = 30.0
_PIECE = 64 * 1024


def listen() -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.bind(("", 0))
    found.listen(64)
    found.setblocking(False)
    return found


def make_folder() -> str:
    path = f"/tmp/danlu-{os.urandom(8).hex()}"  # noqa: S108 - created here, or it fails
    os.mkdir(path, 0o700)
    return path


class Door:
    def __init__(
        self, listener: socket.socket, keeper: int, sockets: str, index: int, token: str
    ) -> None:
        self._listener = listener
        self._keeper = keeper
        self._sockets = sockets
        self._index = index
        self._token = token.encode()
        self._callers: set[int] = set()
        self._meter = measure.Meter(keeper)

    def run(self) -> int:
        """Until the keeper has ended; its status."""
        linux.set_name(b"danlu-door")
        woken, wake = os.pipe()
        for fd in (woken, wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: None)  # the keeper has got it as well
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        while True:
            poll = select.poll()
            poll.register(woken, select.POLLIN)
            if len(self._callers) < _MOST:
                poll.register(self._listener, select.POLLIN)
            ready = dict(poll.poll())
            if woken in ready:
                signals = os.read(woken, 4096)
                if int(signal.SIGTERM) in signals:
                    self._pass_on(signal.SIGTERM)
                status = self._reap()
                if status is not None:
                    return status
            if self._listener.fileno() in ready:
                self._accept()

    def _pass_on(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._keeper, number)

    def _reap(self) -> int | None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return 125
            if pid == 0:
                return None
            self._callers.discard(pid)
            if pid == self._keeper:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code

    def _accept(self) -> None:
        try:
            conn, _ = self._listener.accept()
        except OSError:
            return
        pid = os.fork()
        if pid:
            conn.close()
            self._callers.add(pid)
            return
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._listener.close()
            self._serve(conn)
        finally:
            os._exit(0)

    # -- one caller, in a process of its own --------------------------------------------------

    def _serve(self, conn: socket.socket) -> None:
        conn.setblocking(True)
        conn.settimeout(_GREETING)
        with contextlib.suppress(OSError):
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if not proof.check(conn, self._token):
            return
        reader = frames.Reader()
        asked: list[tuple[bytes, bytes]] = []
        while not asked:
            data = conn.recv(_PIECE)
            if not data:
                return
            asked = reader.feed(data)
        conn.settimeout(None)
        (kind, body), more = asked[0], asked[1:]
        early = b"".join(frames.pack(*each) for each in more) + reader.rest
        if kind == USAGE:
            conn.sendall(frames.pack(USAGE, json.dumps(self._meter.read()).encode()))
        elif kind == WAKE:
            self._pass_on(signal.SIGTERM)
            conn.sendall(frames.pack(WAKE))
        elif kind == TAKE:
            self._take(conn, body, early)
        elif kind in (frames.CONNECT, frames.LISTEN):
            self._open(conn, kind, body, early)
        else:
            self._talk(conn, frames.pack(kind, body) + early)

    def _reach_keeper(self, conn: socket.socket) -> socket.socket | None:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        limit = time.monotonic() + 2.0
        while True:
            try:
                link.connect(f"{self._sockets}/{self._index}.sock")
                return link
            except OSError:
                if time.monotonic() > limit:
                    break
                time.sleep(0.01)  # it has claimed its task and does not listen yet
        refusal = {"error": "the task is not running"}
        conn.sendall(frames.pack(frames.EXIT, json.dumps(refusal).encode()))
        return None

    def _talk(self, conn: socket.socket, first: bytes) -> None:
        link = self._reach_keeper(conn)
        if link is not None:
            link.sendall(first)
            carry(conn, link)

    def _open(self, conn: socket.socket, kind: bytes, body: bytes, early: bytes) -> None:
        link = self._reach_keeper(conn)
        if link is None:
            return
        link.sendall(frames.pack(kind, body))
        answer, rights, _, _ = socket.recv_fds(link, _PIECE, 1)
        conn.sendall(answer)
        if not rights:
            return
        opened = socket.socket(fileno=rights[0])
        if kind == frames.CONNECT:
            link.close()
            opened.setblocking(True)
            if early:
                opened.sendall(early)
            carry(conn, opened)
        else:
            self._let_in(conn, link, opened)

    def _let_in(self, conn: socket.socket, link: socket.socket, listening: socket.socket) -> None:
        """Tells the caller of everyone who connects; it comes back for each of them."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        poll = select.poll()
        for each in (conn, link, listening):
            poll.register(each, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if conn.fileno() in ready or link.fileno() in ready:
                return
            try:
                accepted, _ = listening.accept()
            except OSError:
                continue
            key = os.urandom(16).hex()
            waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            waiting.bind(f"{self._sockets}/{key}")
            waiting.listen(1)
            if os.fork() == 0:
                for each in (conn, link, listening):
                    each.close()
                self._wait_for_taker(waiting, accepted, key)
            waiting.close()
            accepted.close()
            conn.sendall(frames.pack(ACCEPTED, json.dumps({"key": key}).encode()))

    def _wait_for_taker(self, waiting: socket.socket, accepted: socket.socket, key: str) -> None:
        try:
            waiting.settimeout(_TAKING)
            taker, _ = waiting.accept()
            waiting.close()
            os.unlink(f"{self._sockets}/{key}")
            taker.setblocking(True)
            accepted.setblocking(True)
            carry(taker, accepted)
        finally:
            os._exit(0)

    def _take(self, conn: socket.socket, body: bytes, early: bytes) -> None:
        key = str(_values(body).get("key", ""))
        if not key.isalnum():
            return
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.connect(f"{self._sockets}/{key}")
        if early:
            link.sendall(early)
        carry(conn, link)


def _values(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}
