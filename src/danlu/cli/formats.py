"""Numbers and times for people."""

from __future__ import annotations

import time

from danlu.cli.texts import t

_UNITS = "BKMGTP"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def duration(seconds: float) -> str:
    """42s, 5m10s, 3h20m, 2d04h."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02d}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02d}m"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR:02d}h"


def moment(at: float | None, now: float | None = None) -> str:
    """Local time: relative within a day, else the date."""
    if at is None:
        return "-"
    now = time.time() if now is None else now
    if 0 <= now - at < _DAY:
        return t("time.ago", time=duration(now - at))
    if 0 < at - now < _DAY:
        return t("time.in", time=duration(at - now))
    there, here = time.localtime(at), time.localtime(now)
    return time.strftime("%m-%d %H:%M" if there.tm_year == here.tm_year else "%Y-%m-%d", there)


def clock(at: float | None) -> str:
    """Local date and time to the second."""
    return "-" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def hour(at: float) -> str:
    """Local time to the minute, with the date unless it is today."""
    local, today = time.localtime(at), time.localtime()
    form = "%H:%M" if local[:3] == today[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, local)


def size(count: float | None) -> str:
    """Bytes with a binary unit."""
    if count is None:
        return "-"
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    whole = value >= 10 or value == int(value)
    return f"{value:.0f}{_UNITS[unit]}" if whole else f"{value:.1f}{_UNITS[unit]}"


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(int(value)) if value == int(value) else f"{value:g}"


def seconds(text: str) -> float | None:
    """Seconds from `90`, `1.5`, `90s`, `10m`, `2h`, `1d`; None if it is none of these."""
    units = {"s": 1, "m": _MINUTE, "h": _HOUR, "d": _DAY}
    digits, factor = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        value = float(digits) * factor
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None


def moment_of(text: str, now: float | None = None) -> float | None:
    """Unix time from `2h` (ago), `2026-11-15` or `2026-11-15 14:30`; else None."""
    ago = seconds(text)
    if ago is not None:
        return (time.time() if now is None else now) - ago
    for pattern in ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"):
        try:
            return time.mktime(time.strptime(text.replace("T", " "), pattern))
        except (ValueError, OverflowError):
            continue
    return None
