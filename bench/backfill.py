"""Wait times on one machine by policy, against EASY and a published learned policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bench.easy import easy, fifo, slowdown
from bench.measure import Options, note
from bench.table import Goal, Row
from bench.traces import Machine, Missing, Rigid, find, read_swf
from danlu.sched.api import Policy, QueuePolicy, TaskShape
from danlu.sched.simulate import Arrival, Simulation

SUMMARY = "bounded slowdown and longest wait on Lublin-1, against EASY and RLScheduler (SC'20)"
FIFO = QueuePolicy("fifo")
SHORT = QueuePolicy("short-first")
UNCAPPED = QueuePolicy("short-first", settings={"patience": 0})
LEARNED = 58.64


@dataclass(frozen=True, slots=True)
class Figures:
    slowdown: float
    longest: float  # wait
    later: int = 0  # jobs that started later than under plain FIFO


def run(options: Options) -> Iterator[Row]:
    try:
        path = Path(options.trace) if options.trace else find("lublin/lublin_256.swf")
        machine = read_swf(path)
    except Missing as missing:
        note(str(missing))
        if options.trace:
            raise SystemExit(2) from None
        return
    exact = machine.exact()
    windows = exact.windows(options.times(10, 2))
    textbook = _mean([_figures(jobs, easy(jobs, exact.width), exact) for jobs in windows])
    learned = LEARNED if options.trace is None else None
    yield from _fifo(exact, windows, textbook, learned)
    yield from _short(exact, windows, textbook, learned)
    if machine.has_requests:
        yield from _by_requests(machine, machine.windows(options.times(10, 2)))


def _fifo(
    machine: Machine, windows: list[Sequence[Rigid]], textbook: Figures, learned: float | None
) -> Iterator[Row]:
    found = _measure(machine, windows, FIFO)
    name = "EASY-FCFS"
    goal = Goal("at most", 100, "slowdown") if learned else Goal("at most", 1, "x")
    yield Row("fifo: average bounded slowdown", found.slowdown, textbook.slowdown, name, goal)
    goal = Goal("at most", 0, "jobs")
    yield Row("fifo: jobs later than under plain FIFO", found.later, None, "plain FIFO", goal)
    yield Row("fifo: longest wait (s)", found.longest, textbook.longest, name)


def _short(
    machine: Machine, windows: list[Sequence[Rigid]], textbook: Figures, learned: float | None
) -> Iterator[Row]:
    found = _measure(machine, windows, SHORT)
    anchor = (learned, "RLScheduler") if learned else (textbook.slowdown, "EASY-FCFS")
    goal = Goal("at most", LEARNED, "slowdown") if learned else Goal("at most", 1, "x")
    yield Row("short-first: average bounded slowdown", found.slowdown, *anchor, goal)
    goal = Goal("at most", 1, "x")
    what = "short-first: longest wait (s)"
    yield Row(what, found.longest, textbook.longest, "EASY-FCFS", goal)
    found = _measure(machine, windows, UNCAPPED)
    area = _mean([_figures(jobs, easy(jobs, machine.width, _area), machine) for jobs in windows])
    name = "EASY by smallest area"
    goal = Goal("at most", 28, "slowdown") if learned else Goal("at most", 1, "x")
    what = "short-first, uncapped: average bounded slowdown"
    yield Row(what, found.slowdown, area.slowdown, name, goal)
    yield Row("short-first, uncapped: longest wait (s)", found.longest, area.longest, name)


def _by_requests(machine: Machine, windows: list[Sequence[Rigid]]) -> Iterator[Row]:
    """The same with requested run times only, if the trace has them."""
    textbook = _mean([_figures(jobs, easy(jobs, machine.width), machine) for jobs in windows])
    for rules in (FIFO, SHORT):
        found = _measure(machine, windows, rules)
        what = f"{rules.order}, by requested times"
        name = "EASY-FCFS, likewise"
        yield Row(f"{what}: average bounded slowdown", found.slowdown, textbook.slowdown, name)
        yield Row(f"{what}: longest wait (s)", found.longest, textbook.longest, name)


def _measure(machine: Machine, windows: list[Sequence[Rigid]], rules: QueuePolicy) -> Figures:
    found = []
    for number, jobs in enumerate(windows, 1):
        found.append(_figures(jobs, replay(jobs, machine, rules), machine))
        one = found[-1]
        note(
            f"{rules.order} window {number}: {one.slowdown:.1f}, longest wait {one.longest:,.0f} s"
        )
    return _mean(found)


def replay(jobs: Sequence[Rigid], machine: Machine, rules: QueuePolicy) -> list[float]:
    """Through the live server's decide(), given each job's planned run time."""
    shapes = {width: (TaskShape(width, 0),) for width in {job.width for job in jobs}}
    arrivals = [
        Arrival(str(i), job.submit, job.run, shapes[job.width], limit=job.planned)
        for i, job in enumerate(jobs)
    ]
    policy = Policy(queues={"default": rules})
    starts = Simulation([machine.node()], policy).run(arrivals).starts
    return [starts[str(i)] for i in range(len(jobs))]


def _area(job: Rigid) -> float:
    return job.run * job.width


def _figures(jobs: Sequence[Rigid], starts: Sequence[float], machine: Machine) -> Figures:
    plain = fifo(jobs, machine.width)
    return Figures(
        fmean(slowdown(job, start) for job, start in zip(jobs, starts, strict=True)),
        max(start - job.submit for job, start in zip(jobs, starts, strict=True)),
        sum(start > strict for start, strict in zip(starts, plain, strict=True)),
    )


def _mean(found: Sequence[Figures]) -> Figures:
    return Figures(
        fmean(one.slowdown for one in found),
        fmean(one.longest for one in found),
        sum(one.later for one in found),
    )
