"""Throughput of short jobs, against an `sbatch` loop on a tuned Slurm."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping

from bench import over_slurm
from bench.measure import Options, in_turns, median
from bench.server import DANLU, Danlu, wait_until_idle
from bench.slurm import Slurm, anchor
from bench.table import Goal, Row
from danlu.sdk import Client

SUMMARY = "1,000 jobs of true in and out against an sbatch loop"
SLOTS = 64
LOOP = "i=0; while [ $i -lt {count} ]; do {command} || exit 1; i=$((i + 1)); done"


def run(options: Options) -> Iterator[Row]:
    count = 200 if options.quick else 1000
    rounds = options.times(usual=3, quick=1)
    with contextlib.ExitStack() as stack:
        slurm = stack.enter_context(anchor(SLOTS, epilog=True))
        danlu = stack.enter_context(Danlu(SLOTS))
        client = stack.enter_context(danlu.client())
        times = in_turns(rounds, _subjects(danlu, client, slurm, count), warm_up=0)
    rates = {name: count / median(values) for name, values in times.items()}
    sbatch = rates.get("sbatch")
    name = "sbatch loop"
    jobs = f"{count:,} jobs of true, jobs/s"
    one_by_one = f"{jobs}: one client, one request a job"
    yield Row(one_by_one, rates["client"], sbatch, name, Goal("at least", 3, "x"))
    yield Row(f"{jobs}: danlu submit, once, one file", rates["file"], sbatch, name)
    yield Row(f"{jobs}: danlu submit, a shell loop", rates["loop"], sbatch, name)
    yield from over_slurm.throughput(options)


def _subjects(
    danlu: Danlu, client: Client, slurm: Slurm | None, count: int
) -> Mapping[str, Callable[[], float]]:
    def one_by_one() -> None:
        for _ in range(count):
            client.submit({"name": "true", "command": ["true"]})

    def one_file() -> None:
        document = b'name: "true"\ncommand: ["true"]\n'
        danlu.command("submit", "-", text=b"---\n".join([document] * count))

    def loop() -> None:
        command = f"{DANLU} submit -- true >/dev/null"
        _shell(LOOP.format(count=count, command=command), danlu.env)

    subjects = {
        "client": _all_ended(client, count, one_by_one),
        "file": _all_ended(client, count, one_file),
        "loop": _all_ended(client, count, loop),
    }
    if slurm is not None:
        subjects["sbatch"] = lambda: _sbatch_loop(slurm, count)
    return subjects


def _all_ended(client: Client, count: int, send: Callable[[], None]) -> Callable[[], float]:
    """Seconds from the first request until every job has succeeded."""

    def measure() -> float:
        start = time.perf_counter()
        send()
        wait_until_idle(client)
        seconds = time.perf_counter() - start
        jobs = client.jobs(limit=count)["jobs"]
        succeeded = sum(job["state"] == "succeeded" for job in jobs)
        if succeeded != count:
            raise RuntimeError(f"{succeeded} of {count} jobs succeeded")
        return seconds

    return measure


def _sbatch_loop(slurm: Slurm, count: int) -> float:
    slurm.wait_until_idle()
    command = "sbatch --quiet --output=/dev/null --wrap=true >/dev/null"
    start = time.perf_counter()
    _shell(LOOP.format(count=count, command=command), slurm.env)
    slurm.wait_until_idle()
    return time.perf_counter() - start


def _shell(script: str, env: Mapping[str, str]) -> None:
    subprocess.run(["sh", "-c", script], env=env, check=True, stdin=subprocess.DEVNULL)
