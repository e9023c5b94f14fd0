"""Frames between the server and a helper: a length, then JSON or raw bytes.

The server may trust nothing it reads: the other end is a user's process.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

HEAD = struct.Struct("!I")
LARGEST = 8 << 20  # of a frame of JSON
PIECE = 1 << 20  # of raw bytes
Values = dict[str, Any]


class Ended(Exception):
    """The other end has gone."""


def pack(values: Values) -> bytes:
    body = json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode()
    return HEAD.pack(len(body)) + body


def send(sock: socket.socket, values: Values) -> None:
    try:
        sock.sendall(pack(values))
    except OSError as error:
        raise Ended from error


def receive(sock: socket.socket) -> Values:
    values = json.loads(receive_piece(sock, LARGEST))
    if not isinstance(values, dict):
        raise Ended
    return values


def receive_piece(sock: socket.socket, most: int = PIECE) -> bytearray:
    (size,) = HEAD.unpack(_exactly(sock, HEAD.size))
    if size > most:
        raise Ended
    return _exactly(sock, size)


def _exactly(sock: socket.socket, size: int) -> bytearray:
    held = bytearray(size)
    view = memoryview(held)
    at = 0
    while at < size:
        try:
            got = sock.recv_into(view[at:], 0, socket.MSG_WAITALL)
        except OSError as error:
            raise Ended from error
        if not got:
            raise Ended
        at += got
    return held
