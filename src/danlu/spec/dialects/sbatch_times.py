"""Times in sbatch notation: time limits, and when a job begins."""

from __future__ import annotations

import math
import re
from datetime import datetime

from danlu.spec.errors import wrong
from danlu.spec.text import Text

_TIME = re.compile(
    r"(?:(?P<days>\d{1,5})-(?P<h>\d{0,3})(?::(?P<m>\d{1,2})(?::(?P<s>\d{1,2}))?)?"
    r"|(?P<one>\d{1,7})(?::(?P<two>\d{1,2})(?::(?P<three>\d{1,2}))?)?)",
    re.ASCII,
)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?", re.ASCII)
_ENDLESS = ("infinite", "unlimited")
_LONGEST = 10 * 365 * 86400


def is_past(text: str) -> bool:
    """Whether a date or time has passed, so that Slurm would not wait for it."""
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        return False
    try:
        return datetime.fromisoformat(match[0]) < datetime.now()
    except ValueError:
        return False


def read_time(value: object) -> float:
    """Seconds: minutes, minutes:seconds, h:m:s, d-h, d-h:m, d-h:m:s; inf: no limit."""
    text = str(value).strip()
    if text.lower() in _ENDLESS:
        return math.inf
    match = _TIME.fullmatch(text)
    if match is None:
        raise wrong(
            value,
            Text(
                "is not a time; use minutes, or 12:00:00, 2-00, 1-12:30:00",
                "不是时间；请写分钟数，或 12:00:00、2-00、1-12:30:00",
            ),
        )
    part = {name: int(number) for name, number in match.groupdict().items() if number}
    if "days" in part:
        seconds = (
            part["days"] * 86400
            + part.get("h", 0) * 3600
            + part.get("m", 0) * 60
            + part.get("s", 0)
        )
    elif "three" in part:
        seconds = part["one"] * 3600 + part["two"] * 60 + part["three"]
    else:
        seconds = part["one"] * 60 + part.get("two", 0)
    if seconds == 0:
        return math.inf
    return float(min(seconds, _LONGEST))
