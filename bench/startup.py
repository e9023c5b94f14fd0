"""Start-up time of `danlu` commands, against the bare interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping

from bench.measure import Options, in_turns, median, timed
from bench.server import DANLU, Danlu
from bench.table import Goal, Row

SUMMARY = "danlu --version and danlu jobs against the same interpreter's -c pass"
JOBS = 20  # typical for a small lab


def run(options: Options) -> Iterator[Row]:
    rounds = options.times(usual=60, quick=10)
    with Danlu(slots=JOBS) as danlu, danlu.client() as client:
        sleepers = [{"name": "nap", "command": ["sleep", "600"]}] * JOBS
        client.submit(sleepers)
        subjects = {
            "pass": _command([sys.executable, "-c", "pass"], danlu.env),
            "version": _command([DANLU, "--version"], danlu.env),
            "jobs": _command([DANLU, "jobs"], danlu.env),
        }
        times = in_turns(rounds, subjects, warm_up=3)
    plain = median(times["pass"]) * 1000
    name = "python -c pass"
    version, jobs = median(times["version"]) * 1000, median(times["jobs"]) * 1000
    yield Row("danlu --version (ms)", version, plain, name, Goal("at most", 2, "x"))
    yield Row(f"danlu jobs, {JOBS} jobs (ms)", jobs, plain, name, Goal("at most", 3, "x"))


def _command(argv: list[str], env: Mapping[str, str]) -> Callable[[], float]:
    def action() -> None:
        subprocess.run(argv, env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True)

    return timed(action)
