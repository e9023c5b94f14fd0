"""Memory of the server: idle, with many running jobs, and with many log followers."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench import followers, processes
from bench.measure import Options, percentile
from bench.server import Danlu, stop_all, wait_until_idle
from bench.slurm import NODES, Slurm, anchor
from bench.table import Goal, Row
from danlu.sdk import Client

SUMMARY = "server memory idle, with 1,000 running jobs, with 1,000 log followers; their delay"
PRINTERS = 10
LINES, PAUSE = 100, 0.2
# As many as the kernel's default inotify limit allows without polling.
TAILS = 100
SETTLE = 3.0

Weight = tuple[float, float]  # RSS, PSS
DAEMONS = f"slurmctld + {NODES} slurmd"


def run(options: Options) -> Iterator[Row]:
    many = 100 if options.quick else 1000
    followers.raise_file_limit(2 * many + 200)
    with anchor(many) as slurm:
        idle, busy, steps = _slurm_weights(slurm, many) if slurm else (None, None, None)
    with Danlu(many) as danlu, danlu.client() as client:
        client.submit({"name": "true", "command": ["true"]})
        wait_until_idle(client)
        yield from _weight("server, idle", _settled(danlu), idle, 100)
        client.submit([{"name": "nap", "command": ["sleep", "1000"]}] * many)
        _wait_until_running(danlu, client, many)
        what = f"server, {many:,} running jobs"
        yield from _weight(what, _settled(danlu), busy, 200)
        keepers = processes.memory(danlu.keepers())[1]
        name = f"{many:,} slurmstepd"
        yield Row(f"{many:,} keepers of these jobs: PSS (MB)", keepers, steps, name)
        stop_all(client)
        yield from _followed(danlu, client, many)


def _weight(what: str, ours: Weight, theirs: Weight | None, goal: float) -> Iterator[Row]:
    rss, pss = theirs or (None, None)
    yield Row(f"{what}: RSS (MB)", ours[0], rss, DAEMONS, Goal("at most", goal, "MB"))
    yield Row(f"{what}: PSS (MB)", ours[1], pss, DAEMONS)


def _settled(danlu: Danlu) -> Weight:
    time.sleep(SETTLE)
    return processes.memory(danlu.pids())


def _wait_until_running(danlu: Danlu, client: Client, count: int) -> None:
    """Jobs count as running from their launch on; their keepers may come later."""
    while client.server()["jobs_queued"] or len(danlu.keepers()) < count:
        time.sleep(0.2)


def _slurm_weights(slurm: Slurm, many: int) -> tuple[Weight, Weight, float]:
    slurm.run("srun", "true")
    time.sleep(SETTLE)
    idle = processes.memory(slurm.pids())
    slurm.run("sbatch", "--output=/dev/null", f"--array=1-{many}", "--wrap=sleep 1000")
    while len(slurm.run("squeue", "--noheader", "--array", "--states=running").splitlines()) < many:
        time.sleep(0.5)
    time.sleep(SETTLE)
    return idle, processes.memory(slurm.pids()), processes.memory(slurm.step_daemons())[1]


def _followed(danlu: Danlu, client: Client, many: int) -> Iterator[Row]:
    printers = [
        {"name": "printer", "command": followers.printer(LINES, PAUSE), "held": True}
    ] * PRINTERS
    jobs = client.submit(printers)["jobs"]
    path = "/danlu/v1/jobs/{}/logs?follow=true"
    paths = [path.format(jobs[number % PRINTERS]["id"]) for number in range(many)]
    streams = [followers.follow_http(client.wire, path) for path in paths]
    for job in jobs:
        client.release(job["id"])
    seen: list[float] = []
    followers.collect(
        streams, lambda _: False, lambda: seen.append(processes.memory(danlu.pids())[0])
    )
    ours, exact = _delays(streams)
    theirs, _ = _delays(_tailed(danlu.folder))
    each = f"{many:,} followers of {PRINTERS} jobs"
    yield Row(f"{each}: who got every byte", exact, None, None, Goal("at least", many, "followers"))
    yield Row(
        f"{each}: delay of a line, p95 (ms)",
        percentile(ours, 0.95) * 1000 if ours else None,
        percentile(theirs, 0.95) * 1000 if theirs else None,
        f"{TAILS} x tail -f",
        Goal("at most", 1000, "ms"),
    )
    yield Row(f"{each}: server, peak RSS (MB)", max(seen, default=None))


def _tailed(folder: Path) -> list[followers.Stream]:
    """The same lines, read from files with `tail -f`."""
    paths = [folder / f"printer-{number}" for number in range(PRINTERS)]
    for path in paths:
        path.touch()
    streams = [followers.follow_file(paths[number % PRINTERS]) for number in range(TAILS)]
    writers = []
    for path in paths:
        with path.open("wb") as output:
            command = followers.printer(LINES, PAUSE)
            writers.append(subprocess.Popen(command, stdout=output, stdin=subprocess.DEVNULL))
    followers.collect(streams, _has_all_lines, lambda: None)
    for writer in writers:
        writer.wait()
    return streams


def _has_all_lines(stream: followers.Stream) -> bool:
    return stream.pieces[-1][1].splitlines()[-1].startswith(b"%d " % (LINES - 1))


def _delays(streams: list[followers.Stream]) -> tuple[list[float], int]:
    """All lines' delays, and how many streams were exact."""
    every: list[float] = []
    exact = 0
    for stream in streams:
        stream.close()
        delays = stream.delays(LINES)
        exact += delays is not None
        every += delays or []
    return every, exact
