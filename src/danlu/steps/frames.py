"""The protocol between srun and a waiting node: small frames over one connection."""

from __future__ import annotations

import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

OUT, ERR, EXIT, SIGNAL, ORDER, INPUT = 1, 2, 3, 4, 5, 6
HEAD = struct.Struct("!BII")
LARGEST = 64 << 20


def send(link: socket.socket, kind: int, task: int, data: bytes = b"") -> None:
    link.sendall(HEAD.pack(kind, task, len(data)) + data)


def receive(link: socket.socket) -> tuple[int, int, bytes] | None:
    """None: the other side is gone."""
    head = exactly(link, HEAD.size)
    if head is None:
        return None
    kind, task, size = HEAD.unpack(head)
    data = exactly(link, size) if size <= LARGEST else None
    return None if data is None else (kind, task, data)


def exactly(link: socket.socket, size: int, until: float | None = None) -> bytes | None:
    """None: the other side is gone, or too slow. `until`: for all of it, by the monotonic clock."""
    pieces = []
    while size:
        try:
            if until is not None:
                link.settimeout(max(until - time.monotonic(), 0.001))
            piece = link.recv(min(size, 1 << 16))
        except OSError:
            return None
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
