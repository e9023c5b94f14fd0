"""How long a file may take, said in a way that holds on a busy or slow machine too."""

from __future__ import annotations

import time

LONGEST = 1.0
_STEPS = 1_000_000
_ON_A_QUIET_DESK = 0.035  # seconds `_plain_work` takes where nothing else runs


def too_slow(seconds: float) -> bool:
    """Whether it is more than `LONGEST` would be with the machine to oneself."""
    if seconds < LONGEST:
        return False
    return seconds > LONGEST * max(1.0, _plain_work() / _ON_A_QUIET_DESK)


def _plain_work() -> float:
    began = time.process_time()
    total = 0
    for number in range(_STEPS):
        total += number & 7
    return time.process_time() - began
