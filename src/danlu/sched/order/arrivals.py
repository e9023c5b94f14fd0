"""Learned arrivals: how much future jobs would be delayed by a plan.

A job that occupies the whole machine overnight delays few others; the same job at noon delays a
hundred short ones. One second of waiting costs a job 1 / its run time. The harm of a plan is thus,
integrated over its duration: the arrival rate of each size, times that cost, times how long a job
of that size would have to wait if it arrived at that moment.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from math import ceil

from danlu.sched.api import Waiting
from danlu.sched.backfill.timeline import run_of
from danlu.sched.memory import Arrivals

GRAIN = 256  # resolution of sizes, as parts of the whole
SHORTEST = 10.0  # seconds; shorter run times make no difference to users
HORIZON = 2 * 86_400.0
_HOUR = 3600.0
_DAY = 24
_NEAR = 1e-9
_LEAST = 3600.0  # minimum observation time for a meaningful rate
_DOUBT = 3.0  # prior: hours of average arrivals added to each hour of the day
_NEIGHBOURS = ((0, 1.0), (-1, 0.5), (1, 0.5), (-2, 0.25), (2, 0.25))


def learn(past: Arrivals | None, now: float, jobs: Iterable[tuple[Waiting, float]]) -> Arrivals:
    """Adds the jobs that arrived since; sizes are parts of the whole."""
    jobs = list(jobs)
    if past is None:
        first = min((job.submitted for job, _ in jobs), default=now)
        past = Arrivals(since=first, until=first, seen=-1)
    urgency, hours = dict(past.urgency), list(past.hours)
    seen = past.seen
    for job, size in jobs:
        if job.seq > past.seen:
            weight = 1.0 / max(SHORTEST, run_of(job) or _HOUR)
            part = min(GRAIN, ceil(size))
            urgency[part] = urgency.get(part, 0.0) + weight
            hours[_hour(job.submitted)] += 1.0
            seen = max(seen, job.seq)
    return Arrivals(past.since, seen, urgency, tuple(hours), _watched(past, now), now)


def _hour(time: float) -> int:
    return int(time // _HOUR) % _DAY


def _watched(past: Arrivals, now: float) -> tuple[float, ...]:
    watched = list(past.watched)
    time = past.until
    days, rest = divmod(max(0.0, now - time), _DAY * _HOUR)
    if days:
        watched = [hours + days for hours in watched]
    end = time + rest
    while time < end:
        following = min(end, (time // _HOUR + 1) * _HOUR)
        watched[_hour(time)] += (following - time) / _HOUR
        time = following
    return tuple(watched)


class Outlook:
    """Estimates how much a plan delays future jobs."""

    def __init__(self, arrivals: Arrivals, now: float, daily: bool) -> None:
        span = max(_LEAST, now - arrivals.since)
        total, self.urgency = 0.0, [0.0] * (GRAIN + 1)  # cumulative, by size
        for size in range(GRAIN + 1):
            total += arrivals.urgency.get(size, 0.0) / span
            self.urgency[size] = total
        self._now = now
        self._base = now // _HOUR * _HOUR
        self._rates = _rates(arrivals) if daily else [1.0] * _DAY
        self._add_up()

    def _add_up(self) -> None:
        """Cumulative sums of rate and of rate x time per hour, from now on."""
        first = int(self._base // _HOUR)
        self._sums, self._moments = [0.0], [0.0]
        for hour in range(int(HORIZON // _HOUR) * 2):
            rate = self._rates[(first + hour) % _DAY]
            low, high = hour * _HOUR, (hour + 1) * _HOUR
            self._sums.append(self._sums[-1] + rate * _HOUR)
            self._moments.append(self._moments[-1] + rate * (high * high - low * low) / 2)

    def harm(
        self,
        free: float,
        running: Sequence[tuple[float, float]],
        plan: Sequence[tuple[float, float, float]],
    ) -> float:
        """`running`: (end, size), sorted. `plan`: (start, end, size), sorted."""
        held = list(running)
        urgency, base = self.urgency, self._base
        now, last = self._now, self._now + HORIZON
        place, count, harm = 0, len(plan), 0.0
        sum_before, moment_before = self._until(now)
        while now < last:
            while place < count and plan[place][0] <= now:
                _, end, size = plan[place]
                free -= size
                insort(held, (end, size))
                place += 1
            following = plan[place][0] if place < count else last
            if held and held[0][0] < following:
                following = held[0][0]
            if following > last:
                following = last
            sum_after, moment_after = self._until(following)
            rate, moment = sum_after - sum_before, moment_after - moment_before
            level = free if free > 0 else 0.0
            below = urgency[int(level)]
            for end, size in held:
                level += size
                if level >= GRAIN - _NEAR:
                    harm += (urgency[GRAIN] - below) * ((end - base) * rate - moment)
                    break
                upto = urgency[int(level)]
                harm += (upto - below) * ((end - base) * rate - moment)
                below = upto
            now, sum_before, moment_before = following, sum_after, moment_after
            while held and held[0][0] <= now:
                free += held.pop(0)[1]
            if not held and place == count:
                break
        return harm

    def _until(self, time: float) -> tuple[float, float]:
        since = time - self._base
        hour = int(since / _HOUR)
        low = hour * _HOUR
        rate = (self._sums[hour + 1] - self._sums[hour]) / _HOUR
        return (
            self._sums[hour] + rate * (since - low),
            self._moments[hour] + rate * (since * since - low * low) / 2,
        )


def _rates(arrivals: Arrivals) -> list[float]:
    """The relative load of each hour of the day (1 on average), smoothed while data is scarce."""
    average = sum(arrivals.hours) / max(1.0, sum(arrivals.watched))
    if not average:
        return [1.0] * _DAY
    rates = []
    for hour in range(_DAY):
        came = sum(w * arrivals.hours[(hour + d) % _DAY] for d, w in _NEIGHBOURS)
        watched = sum(w * arrivals.watched[(hour + d) % _DAY] for d, w in _NEIGHBOURS)
        rates.append((came + _DOUBT * average) / ((watched + _DOUBT) * average))
    mean = sum(rates) / _DAY
    return [rate / mean for rate in rates]
