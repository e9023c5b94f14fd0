"""The signal sent to a script some time before its limit: `--signal=[B:]USR1@90`."""

from __future__ import annotations

import os
import re
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "SLURM_JOB_SIGNAL"
_FORM = re.compile(r"(?:([BR]+):)?(?:SIG)?([A-Z0-9]+)(?:@(\d+))?", re.ASCII | re.IGNORECASE)
_USUAL = 60.0


def arm(batch: bool, send: Callable[[int], None]) -> None:
    """Sends the job's warning in time, if it is meant for the script (or for its steps)."""
    wish = read(os.environ.get(VARIABLE, ""))
    end = os.environ.get("SLURM_JOB_END_TIME", "")
    if wish is not None and wish[0] == batch and end.isdigit():
        later(int(end) - wish[2] - time.time(), wish[1], send)


def later(seconds: float, number: int, send: Callable[[int], None]) -> None:
    import threading

    timer = threading.Timer(max(0.0, seconds), send, (number,))
    timer.daemon = True
    timer.start()


def read(text: str) -> tuple[bool, int, float] | None:
    """(to the script rather than its steps, signal, seconds before the end)."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return None
    where, name, before = match.groups()
    number = int(name) if name.isdigit() else getattr(signal, f"SIG{name.upper()}", None)
    if number is None or not 0 < number < signal.NSIG:
        return None
    return "B" in (where or "").upper(), int(number), float(before or _USUAL)
