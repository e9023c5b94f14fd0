"""A command running beside a task, over a WebSocket."""

from __future__ import annotations

from danlu.sdk.fastjson import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk.websocket import WebSocket

INPUT, OUT, ERR, SIZE, EXIT, END_OF_INPUT = 0, 1, 2, 3, 4, 5


class Execution:
    """Send input, receive output; `code` is set when the command has ended."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self._early = socket.wait_open()
        self.code: int | None = None
        self.refusal = ""  # the server's message if it hung up without a code

    def fileno(self) -> int:
        return self.socket.fileno()

    def write(self, data: bytes) -> None:
        self.socket.send(bytes((INPUT,)) + data)

    def end_input(self) -> None:
        self.socket.send(bytes((END_OF_INPUT,)))

    def resize(self, rows: int, cols: int) -> None:
        self.socket.send(bytes((SIZE,)) + dumps({"rows": rows, "cols": cols}).encode())

    def read(self) -> list[tuple[int, bytes]] | None:
        """Reads once: chunks of output as (OUT or ERR, bytes); None at the end."""
        if self.code is not None:
            return None
        if self.socket.closed is not None and not self._early:
            self.note_refusal()
            return None
        messages, self._early = self._early or self.socket.pump(), []
        pieces: list[tuple[int, bytes]] = []
        for message in messages:
            if message[:1] == b"\x04":
                self.code = int(loads(message[1:])["code"])
            elif message[:1] in (b"\x01", b"\x02"):
                pieces.append((message[0], message[1:]))
        return pieces

    def note_refusal(self) -> None:
        if self.socket.closed is not None and self.code is None:
            self.refusal = self.socket.closed[1]

    @property
    def has_early(self) -> bool:
        """Whether output arrived with the handshake, which poll() cannot see."""
        return bool(self._early) or self.socket.closed is not None

    def finish(self) -> tuple[int | None, bytes, bytes]:
        """Ends the input and waits for the end: (code, output, error output)."""
        self.end_input()
        out: list[bytes] = []
        err: list[bytes] = []
        while (pieces := self.read()) is not None:
            for kind, data in pieces:
                (out if kind == OUT else err).append(data)
        self.close()
        return self.code, b"".join(out), b"".join(err)

    def close(self) -> None:
        self.socket.close()
