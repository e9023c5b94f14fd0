"""Job ids chosen by the client, so that a submission can be repeated after a lost answer."""

import os
import time


def uuid7() -> str:
    """A UUIDv7: 48 bits of milliseconds, then 74 random bits."""
    millis = time.time_ns() // 1_000_000
    rest = int.from_bytes(os.urandom(10), "big")
    high = (millis << 16) | 0x7000 | (rest >> 68)
    low = (0b10 << 62) | (rest & ((1 << 62) - 1))
    text = f"{(high << 64) | low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
