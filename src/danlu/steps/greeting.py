"""Mutual authentication of srun and a waiting node, before either accepts any data.

Each side sends a random number and answers the other's with a keyed hash of both. The key itself is
never sent: a process that took over a port learns nothing, and a client without the key can make
the node hold no more than a few hundred bytes for a few seconds. The node's last byte tells srun
that it is in: a busy node may close a link at any time before.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

from danlu.steps.frames import exactly

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

PATIENCE = 10.0  # seconds, for the whole greeting
_SIZE = 32
_IN = b"+"


def greet(link: socket.socket, key: str) -> bool:
    """On srun's side: whether both know the key, and the node let us in."""
    until = time.monotonic() + PATIENCE
    link.settimeout(PATIENCE)
    ours = secrets.token_bytes(_SIZE)
    try:
        link.sendall(ours)
        theirs, answer = exactly(link, _SIZE, until), exactly(link, _SIZE, until)
        if theirs is None or answer is None or not _same(answer, key, b"node", ours, theirs):
            return False
        link.sendall(_hash(key, b"srun", ours, theirs))
        if exactly(link, len(_IN), until) != _IN:
            return False
    except OSError:
        return False
    link.settimeout(None)
    return True


def welcome(link: socket.socket, key: str, admit: Callable[[], bool] = lambda: True) -> bool:
    """On the node's side: whether the client knows the key, and `admit` agrees then."""
    until = time.monotonic() + PATIENCE
    link.settimeout(PATIENCE)
    ours = secrets.token_bytes(_SIZE)
    try:
        theirs = exactly(link, _SIZE, until)
        if theirs is None:
            return False
        link.sendall(ours + _hash(key, b"node", theirs, ours))
        answer = exactly(link, _SIZE, until)
        if answer is None or not _same(answer, key, b"srun", theirs, ours) or not admit():
            return False
        link.sendall(_IN)
    except OSError:
        return False
    link.settimeout(None)
    return True


def _hash(key: str, who: bytes, sruns: bytes, nodes: bytes) -> bytes:
    return hmac.new(key.encode(), who + sruns + nodes, hashlib.sha256).digest()


def _same(answer: bytes, key: str, who: bytes, sruns: bytes, nodes: bytes) -> bool:
    return hmac.compare_digest(answer, _hash(key, who, sruns, nodes))
