"""Waits for what is going to happen, generously: other work may share the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(what: Callable[[], T], patience: float = 180.0, pause: float = 0.1) -> T:
    """Asks until the answer is true; returns it."""
    end = time.monotonic() + patience
    while True:
        answer = what()
        if answer:
            return answer
        assert time.monotonic() < end, f"did not happen in {patience:g} s; last answer: {answer!r}"
        time.sleep(pause)
