"""Both ends of a door prove that they know the attempt's token, without sending it.

Most tasks are never entered: what only callers need is imported with the first of them.
"""

from __future__ import annotations

import os
import socket

SIZE = 32
_CALLER, _DOOR = b"caller", b"door"


def _of(token: bytes, who: bytes, first: bytes, second: bytes) -> bytes:
    import hmac

    return hmac.digest(token, who + first + second, "sha256")


def is_same(one: bytes, other: bytes) -> bool:
    import hmac

    return hmac.compare_digest(one, other)


def check(conn: socket.socket, token: bytes) -> bool:
    """The door's side. True: the caller knows the token, and has seen that we do."""
    ours = os.urandom(SIZE)
    conn.sendall(ours)
    answer = b""
    while len(answer) < 2 * SIZE:
        data = conn.recv(2 * SIZE - len(answer))
        if not data:
            return False
        answer += data
    theirs, shown = answer[:SIZE], answer[SIZE:]
    if not is_same(shown, _of(token, _CALLER, ours, theirs)):
        return False
    conn.sendall(_of(token, _DOOR, theirs, ours))
    return True


def answer_to(token: bytes, challenge: bytes) -> tuple[bytes, bytes]:
    """The caller's side: what to send, and what must come back."""
    own = os.urandom(SIZE)
    said = own + _of(token, _CALLER, challenge, own)
    return said, _of(token, _DOOR, own, challenge)
