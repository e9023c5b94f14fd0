"""What the scheduler is asked, and by which rules: the live side of `decide()`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import overload

from danlu.control.active import Active, places_of
from danlu.control.driver import current
from danlu.control.rooms import Rooms, now
from danlu.control.tally import Books, add_up
from danlu.sched.api import (
    Decision,
    Explanation,
    Policy,
    QueuePolicy,
    Quota,
    Quotas,
    Reservation,
    Running,
    Snapshot,
    Start,
    TaskShape,
    Waiting,
)
from danlu.sched.decide import decide
from danlu.sched.explain import explain
from danlu.sched.mix import MixLearner
from danlu.sched.order import CERTAIN
from danlu.sched.quota import Held, Tally

LOOKED_AT = 1000  # jobs that one pass thinks about one by one


class Planner:
    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._learner: MixLearner | None = None
        self.follow(rooms.rulebook.policy, rooms.rulebook.quotas)

    def follow(self, policy: Policy, quotas: Quotas) -> None:
        """These are the rules from now on."""
        self.policy = policy
        self.quotas = quotas
        self._known: dict[str, tuple[object, Running]] = {}  # by attempt
        self._memory: Mapping[str, object] = {}
        self._reservations: tuple[Reservation, ...] = ()
        self._last: Decision | None = None  # of a pass after which everybody else waits
        if self._learner is None and _learns(policy):
            self._learner = MixLearner()
        self._fair = _has_order(policy, "fair")
        self._rooms.learning.half_life = _half_life(policy)
        self._rooms.queue.expected = self._expected

    def snapshot(self) -> Snapshot:
        """A picture that stays as it is, whatever happens next."""
        rooms = self._rooms
        picture = self._picture(list(rooms.queue.waiting), tuple(self._running()))
        return replace(picture, history=rooms.learning.history())

    def decide(self) -> Decision:
        rooms = self._rooms
        decision = decide(self._picture(rooms.queue.waiting, _Late(self._running)), self.policy)
        self._memory = decision.memory
        self._reservations = decision.reservations
        self._last = None if decision.starts else decision
        return decision

    def explain(self, job_id: str) -> Explanation:
        """The last decision still stands as long as nothing has changed since."""
        last = None if self._rooms.wake.is_set() else self._last
        found = explain(self.snapshot(), self.policy, job_id, decision=last)
        self._rooms.learning.told(job_id, found.eta, now())
        return found

    def start_of(self, job: Active) -> Start | None:
        """Where a job that is not queued yet would start, if nobody else waits."""
        row = job.row
        waiting = Waiting(
            job.id,
            "",
            row.owner,
            0,
            row.priority,
            job.shapes,
            group=row.group,
            queue=row.queue,
            kind=row.kind,
            time_limit=job.spec.time_limit,
            preemptible=job.spec.preemptible,
        )
        decision = decide(self._picture([waiting], _Late(self._running)), self.policy)
        return decision.starts[0] if decision.starts else None

    def asked(self, job: Active) -> None:
        """Remembers what people ask for, where the order of placing learns from it."""
        if self._learner is not None:
            for shape in job.shapes:
                self._learner.add(shape)

    def books(self) -> Books:
        """What every card is doing: the one sum that all answers are made of."""
        rooms = self._rooms
        ledger = rooms.ledger
        # Who has left the queue since the last pass needs no room kept; an empty one has no pass.
        waits = {id for id, job in rooms.jobs.items() if job.waiting is not None}
        kept = tuple(each for each in self._reservations if each.job_id in waits)
        return add_up(ledger.states(), rooms.attempts.values(), ledger.moving(), kept, self.quotas)

    def held(self) -> tuple[Mapping[str, Held], Mapping[str, Held]]:
        """What users, and groups, have now."""
        someone = Quotas(user=Quota(cards=0))  # nobody counts where nobody has a limit
        tally = Tally(someone, self._rooms.ledger.states(), self._running())
        return tally.users, tally.groups

    def _picture(self, waiting: Sequence[Waiting], running: Sequence[Running]) -> Snapshot:
        rooms = self._rooms
        at = now()
        users, groups = rooms.learning.used(rooms.attempts.values(), at) if self._fair else ({}, {})
        return Snapshot(
            at,
            rooms.ledger.states(),
            waiting,
            running,
            dict(rooms.queue.array_active),
            self.quotas,
            users,
            groups,
            mix=self._learner.mix if self._learner is not None else None,
            memory=self._memory,
        )

    def _expected(self, job: Active) -> float | None:
        row = job.row
        return self.expected(row.queue, row.owner, row.name, job.shapes, job.spec.time_limit)

    def expected(
        self, queue: str, owner: str, name: str, shapes: tuple[TaskShape, ...], limit: float | None
    ) -> float | None:
        """The run time a queue plans with, by what was learned; None: it goes by limits only."""
        if self.policy.queue(queue).order in CERTAIN:
            return None
        return self._rooms.learning.expected(owner, name, shapes, limit)

    def _running(self) -> list[Running]:
        """One value a running job, made once."""
        known, fresh = self._known, {}
        for attempt_id, job in self._rooms.attempts.items():
            attempt = current(job)
            seen = attempt.started_at if attempt.stop is None else id(attempt.stop)
            kept = known.get(attempt_id)
            if kept is None or kept[0] != seen:
                kept = (seen, _running(job, self._expected(job)))
            fresh[attempt_id] = kept
        self._known = fresh
        return [running for _, running in fresh.values()]


class _Late(Sequence[Running]):
    """Made only when somebody looks: most passes end before that."""

    def __init__(self, make: Callable[[], list[Running]]) -> None:
        self._make = make
        self._made: list[Running] | None = None

    @property
    def _all(self) -> list[Running]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Running]:
        return iter(self._all)

    @overload
    def __getitem__(self, index: int) -> Running: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Running]: ...
    def __getitem__(self, index: int | slice) -> Running | Sequence[Running]:
        return self._all[index]


def _has_order(policy: Policy, order: str) -> bool:
    return policy.name == order or any(r.order == order for r in policy.queues.values())


def _half_life(policy: Policy) -> float:
    """Past use is kept once for all queues, so the shortest memory of a fair queue holds."""
    fair = [rules.half_life for rules in policy.queues.values() if rules.order == "fair"]
    return min(fair, default=QueuePolicy().half_life)


def _learns(policy: Policy) -> bool:
    return "learned" in {policy.place, *(rules.place for rules in policy.queues.values())}


def _running(job: Active, expected: float | None) -> Running:
    attempt = current(job)
    row = job.row
    since = attempt.started_at or attempt.created_at
    limit = job.spec.time_limit
    end = since + limit if limit is not None else None
    if attempt.stop is not None and attempt.stop.get("for"):
        # What ends for others will soon be gone: the room is theirs, and nobody else takes it.
        end = now() + float(attempt.stop.get("grace", job.spec.grace))
        expected = None
    places = places_of(attempt)
    cards: dict[str, tuple[int, ...]] = {}
    for place in places:
        if place.cards:
            cards[place.node] = (*cards.get(place.node, ()), *place.cards)
    return Running(
        job.id,
        row.ref,
        row.owner,
        since,
        end,
        cards,
        job.shapes,
        places,
        group=row.group,
        queue=row.queue,
        kind=row.kind,
        name=row.name,
        priority=row.priority,
        expected_end=None if expected is None else since + expected,
        preemptible=job.spec.preemptible,
        movable=job.spec.preemptible,
    )
