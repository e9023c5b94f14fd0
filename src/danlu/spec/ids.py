"""Ids: UUIDv7, so that they sort by creation time."""

from __future__ import annotations

import os
import re
import threading
import time

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_lock = threading.Lock()
_last = 0


def uuid7() -> str:
    """A new id, greater than every one this process created before, even if the clock steps
    back.
    """
    global _last
    nanoseconds = time.time_ns()
    # 48 bits of milliseconds and 12 bits of their fraction, as in RFC 9562 (6.2, method 3).
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    stamp = milliseconds << 12 | (rest << 12) // 1_000_000
    with _lock:
        if stamp <= _last:
            stamp = _last + 1
        _last = stamp
    tail = int.from_bytes(os.urandom(8)) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    head = f"{stamp >> 12:012x}"
    low = f"{tail:016x}"
    return f"{head[:8]}-{head[8:]}-7{stamp & 0xFFF:03x}-{low[:4]}-{low[4:]}"


def is_uuid(text: str) -> bool:
    """A UUID in canonical lower-case form."""
    return len(text) == 36 and _UUID.fullmatch(text) is not None
