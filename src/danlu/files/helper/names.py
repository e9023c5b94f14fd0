"""Names of files as text. A name is bytes, and need not be UTF-8.

Bytes that are not UTF-8 are written as `\\xHH`, and so is a backslash that would read as one of
these. Everything else stays as it is, so ordinary names are never changed.
"""

from __future__ import annotations

import re

LONGEST = 255
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")


def to_text(name: bytes) -> str:
    if b"\\x" in name:
        name = _ESCAPE.sub(lambda found: rb"\x5cx" + found[1], name)
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name.decode("utf-8", "backslashreplace")


def to_bytes(text: str) -> bytes:
    """Raises ValueError for half of a surrogate pair, which is no character."""
    raw = text.encode()
    if b"\\x" in raw:
        raw = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), raw)
    return raw


def split(path: str) -> list[bytes]:
    """The names of a path below a root. Raises ValueError for what cannot be one."""
    parts = []
    for text in path.split("/"):
        name = to_bytes(text)
        if not name or name == b".":
            continue
        if name == b".." or b"\0" in name or b"/" in name:
            raise ValueError(text)
        parts.append(name)
    return parts
