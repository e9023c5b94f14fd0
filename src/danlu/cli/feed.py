"""Sends the user's input to a task."""

from __future__ import annotations

import os

from danlu.cli.terminal import say
from danlu.cli.texts import t
from danlu.sdk.errors import ApiError, Lost, ProtocolError, Unreachable
from danlu.sdk.execution import END_OF_INPUT, INPUT, SIZE
from danlu.sdk.fastjson import dumps
from danlu.sdk.patience import Pauses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.loop import Loop
    from danlu.sdk.websocket import WebSocket

PIECE = 32 * 1024
NOT_ALLOWED = 4403


class Feed:
    """Reads a descriptor and forwards it, never faster than the task reads."""

    def __init__(
        self,
        loop: Loop,
        connect: Callable[[], WebSocket],
        fd: int,
        keys: Callable[[bytes], bytes] | None = None,
        on_open: Callable[[], None] | None = None,
    ) -> None:
        self._loop = loop
        self._connect = connect
        self._fd = fd
        self._keys = keys  # for a terminal: filters escape sequences meant for us
        self._on_open = on_open
        self._socket: WebSocket | None = None
        self._ended = False
        self._closed = False
        self._pauses = Pauses(0.1)

    def start(self) -> None:
        if self._closed:
            return
        try:
            self._socket = self._connect()
        except (Lost, Unreachable, ProtocolError):
            self._again()
            return
        self._loop.on_readable(self._socket.fileno(), self._from_server)

    def resize(self, rows: int, cols: int) -> None:
        if self._socket and self._socket.is_open:
            size = dumps({"rows": rows, "cols": cols}).encode()
            self._send(bytes((SIZE,)) + size)

    def _from_server(self) -> None:
        socket = self._socket
        assert socket is not None
        was_open = socket.is_open
        try:
            socket.pump()
        except (Lost, ApiError, ProtocolError):
            self._drop()
            return
        if socket.closed is not None:
            self._drop()
            if socket.closed[0] == NOT_ALLOWED:
                self._closed = True
                say(t("input.refused", cause=socket.closed[1]))
            return
        if socket.is_open and not was_open:
            self._opened()

    def _opened(self) -> None:
        self._pauses.reset()
        if self._on_open:
            self._on_open()
        if self._ended:
            self._send(bytes((END_OF_INPUT,)))
        else:
            self._loop.on_readable(self._fd, self._from_user)

    def _from_user(self) -> None:
        try:
            data = os.read(self._fd, PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._ended = True
            self._loop.forget(self._fd)
            self._send(bytes((END_OF_INPUT,)))
            return
        if self._keys:
            data = self._keys(data)
        if data:
            self._send(bytes((INPUT,)) + data)

    def _send(self, message: bytes) -> None:
        if self._socket is not None and self._socket.is_open:
            self._socket.queue(message)
            self._flush()

    def _flush(self) -> None:
        socket = self._socket
        assert socket is not None
        try:
            socket.flush()
        except Lost:
            self._drop()
            return
        # While the task does not read, neither do we: nothing piles up.
        if socket.has_outgoing:
            self._loop.on_writable(socket.fileno(), self._flush)
            if self._keys is None:
                self._loop.forget(self._fd)
        else:
            self._loop.on_writable(socket.fileno(), None)
            if not self._ended:
                self._loop.on_readable(self._fd, self._from_user)

    def _drop(self) -> None:
        if self._socket is None:
            return
        if self._socket.has_outgoing:
            say(t("input.lost"))
        self._loop.forget(self._socket.fileno())
        self._loop.forget(self._fd)
        self._socket.close()
        self._socket = None
        self._again()

    def _again(self) -> None:
        """Input continues after a retry of the task or a restart of the server."""
        if not self._closed:
            self._loop.after(self._pauses.next(), self.start)

    def close(self) -> None:
        self._closed = True
        if self._socket is not None:
            self._loop.forget(self._socket.fileno())
            self._loop.forget(self._fd)
            self._socket.close()
            self._socket = None


class Keys:
    """Keys of a terminal, between the user and the task.

    After Enter (or at the start), `~.` detaches, `~?` shows help, `~~` is a tilde. Ctrl-C goes to
    `on_interrupt`, if set, which decides whether the task gets it, too.
    """

    def __init__(
        self,
        on_leave: Callable[[], None],
        on_help: Callable[[], None],
        on_interrupt: Callable[[], bool] | None,
    ) -> None:
        self._on_leave = on_leave
        self._on_help = on_help
        self._on_interrupt = on_interrupt
        self._line_start = True
        self._tilde = False

    def __call__(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            if self._tilde:
                self._tilde = False
                if byte == 0x2E:
                    self._on_leave()
                    continue
                if byte == 0x3F:
                    self._on_help()
                    continue
                if byte != 0x7E:
                    out.append(0x7E)
            elif byte == 0x7E and self._line_start:
                self._tilde = True
                continue
            if byte == 0x03 and self._on_interrupt and not self._on_interrupt():
                continue
            out.append(byte)
            self._line_start = byte in (0x0D, 0x0A)
        return bytes(out)
