"""The demo's past: jobs of the last days, their logs, and samples for the charts."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from danlu.engines.local.logs import log_path
from danlu.metrics.archive import Archive
from danlu.metrics.tables import COARSE, FINE, MIDDLE, Level
from danlu.metrics.values import Kind, Sample, Subject
from danlu.server.demo.cast import GPUS, NODES, OUTSIDE, SICK, USUAL, Work, request
from danlu.server.demo.load import Load, gpu_usage, resting, wave
from danlu.server.demo.scene import HOUR, Begun, Rows
from danlu.spec.placement import Placement
from danlu.spec.states import Reason, State
from danlu.spec.units import G
from danlu.store.rows import AttemptRow, EventRow, JobRow

DAYS = 3
_FAILED = (
    b"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. "
    b"GPU 0 has a total capacity of 24.00 GiB of which 1.12 GiB is free.\n"
)


@dataclass(frozen=True, slots=True)
class Stay:
    """One job on its GPUs, for the samples."""

    job_id: str
    attempt_id: str
    node: str
    gpus: tuple[int, ...]
    load: Load
    since: float
    until: float


def stays_of(opening: Iterable[tuple[Begun, JobRow]], rows: Rows, now: float) -> list[Stay]:
    """The jobs that are running now."""
    attempts = {attempt.job_id: attempt for attempt in rows.attempts}
    return [
        Stay(
            row.id,
            attempts[row.id].id,
            job.node,
            job.gpus,
            _load(attempts[row.id].id, job.work),
            now - job.since,
            now,
        )
        for job, row in opening
    ]


def earlier(rows: Rows, present: list[Stay], now: float) -> list[Stay]:
    """Jobs that have ended, on the GPUs that the present ones have not held since."""
    chance = random.Random(20)
    stays: list[Stay] = []
    for node in NODES:
        index = 0
        while index < GPUS:
            if (node.name, index) in (SICK, OUTSIDE):
                index += 1
                continue
            gpus, until = _free_before(node.name, index, present, now)
            stays += _one_after_another(rows, node.name, gpus, until, now, chance)
            index = gpus[-1] + 1
    return stays


def _free_before(
    node: str, index: int, present: list[Stay], now: float
) -> tuple[tuple[int, ...], float]:
    for stay in present:
        if stay.node == node and index in stay.gpus:
            return stay.gpus, stay.since
    return (index,), now - 400


def _one_after_another(
    rows: Rows,
    node: str,
    gpus: tuple[int, ...],
    until: float,
    now: float,
    chance: random.Random,
) -> Iterator[Stay]:
    fitting = [work for work in USUAL if work.gpus == len(gpus)] or list(USUAL[:1])
    end = until - chance.uniform(60, 900)
    while end > now - DAYS * 24 * HOUR:
        work = chance.choice(fitting)
        run = chance.uniform(0.6, 7.0) * HOUR
        yield _ended(rows, work, node, gpus, (end - run, end), chance)
        end -= run + chance.expovariate(1 / 1500)


def _ended(
    rows: Rows,
    work: Work,
    node: str,
    gpus: tuple[int, ...],
    ran: tuple[float, float],
    chance: random.Random,
) -> Stay:
    since, until = ran
    row = rows.job(work, request(work, until - since), since - chance.expovariate(1 / 1300))
    attempt = rows.attempt(row, [Placement(node, gpus)], since - 1)
    fails = chance.random() < 0.07
    row.state = attempt.state = State.FAILED if fails else State.SUCCEEDED
    row.reason = attempt.reason = Reason.OUT_OF_GPU_MEMORY if fails else Reason.COMPLETED
    row.exit_code = 1 if fails else 0
    row.detail = {"code": 1, "evidence": [_FAILED.decode().strip()]} if fails else {"code": 0}
    attempt.detail = row.detail
    row.started_at = attempt.started_at = since
    row.ended_at = attempt.ended_at = until
    row.failures = int(fails)
    attempt.tasks = [
        {
            "task": 0,
            "phase": "exited",
            "exit_code": row.exit_code,
            "signal": None,
            "started_at": since,
            "ended_at": until,
            "detail": "",
        }
    ]
    rows.events.append(EventRow(row.id, since, "started", "danlu", {"attempt": 1}))
    data = {"state": row.state, "reason": row.reason, "detail": row.detail, "code": row.exit_code}
    rows.events.append(EventRow(row.id, until, "ended", "danlu", data))
    return Stay(row.id, attempt.id, node, gpus, _load(attempt.id, work), since, until)


def _load(attempt_id: str, work: Work) -> Load:
    return Load.of(attempt_id, {"DEMO_BUSY": str(work.busy), "DEMO_MEMORY": str(work.memory)})


# -- logs ----------------------------------------------------------------------------------------


def write_logs(data: Path, jobs: Iterable[JobRow], attempts: Iterable[AttemptRow]) -> None:
    """The end of each log, since nobody reads the rest."""
    by_id = {row.id: row for row in jobs}
    for attempt in attempts:
        row = by_id[attempt.job_id]
        if row.ended_at is None:
            continue
        path = log_path(str(data / "logs"), row.id, attempt.id, 0, "out")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        steps = int((row.ended_at - (row.started_at or 0)) * 5)
        lines = [
            f"INFO step {step}/{steps}  loss {0.3 + 24000 / (8000 + 9 * step):.3f}  lr 1.8e-05\n"
            for step in range(0, steps, max(10, steps // 40))
        ]
        last = _FAILED if row.exit_code else f"INFO done: {row.name}\n".encode()
        with open(path, "wb") as file:
            file.write("".join(lines).encode() + last)


# -- samples -------------------------------------------------------------------------------------


def write_samples(archive: Archive, stays: list[Stay], now: float) -> None:
    """As coarse as they would be by now: the last hour fine, the last day by the minute."""
    for level in (FINE, MIDDLE, COARSE):
        since = now - min(level.keep, DAYS * 24 * HOUR)
        archive.fill(level, list(_samples(level, stays, since, now)))


def _samples(level: Level, stays: list[Stay], since: float, now: float) -> Iterator[Sample]:
    times = range(int(since // level.step + 1) * level.step, int(now), level.step)
    for node in NODES:
        here = [stay for stay in stays if stay.node == node.name and stay.until > since]
        for at in times:
            yield from _node(node.name, [s for s in here if s.since <= at < s.until], at)
    for stay in stays:
        if stay.until > since:
            first = max(stay.since, since)
            yield from (_task(stay, at) for at in times if first <= at < stay.until)


def _node(name: str, stays: list[Stay], at: float) -> Iterator[Sample]:
    cores = memory = total = held = 0.0
    reads = writes = 0.0
    holder = {index: stay for stay in stays for index in stay.gpus}
    for stay in stays:
        read, written = stay.load.disk(at)
        cores += stay.load.cores(at)
        memory += stay.load.host_memory(at - stay.since)
        reads, writes = reads + read, writes + written
    for index in range(GPUS):
        if (name, index) == SICK:
            continue
        usage = _gpu(name, index, holder.get(index), at)
        total += usage["gpu"]
        held += usage["gpu_memory"]
        yield Sample(at, Subject(Kind.GPU, name, index), usage)
    count = GPUS - (SICK[0] == name)
    values = {
        "cpu": round(cores, 3),
        "memory": memory + 3 * G,
        "disk_read": reads,
        "disk_written": writes,
        "gpu": round(total / count, 3),
        "gpu_memory": held,
    }
    yield Sample(at, Subject(Kind.NODE, name), values)


def _gpu(node: str, index: int, stay: Stay | None, at: float) -> dict[str, float]:
    if stay is not None:
        usage = gpu_usage(index, *stay.load.gpu(at - stay.since, at, index), at)
    elif (node, index) == OUTSIDE:
        usage = gpu_usage(index, 0.35 + 0.06 * wave(11, at), 9 * G, at)
    else:
        usage = resting(index, at)
    return {
        "gpu": usage.utilisation or 0.0,
        "gpu_memory": usage.memory or 0,
        "temperature": usage.temperature or 0,
        "power": usage.power or 0,
    }


def _task(stay: Stay, at: float) -> Sample:
    age = at - stay.since
    looks = [stay.load.gpu(age, at, index) for index in stay.gpus]
    read, written = stay.load.disk(at)
    values = {
        "cpu": round(stay.load.cores(at), 3),
        "memory": stay.load.host_memory(age),
        "processes": 2,
        "disk_read": read,
        "disk_written": written,
        "gpu": round(sum(busy for busy, _ in looks) / len(looks), 3),
        "gpu_memory": sum(used for _, used in looks),
    }
    return Sample(at, Subject(Kind.TASK, stay.job_id, 0, stay.attempt_id), values)
