"""How a new demo begins: who runs what since when, and who waits for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from danlu.control.new_rows import element_id
from danlu.control.records import placed_event
from danlu.server.demo.cast import GPUS, NODES, Work, request
from danlu.spec.codec import to_values
from danlu.spec.complete import complete
from danlu.spec.defaults import Defaults
from danlu.spec.ids import uuid7
from danlu.spec.job import Dependency
from danlu.spec.placement import Placement
from danlu.spec.states import State
from danlu.store.rows import AttemptRow, EventRow, JobRow

DEFAULTS = replace(Defaults(), node_gpus=GPUS, node_cpus=NODES[0].cpus, node_memory=NODES[0].memory)
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Begun:
    """A job that runs when the demo begins."""

    work: Work
    node: str
    gpus: tuple[int, ...]
    since: float  # seconds ago
    left: float  # seconds until it is done
    queued: float = 40.0  # seconds it had waited
    more: dict[str, Any] = field(default_factory=dict)


NOTEBOOK = Work("notebook", "bob", 1, 0, 11)
TUNE = Work("tune", "bob", 1, 55, 9)
RUNNING = (
    Begun(Work("resnet-abl", "alice", 2, 96, 21), "n1", (0, 1), 2.1 * HOUR, 49 * 60, 660),
    Begun(Work("vit-base", "zhangyue", 1, 88, 19), "n1", (2,), 2.1 * HOUR, 1.4 * HOUR, 660),
    Begun(NOTEBOOK, "n1", (3,), 3.2 * HOUR, 5 * HOUR),
    Begun(Work("ppo-base", "wangsi", 1, 44, 8), "n2", (2,), 1.2 * HOUR, 1.9 * HOUR),
    Begun(Work("dfm", "chenyu", 1, 72, 20), "n2", (3,), 4.5 * HOUR, 3.3 * HOUR, 300),
    Begun(Work("seg", "chenyu", 1, 61, 14), "n2", (4,), 0.8 * HOUR, 1.6 * HOUR),
    Begun(Work("clip-zh", "liwei", 4, 98, 23), "n3", (0, 1, 2, 3), 9 * HOUR, 7 * HOUR, 1900),
    Begun(Work("swin-abl", "zhangyue", 2, 76, 17), "n4", (1, 2), 0.9 * HOUR, 0.95 * HOUR, 240),
)
ARRAY = (Begun(TUNE, "n4", (3,), 1500, 420), Begun(TUNE, "n4", (4,), 1100, 900))
ELEMENTS = 4


@dataclass(slots=True)
class Rows:
    """What a new demo writes into the store."""

    jobs: list[JobRow] = field(default_factory=list)
    attempts: list[AttemptRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    begun: dict[str, float] = field(default_factory=dict)  # by attempt

    def job(self, work: Work, values: dict[str, Any], at: float, **more: Any) -> JobRow:
        spec = replace(complete(values, DEFAULTS), after=more.pop("after", ()))
        row = JobRow(
            id=uuid7(),
            owner=work.owner,
            name=spec.name,
            number=0,
            kind=spec.kind,
            state=State.QUEUED,
            spec=to_values(spec),
            queue=spec.queue,
            priority=spec.priority,
            submitted_at=at,
            group=spec.group,
        )
        for name, value in more.items():
            setattr(row, name, value)
        self.jobs.append(row)
        self.events.append(EventRow(row.id, at, "submitted", work.owner))
        return row

    def attempt(self, row: JobRow, places: Sequence[Placement], at: float) -> AttemptRow:
        row.attempt = 1
        row.state = State.STARTING
        attempt = AttemptRow(uuid7(), row.id, 1, State.STARTING, 0, tuple(places), at)
        self.attempts.append(attempt)
        self.events.append(placed_event(row, attempt))
        return attempt


def opening(rows: Rows, now: float) -> list[tuple[Begun, JobRow]]:
    """The jobs that run and wait when somebody first looks."""
    shown = [(job, _running(rows, job, now)) for job in RUNNING]
    by_name = {row.name: row for _, row in shown}
    shown += _array(rows, now)
    big = Work("llava-ft", "zhangyue", 4, 95, 22)
    rows.job(big, request(big, 2 * HOUR), now - 1900)
    quota = Work("ppo-sweep", "wangsi", 1, 44, 8)
    rows.job(quota, request(quota, HOUR), now - 2600)
    whole = Work("seg-large", "alice", GPUS, 94, 23)
    rows.job(whole, request(whole, 3 * HOUR), now - 1740)
    evaluation = Work("dfm-eval", "chenyu", 1, 80, 16)
    after = (Dependency(by_name["dfm"].id),)
    rows.job(evaluation, request(evaluation, 900), now - 5000, after=after)
    three = Work("bert-large", "liwei", 3, 90, 20)
    rows.job(three, request(three, 1.5 * HOUR), now - 1600)
    return shown


def _running(rows: Rows, job: Begun, now: float) -> JobRow:
    values = request(job.work, job.since + job.left, job.since, **job.more)
    row = rows.job(job.work, values, now - job.since - job.queued)
    _start(rows, row, job, now)
    return row


def _start(rows: Rows, row: JobRow, job: Begun, now: float) -> None:
    attempt = rows.attempt(row, [Placement(job.node, job.gpus)], now - job.since)
    rows.begun[attempt.id] = now - job.since


def _array(rows: Rows, now: float) -> list[tuple[Begun, JobRow]]:
    """Two of four at a time: the first two run, the others wait for them."""
    values = request(TUNE, 1800, array=f"0-{ELEMENTS - 1}%{len(ARRAY)}")
    at = now - ARRAY[0].since - 20
    elements: list[JobRow] = []
    for index in range(ELEMENTS):
        row = rows.job(TUNE, values, at)
        first = elements[0].id if elements else row.id
        row.id = first if index == 0 else element_id(first, index)
        rows.events[-1].job_id = row.id
        row.array_id, row.array_index = first, index
        elements.append(row)
    for row, job in zip(elements, ARRAY, strict=False):
        _start(rows, row, job, now)
    return list(zip(ARRAY, elements, strict=False))
