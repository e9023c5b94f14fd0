"""Textbook EASY on GPU nodes with best fit, as on a tenant's private machines.

Implemented independently of the scheduler under test.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.traces import NODE_GPUS, Tenanted

Places = list[tuple[int, int]]  # node, GPUs


@dataclass(slots=True)
class Found:
    starts: list[int]
    fragmented: float = 0.0  # seconds the head waits although enough GPUs are free in total


@dataclass(slots=True)
class _State:
    free: list[int]
    running: list[tuple[int, int, Places]] = field(default_factory=list)  # end, job, where

    @property
    def total(self) -> int:
        return sum(self.free)


def easy(jobs: Sequence[Tenanted], nodes: int) -> Found:
    """The head keeps its reservation; only jobs that end before it can start may overtake."""
    found = Found([-1] * len(jobs))
    state = _State([NODE_GPUS] * nodes)
    waiting: list[int] = []
    now = place = 0
    while place < len(jobs) or waiting:
        before = now
        arrival = [jobs[place].submit] if place < len(jobs) else []
        now = min([*arrival, *(state.running[0][:1] if state.running else ())])
        if waiting and state.total >= jobs[waiting[0]].gpus:
            found.fragmented += now - before
        while state.running and state.running[0][0] <= now:
            for node, gpus in heapq.heappop(state.running)[2]:
                state.free[node] += gpus
        while place < len(jobs) and jobs[place].submit <= now:
            waiting.append(place)
            place += 1
        begun = _pass(jobs, waiting, state, now)
        for i in begun:
            found.starts[i] = now
        if begun:
            waiting = [i for i in waiting if found.starts[i] < 0]
    return found


def fit(free: Sequence[int], gpus: int) -> Places | None:
    whole, rest = divmod(gpus, NODE_GPUS) if gpus > NODE_GPUS else (0, gpus)
    idle = [node for node, left in enumerate(free) if left == NODE_GPUS][:whole] if whole else []
    if len(idle) < whole:
        return None
    places = [(node, NODE_GPUS) for node in idle]
    if rest:
        best = -1
        for node, left in enumerate(free):
            if left >= rest and (best < 0 or left < free[best]) and node not in idle:
                best = node
        if best < 0:
            return None
        places.append((best, rest))
    return places


def _pass(jobs: Sequence[Tenanted], waiting: list[int], state: _State, now: int) -> list[int]:
    begun: list[int] = []
    place = 0
    total = state.total
    while place < len(waiting):
        where = fit(state.free, jobs[waiting[place]].gpus)
        if where is None:
            break
        _start(jobs, waiting[place], where, state, now)
        begun.append(waiting[place])
        place += 1
    if place >= len(waiting) - 1 or not total:
        return begun
    shadow: float | None = None
    failed = NODE_GPUS * len(state.free) + 1  # the smallest size that did not fit
    for i in waiting[place + 1 :]:
        if jobs[i].gpus >= failed:
            continue
        where = fit(state.free, jobs[i].gpus)
        if where is None:
            if jobs[i].gpus <= NODE_GPUS:
                failed = min(failed, jobs[i].gpus)
            continue
        if shadow is None:
            shadow = _shadow(jobs[waiting[place]].gpus, state)
        if now + jobs[i].run <= shadow:
            _start(jobs, i, where, state, now)
            begun.append(i)
    return begun


def _start(jobs: Sequence[Tenanted], i: int, where: Places, state: _State, now: int) -> None:
    for node, gpus in where:
        state.free[node] -= gpus
    heapq.heappush(state.running, (now + jobs[i].run, i, where))


def _shadow(gpus: int, state: _State) -> float:
    """When the head will fit if nothing else starts."""
    free = list(state.free)
    ends: list[tuple[int, int, Places]] = []
    for one in state.running:
        insort(ends, one)
    for place, (end, _, where) in enumerate(ends):
        for node, given in where:
            free[node] += given
        last_at_this_time = place + 1 == len(ends) or ends[place + 1][0] > end
        if last_at_this_time and _could(free, gpus, where):
            return end
    return float("inf")


def _could(free: Sequence[int], gpus: int, changed: Places) -> bool:
    if gpus <= NODE_GPUS:
        # Only nodes where a job ended can now fit; several may end at once.
        return any(free[node] >= gpus for node, _ in changed) or fit(free, gpus) is not None
    return fit(free, gpus) is not None
