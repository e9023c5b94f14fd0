"""How long one short job takes on an idle queue, against `srun` on a tuned Slurm."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import containers, over_slurm
from bench.measure import Options, in_turns, median, note, timed
from bench.server import DANLU, Danlu
from bench.slurm import Slurm, anchor
from bench.table import Goal, Row
from danlu.sdk import Client

SUMMARY = "danlu run true against srun true; from the send to the command's first instruction"
SLOTS = 64

# Static and tiny, so that its first line runs as soon after exec as possible.
CLOCK = r"""
#include <stdio.h>
#include <time.h>
int main(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("%lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
    return 0;
}
"""


def run(options: Options) -> Iterator[Row]:
    rounds = options.times(usual=60, quick=10)
    with contextlib.ExitStack() as stack:
        slurm = stack.enter_context(anchor(SLOTS))
        danlu = stack.enter_context(Danlu(SLOTS))
        client = stack.enter_context(danlu.client())
        clock = _clock(danlu.folder)
        times = in_turns(rounds, _subjects(danlu, client, slurm, clock), warm_up=3)
    middle = {name: median(values) * 1000 for name, values in times.items()}
    srun = middle.get("srun")
    yield Row(
        "danlu run true: the command's time, median (ms)",
        middle["run"],
        srun,
        "srun true",
        Goal("at most", 2, "x"),
    )
    first = middle.get("srun first")
    name = "srun, from its start"
    yield Row(
        "from an open client's send to the command's first instruction, p50 (ms)",
        middle["sdk first"],
        first,
        name,
        Goal("at most", 10, "ms"),
    )
    yield Row(
        "from the start of danlu run to the command's first instruction, p50 (ms)",
        middle["run first"],
        first,
        name,
    )
    yield from over_slurm.latency(options)
    yield from containers.rows(options)


def _subjects(
    danlu: Danlu, client: Client, slurm: Slurm | None, clock: list[str]
) -> Mapping[str, Callable[[], float]]:
    def first_by_client() -> float:
        job = {"name": "clock", "command": clock}
        sent = time.time()
        made = client.submit(job)["jobs"][0]
        client.wait(made["id"])
        printed = b"".join(client.logs(made["id"]))
        return float(printed) - sent

    subjects = {
        "run": timed(lambda: _output([DANLU, "run", "true"], danlu.env, danlu.folder)),
        "sdk first": first_by_client,
        "run first": lambda: _first([DANLU, "run", "--", *clock], danlu.env, danlu.folder),
    }
    if slurm is not None:
        env, folder = slurm.env, slurm.folder
        subjects["srun"] = timed(lambda: _output(["srun", "true"], env, folder))
        subjects["srun first"] = lambda: _first(["srun", *clock], env, folder)
    return {name: _after_a_rest(subject) for name, subject in subjects.items()}


def _after_a_rest(subject: Callable[[], float]) -> Callable[[], float]:
    """Both sides clean up after reporting a job; keep that out of the next measurement."""

    def measure() -> float:
        time.sleep(0.05)
        return subject()

    return measure


def _first(argv: list[str], env: Mapping[str, str], folder: Path) -> float:
    start = time.time()
    return float(_output(argv, env, folder)) - start


def _output(argv: list[str], env: Mapping[str, str], folder: Path) -> bytes:
    done = subprocess.run(
        argv, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True
    )
    return done.stdout


def _clock(folder: Path) -> list[str]:
    """A command that prints the time at its first instruction."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
            source.write(CLOCK)
            source.flush()
            program = str(folder / "clock")
            for flags in (["-static"], []):
                build = [compiler, "-O2", *flags, "-o", program, source.name]
                if subprocess.run(build, capture_output=True).returncode == 0:
                    return [program]
    note("no C compiler: using `date`, which includes its own start-up (about 1 ms)")
    return [shutil.which("date") or "date", "+%s.%N"]
