"""A real server on a real socket that answers as a test tells it to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class LittleServer:
    """Each accepted connection is given to the next of `acts`; the last one serves all later."""

    def __init__(self, *acts: Callable[[socket.socket], None]) -> None:
        self._acts = list(acts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.accepted = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            act = self._acts[min(self.accepted, len(self._acts) - 1)]
            self.accepted += 1
            threading.Thread(target=self._act, args=(act, link), daemon=True).start()

    def _act(self, act: Callable[[socket.socket], None], link: socket.socket) -> None:
        with link, suppress(OSError):
            act(link)

    def close(self) -> None:
        # A thread that waits in accept() would keep the port open beyond close().
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextmanager
def serving(*acts: Callable[[socket.socket], None]) -> Iterator[LittleServer]:
    server = LittleServer(*acts)
    try:
        yield server
    finally:
        server.close()


def read_request(link: socket.socket) -> tuple[str, dict[str, str], bytes]:
    """The request line, the headers (names in lower case) and the body."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = link.recv(65536)
        if not piece:
            raise ConnectionError("the client left")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += link.recv(65536)
    return first, headers, body


def answer(body: bytes, status: str = "200 OK", extra: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{extra}\r\n".encode() + body


def answering(*bodies: bytes) -> Callable[[socket.socket], None]:
    """Answers each request on one kept connection with the next body."""

    def act(link: socket.socket) -> None:
        for body in bodies:
            read_request(link)
            link.sendall(answer(body))

    return act
