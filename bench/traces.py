"""Reads the traces to replay; the formats are described in the data folder's README."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from danlu.sched.api import GpuState, NodeState, TaskShape

WINDOWS = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)
WINDOW = 1024
NODE_GPUS = 8


class Missing(Exception):
    """A missing workload; the message says how to get it."""


def data_folder() -> Path:
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    return Path(os.environ.get("DANLU_DATA") or beside)


def find(name: str) -> Path:
    path = data_folder() / name
    if not path.is_file():
        raise Missing(f"no workload at {path}; set DANLU_DATA to the folder with {name}")
    return path


# -- parallel jobs on one machine (Standard Workload Format) ---------------------------------------


@dataclass(frozen=True, slots=True)
class Rigid:
    submit: int
    run: int
    width: int  # processors
    requested: int = 0  # time; 0: not in the trace

    @property
    def planned(self) -> int:
        """The time limit given to the scheduler, at least the actual run time."""
        return max(self.run, self.requested)


@dataclass(frozen=True, slots=True)
class Machine:
    width: int
    jobs: Sequence[Rigid]

    @property
    def has_requests(self) -> bool:
        return any(job.requested for job in self.jobs)

    def exact(self) -> Machine:
        """With exact run times as limits."""
        return Machine(self.width, [Rigid(job.submit, job.run, job.width) for job in self.jobs])

    def windows(self, count: int) -> list[Sequence[Rigid]]:
        """The published windows; on a shorter trace, the same number spread evenly."""
        starts: Sequence[int] = WINDOWS
        if len(self.jobs) < max(WINDOWS) + WINDOW:
            last = max(0, len(self.jobs) - WINDOW)
            starts = [last * place // max(1, len(WINDOWS) - 1) for place in range(len(WINDOWS))]
        return [self.jobs[start : start + WINDOW] for start in starts[:count]]

    def node(self) -> NodeState:
        return NodeState("machine", self.width, 0, self.width, 0)


def read_swf(path: Path) -> Machine:
    """Field 2 submit, 4 run time, 5 processors (or 8, requested), 9 requested time; -1: unknown.

    Jobs that never ran are left out.
    """
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise Missing(f"{path} cannot be read: {error.strerror}") from None
    jobs, header = [], {}
    for number, line in enumerate(lines, 1):
        if line.startswith(";"):
            name, _, value = line.strip("; ").partition(":")
            header[name.strip()] = value.strip()
        elif line.strip():
            job = _rigid(line.split(), path, number)
            if job.run >= 0 and job.width > 0:
                jobs.append(job)
    if not jobs:
        raise Missing(f"{path} has no jobs in Standard Workload Format")
    jobs.sort(key=lambda job: job.submit)
    widest = max(job.width for job in jobs)
    stated = [int(header[key]) for key in ("MaxProcs", "MaxNodes") if header.get(key, "").isdigit()]
    return Machine(max([widest, *stated[:1]]), jobs)


def _rigid(fields: Sequence[str], path: Path, number: int) -> Rigid:
    try:
        submit, run, width = (int(float(fields[place])) for place in (1, 3, 4))
        asked, requested = (int(float(field)) for field in (*fields[7:9], -1, -1)[:2])
    except (IndexError, ValueError, OverflowError):
        raise Missing(f"{path}:{number}: not a line of Standard Workload Format") from None
    width = width if width > 0 else asked
    return Rigid(submit, max(1, run) if run >= 0 else run, width, max(0, requested))


# -- jobs of several tenants on GPU nodes ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tenanted:
    submit: int
    run: int
    gpus: int
    tenant: str

    @property
    def shapes(self) -> tuple[TaskShape, ...]:
        return gang(self.gpus)


@dataclass(frozen=True, slots=True)
class Tenancy:
    jobs: Sequence[Tenanted]  # sorted by submit, duration, GPUs
    nodes: dict[str, int]  # tenant -> number of its nodes


_SINCE = datetime(2017, 10, 1, tzinfo=UTC)
_UNTIL = datetime(2017, 12, 1, tzinfo=UTC)
_LOAD = 0.8
_gangs: dict[int, tuple[TaskShape, ...]] = {}


def gang(gpus: int) -> tuple[TaskShape, ...]:
    """Up to a node's GPUs on one node; larger jobs take whole nodes and a remainder."""
    if gpus not in _gangs:
        whole, rest = divmod(gpus, NODE_GPUS)
        shapes = [TaskShape(0, 0, NODE_GPUS)] * whole + ([TaskShape(0, 0, rest)] if rest else [])
        _gangs[gpus] = tuple(shapes)
    return _gangs[gpus]


def read_philly() -> Tenancy:
    with find("philly/philly_vc.csv").open(newline="") as file:
        listed = {row["vc"]: int(row["node num"]) for row in csv.DictReader(file)}
    jobs = []
    with find("philly/philly.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            job = _tenanted(row)
            if job is not None and job.gpus <= NODE_GPUS * listed.get(job.tenant, 0):
                jobs.append(job)
    jobs.sort(key=lambda job: (job.submit, job.run, job.gpus))
    span = (_UNTIL - _SINCE).total_seconds()
    nodes = {}
    for tenant in sorted({job.tenant for job in jobs}):
        own = [job for job in jobs if job.tenant == tenant]
        work = sum(job.run * job.gpus for job in own) / span / _LOAD / NODE_GPUS
        largest = max(job.gpus for job in own) / NODE_GPUS
        nodes[tenant] = max(math.ceil(largest), math.ceil(work))
    return Tenancy(jobs, nodes)


def _tenanted(row: dict[str, str]) -> Tenanted | None:
    at = datetime.strptime(row["timestamp"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    gpus = int(float(row["num_gpus"]))
    if not _SINCE <= at < _UNTIL or gpus <= 0:
        return None
    run = max(1, int(float(row["duration"])))
    return Tenanted(int((at - _SINCE).total_seconds()), run, gpus, row["cluster"])


def gpu_nodes(count: int) -> list[NodeState]:
    gpus = tuple(GpuState(index, "GPU") for index in range(NODE_GPUS))
    return [NodeState(f"n{number:03d}", 0, 0, 0, 0, gpus) for number in range(count)]
