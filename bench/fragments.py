"""Fragmentation: how long the head of the queue waits although enough GPUs are free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from bench import tenants
from bench.easy_nodes import easy
from bench.measure import Options, note
from bench.table import Goal, Row
from bench.traces import Missing, Tenancy, Tenanted, read_philly
from danlu.sched.api import Decision, Snapshot

SUMMARY = "hours of fragmentation (Philly), with consolidation, against best fit"
RULES = replace(tenants.RULES, consolidate=True)
GREEDY = 119.2  # hours, with 353 moves, as published with the data


@dataclass(slots=True)
class Watch:
    """Hours in which the head waits after a pass although enough GPUs are free in total."""

    seconds: float = 0.0
    _since: float = 0.0
    _waits: bool = False

    def __call__(self, snapshot: Snapshot, decision: Decision) -> None:
        if self._waits:
            self.seconds += snapshot.now - self._since
        shapes = {job.job_id: job.shapes for job in snapshot.waiting}
        free = sum(gpu.free for node in snapshot.nodes for gpu in node.gpus)
        for start in decision.starts:
            free -= sum(shape.amount for shape in shapes[start.job_id])
        head = shapes.get(decision.head or "", ())
        self._since = snapshot.now
        self._waits = bool(head) and free >= sum(shape.amount for shape in head)


def run(options: Options) -> Iterator[Row]:
    try:
        tenancy = read_philly()
    except Missing as missing:
        note(str(missing))
        return
    jobs = tenancy.jobs[:5000] if options.quick else tenancy.jobs
    plain = easy(jobs, sum(tenancy.nodes.values()))
    hours, moves, wait = _measure(jobs, tenancy)
    anchor = plain.fragmented / 3600
    goal = Goal("at most", 80, "h")
    yield Row("fragmented (h)", hours, anchor, "pooled EASY, best fit", goal)
    yield Row("fragmented (h)", hours, GREEDY, "greedy consolidation, 353 moves")
    yield Row("moves", moves, 353, "greedy consolidation", Goal("at most", 250, "moves"))
    goal = Goal("at most", 2400, "s")
    yield Row("average wait (s)", wait, 2481, "greedy consolidation", goal)


def _measure(jobs: Sequence[Tenanted], tenancy: Tenancy) -> tuple[float, int, float]:
    watch = Watch()
    outcome = tenants.replay(jobs, tenancy, RULES, watch)
    waits = tenants.by_tenant(jobs, outcome.starts)
    average = fmean(wait for own in waits.values() for wait in own)
    return watch.seconds / 3600, outcome.moves, average
