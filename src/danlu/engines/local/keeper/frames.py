"""Frames between the server and a keeper: one byte type, four bytes length, body."""

from __future__ import annotations

import struct

HEAD = struct.Struct("!cI")
SIZE = struct.Struct("!HH")
LENGTH = struct.Struct("!I")  # before a message to the spawner, and before its answer
LIMIT = 1 << 20

EXEC = b"E"  # JSON: argv, tty, env, cwd, shell, files, keep
EXEC_APART = b"D"  # as EXEC without a terminal; input and output do not come this way
CONNECT = b"C"  # JSON: an address inside the task
LISTEN = b"L"  # JSON: an address inside the task
ATTACH = b"A"
HANG_UP = b"h"  # JSON: user, whose kept terminals end
INPUT = b"i"
RESIZE = b"r"  # rows, columns
END_OF_INPUT = b"e"
SIGNAL = b"s"  # its number
OUT = b"1"
ERR = b"2"
EXIT = b"x"  # JSON: code, signal, error, taken
OPENED = b"o"  # JSON: address; a socket comes with it, or the pipes of a command


def pack(kind: bytes, body: bytes = b"") -> bytes:
    return HEAD.pack(kind, len(body)) + body


class Reader:
    """Bytes in, frames out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def rest(self) -> bytes:
        """The beginning of a frame that is not complete yet."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        self._buffer += data
        frames: list[tuple[bytes, bytes]] = []
        at = 0
        while len(self._buffer) - at >= HEAD.size:
            kind, length = HEAD.unpack_from(self._buffer, at)
            if length > LIMIT:
                raise ValueError(f"frame too large: {length} bytes")
            end = at + HEAD.size + length
            if len(self._buffer) < end:
                break
            frames.append((kind, bytes(self._buffer[at + HEAD.size : end])))
            at = end
        del self._buffer[:at]
        return frames
