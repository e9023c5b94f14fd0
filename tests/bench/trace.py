"""Small workloads for the benchmarks that replay traces."""

from __future__ import annotations

from pathlib import Path
from random import Random

from bench.traces import Rigid, Tenanted


def rigid(count: int, width: int, seed: int = 1) -> list[Rigid]:
    """Enough at once that people wait: mostly short and small, some long and wide."""
    random, now, jobs = Random(seed), 0, []
    for _ in range(count):
        now += int(random.expovariate(1 / 60))
        run = max(1, int(random.lognormvariate(5, 1.5)))
        jobs.append(Rigid(now, run, max(1, int(width * random.random() ** 3))))
    return jobs


def tenanted(count: int, seed: int = 1) -> list[Tenanted]:
    random, now, jobs = Random(seed), 0, []
    for _ in range(count):
        now += int(random.expovariate(1 / 400))
        gpus = random.choice((1, 1, 1, 2, 4, 8))
        run = max(1, int(random.lognormvariate(7, 1.5)))
        jobs.append(Tenanted(now, run, gpus, random.choice(("red", "blue", "blue"))))
    return sorted(jobs, key=lambda job: (job.submit, job.run, job.gpus))


def as_swf(jobs: list[Rigid], path: Path, *header: str) -> Path:
    lines = [f"; {line}" for line in header]
    for number, job in enumerate(jobs, 1):
        asked = job.requested or -1
        lines.append(
            f"{number} {job.submit} -1 {job.run} {job.width} -1 -1 {job.width} {asked}"
            " -1 1 1 -1 -1 1 -1 -1 -1"
        )
    path.write_text("\n".join(lines) + "\n")
    return path
