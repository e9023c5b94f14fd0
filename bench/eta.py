"""Start-time estimates given at submission, against a plain forward simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean

from bench.measure import Options, note
from bench.table import Goal, Row
from bench.traces import Machine, Missing, Rigid, find, read_swf
from danlu.sched.api import Decision, Eta, Policy, Snapshot, TaskShape, Waiting
from danlu.sched.estimate.eta import estimate
from danlu.sched.estimate.history import Book
from danlu.sched.simulate import Arrival, Simulation

SUMMARY = "error of start-time estimates on Lublin-1 with poor run-time estimates"
SEEDS = (1, 2, 3)
POLICY = Policy("easy")


@dataclass(slots=True)
class Found:
    errors: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)  # of a simulation that trusts time limits
    held: int = 0  # how often the job had started by the P90 estimate
    unanswered: int = 0

    @property
    def waited(self) -> int:
        return len(self.errors) + self.unanswered

    @property
    def share(self) -> float:
        return 100 * self.held / self.waited if self.waited else 0.0


def run(options: Options) -> Iterator[Row]:
    try:
        machine = read_swf(find("lublin/lublin_256.swf"))
    except Missing as missing:
        note(str(missing))
        return
    by_seed = {seed: Found() for seed in SEEDS}
    for number, jobs in enumerate(machine.windows(options.times(10, 2)), 1):
        for seed, found in by_seed.items():
            _window(machine, jobs, seed, found)
        errors = [error for found in by_seed.values() for error in found.errors]
        note(f"eta window {number}: mean error {fmean(errors):,.0f} s so far")
    yield from _rows(_together(by_seed.values()))
    for seed, found in by_seed.items():
        yield Row(f"started by P90, estimates {seed} (%)", found.share)


def _rows(found: Found) -> Iterator[Row]:
    what = f"waiting jobs without an ETA, of {found.waited}"
    yield Row(what, found.unanswered, None, None, Goal("at most", 0, "jobs"))
    error, plain = fmean(found.errors), fmean(found.plain)
    name = "plain forward simulation"
    yield Row("mean error (s)", error, plain, name, Goal("at most", 0.15, "x"))
    yield Row("started by P90 (%)", found.share, None, None, Goal("at least", 88, "%"))
    yield Row("started by P90 (%)", found.share, None, None, Goal("at most", 92, "%"))


def _together(found: Iterable[Found]) -> Found:
    whole = Found()
    for one in found:
        whole.errors += one.errors
        whole.plain += one.plain
        whole.held += one.held
        whole.unanswered += one.unanswered
    return whole


def _window(machine: Machine, jobs: Sequence[Rigid], seed: int, found: Found) -> None:
    random = Random(seed)
    shapes = {width: (TaskShape(width, 0),) for width in {job.width for job in jobs}}
    arrivals = [
        Arrival(
            str(i),
            job.submit,
            job.run,
            shapes[job.width],
            limit=max(1, int(job.run * random.uniform(1, 5))),
        )
        for i, job in enumerate(jobs)
    ]
    etas: dict[str, tuple[float, Eta, Eta]] = {}
    book = Book()

    def arrived(snapshot: Snapshot, job: Waiting) -> None:
        believing = replace(snapshot, history=None)
        plain = estimate(believing, POLICY, job.job_id)
        etas[job.job_id] = (snapshot.now, estimate(snapshot, POLICY, job.job_id), plain)

    def started(snapshot: Snapshot, decision: Decision) -> None:
        for start in decision.starts:
            given, eta, plain = etas[start.job_id]
            waited = snapshot.now - given
            if eta.p50 is not None and (waited or eta.p50 > given):
                book.waited(eta.p50 - given, waited)
            if waited:
                _judge(found, snapshot.now, eta, plain)

    simulation = Simulation([machine.node()], POLICY, book=book)
    simulation.run(arrivals, started, arrived)


def _judge(found: Found, start: float, eta: Eta, plain: Eta) -> None:
    if eta.p50 is None or eta.p90 is None or plain.p50 is None:
        found.unanswered += 1
        return
    found.errors.append(abs(eta.p50 - start))
    found.plain.append(abs(plain.p50 - start))
    found.held += start <= eta.p90
