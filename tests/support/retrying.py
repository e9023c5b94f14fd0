"""What asks a package registry may fail for no reason of ours: it is asked again, after a pause."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

TRIES = 3
PAUSE = 15.0

Done = subprocess.CompletedProcess[str]


def until_it_works(
    step: Callable[[], Done], tries: int = TRIES, pause: Callable[[int], None] | None = None
) -> Done:
    """The first success, or the last failure with what each try said at its end."""
    failures: list[str] = []
    for number in range(1, tries + 1):
        try:
            done = step()
        except subprocess.TimeoutExpired as error:
            done = Done(error.cmd, 124, "", f"no end after {error.timeout:g} s")
        if done.returncode == 0:
            return done
        failures.append(f"try {number} of {tries}: {(done.stderr or done.stdout or '')[-2000:]}")
        if number < tries:
            (pause or _pause)(number)
    return Done(done.args, done.returncode, done.stdout, "\n".join(failures))


def _pause(number: int) -> None:
    time.sleep(PAUSE * number)
