"""How much GPU time the members of a group used, by day."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

from danlu.access import rules
from danlu.access.errors import NotAllowed, NotThere
from danlu.access.principal import Principal
from danlu.sched.api import WHOLE
from danlu.spec.placement import Placement
from danlu.spec.text import Text
from danlu.store import groups, usage
from danlu.store.store import Store

DAY = 86_400
_PAGE = 5_000
_MOST = 500_000  # attempts that are added up; the oldest first


@dataclass(slots=True)
class MemberUsage:
    days: list[float]  # GPU-seconds of each day
    jobs: set[str] = field(default_factory=set)

    @property
    def total(self) -> float:
        return sum(self.days)


@dataclass(frozen=True, slots=True)
class GroupUsage:
    since: float
    members: dict[str, MemberUsage]
    whole: bool  # False: too many jobs, and some are missing


class Usage:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def of_group(self, who: Principal, name: str, days: int, zone: int) -> GroupUsage:
        """`zone`: seconds east of Greenwich, so that days begin at the reader's midnight."""
        missing = NotThere(Text(f"group {name[:64]}", f"组 {name[:64]}"))
        if not rules.sees_group(who, name):
            raise missing
        if not rules.sees_usage(who, name):
            raise NotAllowed(
                Text(
                    "Only the group's leaders and admins see its usage",
                    "只有组长和管理员可以查看用量",
                )
            )
        if await self._store.read(lambda tx: groups.get_group(tx, name)) is None:
            raise missing
        now = time.time()
        since = (now + zone) // DAY * DAY - zone - (days - 1) * DAY
        found: defaultdict[str, MemberUsage] = defaultdict(lambda: MemberUsage([0.0] * days))
        after: int | None = 0
        counted = 0
        while after is not None and counted < _MOST:
            page = partial(usage.ran, group=name, since=since, after=after, most=_PAGE)
            rows, after = await self._store.read(page)
            counted += len(rows)
            for row in rows:
                _add(found[row.owner], row, since, now)
        return GroupUsage(since, dict(found), after is None)


def _add(member: MemberUsage, row: usage.Ran, since: float, now: float) -> None:
    gpus = _gpus(row.places)
    begin, end = max(row.started_at, since), min(row.ended_at or now, now)
    member.jobs.add(row.job_id)
    while begin < end and gpus > 0:
        day = int((begin - since) // DAY)
        until = min(end, since + (day + 1) * DAY)
        member.days[day] += (until - begin) * gpus
        begin = until


def _gpus(places: tuple[Placement, ...]) -> float:
    return sum(place.share / WHOLE if place.share else len(place.gpus) for place in places)
