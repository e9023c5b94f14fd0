"""Sizes and durations: parsing and formatting."""

from __future__ import annotations

import math
import re

from danlu.spec.errors import wrong
from danlu.spec.text import Text

K = 1 << 10
M = 1 << 20
G = 1 << 30
T = 1 << 40

LARGEST_SIZE = 1 << 60
LONGEST_DURATION = 10 * 365 * 86400.0

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"([0-9]{1,20})(\.[0-9]{1,9})?\s*([kmgtp]?)(?:i?b)?", re.IGNORECASE | re.ASCII)

_NOT_A_SIZE = Text(
    "is not a size; use bytes, or a number with K, M, G or T, e.g. 512M or 64G",
    "不是大小；请写字节数，或带 K、M、G、T 的数字，例如 512M、64G",
)


def parse_size(value: object) -> int:
    """Bytes. K is 1024; K, KB and KiB are the same."""
    if isinstance(value, str):
        return _size_from_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(value, _NOT_A_SIZE)
    if isinstance(value, float) and not value.is_integer():  # false for NaN and infinity as well
        raise wrong(value, _NOT_A_SIZE)
    return _checked_size(int(value), value)


def _size_from_text(text: str) -> int:
    match = _SIZE.fullmatch(text.strip()) if len(text) <= 64 else None
    if match is None:
        raise wrong(text, _NOT_A_SIZE)
    whole, part, unit = match.groups()
    power = K ** _POWERS[unit.lower()]
    size = int(whole) * power
    if part:
        # Integers throughout: a float cannot represent every size exactly.
        size += int(part[1:]) * power // 10 ** (len(part) - 1)
    return _checked_size(size, text)


def _checked_size(size: int, value: object) -> int:
    if 0 <= size <= LARGEST_SIZE:
        return size
    largest = format_size(LARGEST_SIZE)
    raise wrong(value, Text(f"is out of range: 0 to {largest}", f"超出 0 到 {largest} 的范围"))


def format_size(size: float) -> str:
    """Short, for people: 64G, 1.5G, 512M, 100B."""
    for unit, letter in ((1 << 50, "P"), (T, "T"), (G, "G"), (M, "M"), (K, "K")):
        if size >= unit:
            # Truncated, not rounded: a limit is never shown larger than it is.
            tenths = int(size * 10 // unit)
            return f"{tenths // 10}{letter}" if tenths % 10 == 0 else f"{tenths / 10}{letter}"
    return f"{int(size)}B"


def exact_size(size: int) -> str | int:
    """The shortest form that parses to the same number of bytes."""
    for unit, letter in ((T, "T"), (G, "G"), (M, "M"), (K, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return size


_SECONDS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_PLAIN = re.compile(_NUMBER, re.ASCII)
_UNITS = re.compile(
    "".join(rf"(?:({_NUMBER})\s*{unit}\s*)?" for unit in ("w", "d", "h", "m(?:in)?", "s(?:ec)?")),
    re.IGNORECASE | re.ASCII,
)
_CLOCK = re.compile(
    r"(?:([0-9]{1,5})-)?([0-9]{1,9})(?::([0-9]{1,2}))?(?::([0-9]{1,2}(?:\.[0-9]{1,9})?))?", re.ASCII
)

_NOT_A_DURATION = Text(
    "is not a duration; use seconds, or 90m, 12h, 2d, 1h30m, 1:30:00 or 1-12:00:00",
    "不是时长；请写秒数，或 90m、12h、2d、1h30m、1:30:00、1-12:00:00",
)


def parse_duration(value: object) -> float:
    """Seconds. Clock forms are read as in Slurm: m:s, h:m:s, d-h, d-h:m, d-h:m:s."""
    if isinstance(value, str):
        seconds = _duration_from_text(value.strip()) if len(value) <= 64 else None
    elif isinstance(value, bool) or not isinstance(value, int | float):
        seconds = None
    else:
        # A huge integer cannot become a float.
        seconds = float(value) if abs(value) <= LONGEST_DURATION * 2 else math.inf
    if seconds is None or math.isnan(seconds):
        raise wrong(value, _NOT_A_DURATION)
    if not 0 <= seconds <= LONGEST_DURATION:
        raise wrong(
            value, Text("is out of range: 0 seconds to 10 years", "超出 0 秒到 10 年的范围")
        )
    return seconds


def _duration_from_text(text: str) -> float | None:
    if _PLAIN.fullmatch(text):
        return float(text)
    if text and (match := _UNITS.fullmatch(text)):
        parts = zip(match.groups(), _SECONDS.values(), strict=True)
        return sum(float(part) * unit for part, unit in parts if part)
    match = _CLOCK.fullmatch(text)
    return _clock(*match.groups()) if match else None


def _clock(days: str | None, first: str, second: str | None, third: str | None) -> float | None:
    if days is not None:
        hours, minutes, seconds = first, second or "0", third or "0"
    elif third is not None:
        hours, minutes, seconds = first, second or "0", third
    else:
        hours, minutes, seconds = "0", first, second or "0"
    if float(seconds) >= 60 or (hours != "0" and int(minutes) >= 60):
        return None
    if days is not None and int(hours) >= 24:
        return None
    return int(days or 0) * 86400.0 + int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds)


def format_duration(seconds: float) -> str:
    """Short, for people, the two largest units: 2d3h, 1h30m, 45s, 0.5s."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if seconds < 60:
        shown = f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
        return f"{shown.removesuffix('.0')}s"
    left = int(seconds)
    for large, small in (("d", "h"), ("h", "m"), ("m", "s")):
        unit = int(_SECONDS[large])
        if left >= unit:
            rest = left % unit // int(_SECONDS[small])
            return f"{left // unit}{large}{rest}{small}" if rest else f"{left // unit}{large}"
    return f"{left}s"


def exact_duration(seconds: float) -> str | float:
    """The shortest form that parses to the same number of seconds."""
    if not seconds.is_integer():
        return seconds
    left = int(seconds)
    parts = []
    for unit in ("d", "h", "m", "s"):
        size = int(_SECONDS[unit])
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return "".join(parts) or "0s"
