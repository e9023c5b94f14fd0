"""The textbook reference schedulers: first come first served, and EASY backfill.

Implemented independently of the scheduler under test.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from bench.traces import Rigid

Held = tuple[int, int, int]  # end, planned end, processors


def slowdown(job: Rigid, start: float) -> float:
    """Bounded: run times below ten seconds count as ten."""
    return max(1.0, (start - job.submit + job.run) / max(job.run, 10))


def fifo(jobs: Sequence[Rigid], width: int) -> list[int]:
    """Nobody overtakes."""
    starts: list[int] = []
    ends: list[tuple[int, int]] = []
    now, free = 0, width
    for job in jobs:
        now = max(now, job.submit)
        while ends and (ends[0][0] <= now or free < job.width):
            end, given = heapq.heappop(ends)
            now, free = max(now, end), free + given
        starts.append(now)
        free -= job.width
        heapq.heappush(ends, (now + job.run, job.width))
    return starts


def easy(
    jobs: Sequence[Rigid], width: int, key: Callable[[Rigid], float] | None = None
) -> list[int]:
    """One reservation for the first job (by submission, or by `key`), from planned run times."""
    starts = [-1] * len(jobs)
    waiting: list[int] = []
    running: list[Held] = []
    now, free, place = 0, width, 0
    while place < len(jobs) or waiting:
        following = [jobs[place].submit] if place < len(jobs) else []
        now = min([*following, *(end for end, _, _ in running)])
        free += sum(given for end, _, given in running if end <= now)
        running = [one for one in running if one[0] > now]
        while place < len(jobs) and jobs[place].submit <= now:
            waiting.append(place)
            place += 1
        if key is not None:
            waiting.sort(key=lambda i: (key(jobs[i]), i))
        for i in _pass(jobs, waiting, running, now, free):
            starts[i] = now
            free -= jobs[i].width
            running.append((now + jobs[i].run, now + jobs[i].planned, jobs[i].width))
        waiting = [i for i in waiting if starts[i] < 0]
    return starts


def _pass(
    jobs: Sequence[Rigid],
    waiting: Sequence[int],
    running: Sequence[Held],
    now: int,
    free: int,
) -> list[int]:
    begun: list[int] = []
    place = 0
    while place < len(waiting) and jobs[waiting[place]].width <= free:
        begun.append(waiting[place])
        free -= jobs[waiting[place]].width
        place += 1
    if place == len(waiting):
        return begun
    head = jobs[waiting[place]]
    ends = sorted(
        [
            *((planned, given) for _, planned, given in running),
            *((now + jobs[i].planned, jobs[i].width) for i in begun),
        ]
    )
    then, shadow = free, 0
    for end, given in ends:
        if then >= head.width and end > shadow:
            break
        then, shadow = then + given, end
    extra = then - head.width
    for i in waiting[place + 1 :]:
        job = jobs[i]
        if job.width > free:
            continue
        if now + job.planned > shadow:
            if job.width > extra:
                continue
            extra -= job.width
        begun.append(i)
        free -= job.width
    return begun
