"""Builds the scheduler's input from live state and calls `decide()`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import overload

from danlu.control.changes import change_of
from danlu.control.context import Context, now
from danlu.control.driver import current
from danlu.control.engine_words import in_queue_words
from danlu.control.holders import as_running
from danlu.control.live_job import LiveJob, waiting_of
from danlu.control.totals import ClusterTotals, add_up
from danlu.sched.api import (
    DEFAULT_QUEUE,
    Admit,
    Claim,
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
    Suggestion,
    TaskShape,
    Waiting,
)
from danlu.sched.decide import decide
from danlu.sched.engine_queues import explain_in_engine
from danlu.sched.estimate.later import forget
from danlu.sched.order.queue_order import CERTAIN
from danlu.sched.place.mix import MixLearner
from danlu.sched.quota import Held, Tally
from danlu.store.rows import AttemptRow

LOOKED_AT = 1000  # jobs considered one by one in a pass


class Planner:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._learner: MixLearner | None = None
        self._claims: tuple[Claim, ...] = ()  # jobs for which others are being preempted or moved
        self.follow(context.rulebook.policy, context.rulebook.quotas)

    def follow(self, policy: Policy, quotas: Quotas) -> None:
        """Replaces the rules."""
        self._rules = policy
        self.quotas = quotas
        self.engines_changed()
        self._known: dict[str, tuple[object, Running]] = {}  # by attempt
        self._memory: Mapping[str, object] = {}
        self._reservations: tuple[Reservation, ...] = ()
        if self._learner is None and _learns(policy):
            self._learner = MixLearner()
        self._fair = _has_order(policy, "fair")
        self._context.learning.half_life = _half_life(policy)
        self._context.queue.expected = self._expected

    def engines_changed(self) -> None:
        """Call when the engines' nodes or availability change; queue rules depend on them."""
        engines, policy = self._context.engines, self._rules
        self._last: Decision | None = None  # of a pass, while everything else waits
        if not engines.plain:
            names = {DEFAULT_QUEUE, *policy.queues}
            policy = replace(policy, queues={n: self._applied(n, policy.queue(n)) for n in names})
        self.policy = policy

    def _applied(self, queue: str, rules: QueuePolicy) -> QueuePolicy:
        context = self._context
        engine = context.engines.status(rules.engine)
        nodes = rules.nodes
        if len(context.engines) > 1:
            mine = context.ledger.nodes_of(engine.name)
            nodes = mine if nodes is None else nodes & mine
        theirs = engine.queue_nodes(queue)
        if theirs is not None:
            nodes = theirs if nodes is None else nodes & theirs
        return replace(
            rules, nodes=nodes, engine=engine.name, admit=engine.places, closed=engine.closed
        )

    def snapshot(self) -> Snapshot:
        """An immutable snapshot."""
        context = self._context
        picture = self._picture(list(context.queue.waiting), lasting=True)
        return replace(picture, history=context.learning.history())

    def decide(self) -> Decision:
        context = self._context
        decision = decide(self._picture(context.queue.waiting), self.policy)
        self._memory = decision.memory
        self._claims = decision.claims
        self._reservations = decision.reservations
        self._last = None if decision.starts or decision.admits else decision
        return decision

    def explain(self, job_id: str) -> Explanation:
        """Whether the last decision is still valid because nothing has changed since."""
        job = self._context.jobs[job_id]
        if job.pending:
            return self._in_engine(job)
        last = None if self._context.wake.is_set() else self._last
        from danlu.sched.explain.explain import explain  # a third of sched/, not for every server

        found = explain(self.snapshot(), self.policy, job_id, decision=last)
        found = replace(found, suggestions=tuple(_as_edit(job, s) for s in found.suggestions))
        self._context.learning.told(job_id, found.eta, now())
        return found

    def _in_engine(self, job: LiveJob) -> Explanation:
        """For a job in the engine's own queue, which gives its own reason."""
        engine = self._context.engine_of(job).name
        tasks = job.seen.tasks if job.seen is not None else ()
        said = next((task for task in tasks if task.in_queue or task.detail), None)
        cause, eta = in_queue_words(engine, said)
        rules = self.policy.queue(job.row.queue)
        return explain_in_engine(self._beside(), job.id, job.shapes, rules, cause, eta)

    def _beside(self) -> Snapshot:
        """All that holds something, whoever has placed it, ours or not."""
        context = self._context
        ours = [
            _running(job, self._expected(job), context.engines.unknown_since(job) is not None)
            for job in context.attempts.values()
            if not job.pending
        ]
        others = [as_running(each) for held in context.ledger.others().values() for each in held]
        return Snapshot(now(), context.ledger.states(), (), (*ours, *others))

    def start_of(self, job: LiveJob) -> Start | Admit | None:
        """Where a new job would start, if the queue is empty."""
        waiting = waiting_of(job.row, job.spec, job.shapes)
        decision = decide(self._picture([waiting]), self.policy)
        if decision.admits:
            return decision.admits[0]
        return decision.starts[0] if decision.starts else None

    def asked(self, shapes: Iterable[TaskShape]) -> None:
        """Records request sizes, if the placement policy learns from them."""
        if self._learner is not None:
            for shape in shapes:
                self._learner.add(shape)

    def usual(self) -> Mapping[TaskShape, int]:
        """The requests that jobs are packed for; empty until enough have been seen."""
        mix = self._learner.mix if self._learner is not None else None
        return {} if mix is None else mix.counts

    def edited(self, jobs: set[str]) -> None:
        """Drops what was promised to the jobs as they were."""
        self._memory = forget(self._memory, jobs)
        self._claims = tuple(claim for claim in self._claims if claim.job_id not in jobs)
        self._last = None

    def totals(self) -> ClusterTotals:
        """The GPU totals that all answers are based on."""
        ledger, running = self._context.ledger, self._context.attempts.values()
        kept = self._standing()
        outside, away = ledger.outside(), ledger.away
        return add_up(ledger.states(), running, ledger.moving(), kept, self.quotas, outside, away)

    def kept(self) -> dict[tuple[str, int], str]:
        """Reserved GPUs (node, index) -> the waiting job they are reserved for."""
        jobs = self._context.jobs
        return {
            (place.node, index): jobs[each.job_id].row.ref
            for each in self._standing()
            for place in each.places
            for index in place.gpus
        }

    def _standing(self) -> tuple[Reservation, ...]:
        # Jobs that left the queue since the last pass need no reservation.
        jobs = self._context.jobs
        return tuple(
            each
            for each in self._reservations
            if each.job_id in jobs and jobs[each.job_id].waiting is not None
        )

    def held(self) -> tuple[Mapping[str, Held], Mapping[str, Held]]:
        """Current usage of users and groups."""
        someone = Quotas(user=Quota(gpus=0))  # not needed without limits
        running = (*self._running(), *self._admitted())
        tally = Tally(someone, self._context.ledger.states(), running)
        return tally.users, tally.groups

    def _picture(self, waiting: Sequence[Waiting], lasting: bool = False) -> Snapshot:
        """`lasting`: it stays as it is; otherwise it is good for a decision at once."""
        context = self._context
        running: Sequence[Running] = _Late(self._running)
        admitted: Sequence[Running] = () if context.engines.plain else _Late(self._admitted)
        if lasting:
            running, admitted = tuple(running), tuple(admitted)
        at = now()
        users, groups = (
            context.learning.used(context.attempts.values(), at) if self._fair else ({}, {})
        )
        return Snapshot(
            at,
            context.ledger.states(),
            waiting,
            running,
            admitted,
            dict(context.queue.array_active),
            self.quotas,
            users,
            groups,
            mix=self._learner.mix if self._learner is not None else None,
            memory=self._memory,
            claims=self._claims,
        )

    def _expected(self, job: LiveJob) -> float | None:
        row = job.row
        return self.expected(row.queue, row.owner, row.name, job.shapes, job.spec.time_limit)

    def expected(
        self, queue: str, owner: str, name: str, shapes: tuple[TaskShape, ...], limit: float | None
    ) -> float | None:
        """The learned run time a queue plans with, or None if it only uses time limits."""
        if self.policy.queue(queue).order in CERTAIN:
            return None
        return self._context.learning.expected(owner, name, shapes, limit)

    def _running(self) -> list[Running]:
        """Cached, one value per running job."""
        known, fresh = self._known, {}
        unknown_since = self._context.engines.unknown_since
        for attempt_id, job in self._context.attempts.items():
            attempt = current(job)
            if job.spec.login or self._elsewhere(attempt):
                continue  # a login task takes no room and is nobody else's business
            unknown = unknown_since(job) is not None
            seen = (attempt.started_at if attempt.stop is None else id(attempt.stop), unknown)
            kept = known.get(attempt_id)
            if kept is None or kept[0] != seen:
                kept = (seen, _running(job, self._expected(job), unknown))
            fresh[attempt_id] = kept
        self._known = fresh
        return [running for _, running in fresh.values()]

    def _admitted(self) -> tuple[Running, ...]:
        """Jobs the scheduler counts but does not place."""
        jobs = self._context.attempts.values()
        since = self._context.engines.unknown_since
        found = (
            _running(job, None, since(job) is not None)
            for job in jobs
            if self._elsewhere(current(job))
        )
        return tuple(replace(running, places=(), gpus={}) for running in found)

    def _elsewhere(self, attempt: AttemptRow) -> bool:
        context = self._context
        if context.engines.plain:
            return False
        known = context.ledger.known
        placed = all(place.node in known for place in attempt.places)
        return not placed or context.engines.status(attempt.engine).places


def _as_edit(job: LiveJob, suggestion: Suggestion) -> Suggestion:
    """With the keys of `edit` that make the change."""
    if suggestion.job is None or job.waiting is None:
        return suggestion
    return replace(suggestion, change=change_of(job.spec, job.waiting, suggestion.job))


class _Late(Sequence[Running]):
    """Built lazily, since most passes never need it."""

    def __init__(self, make: Callable[[], Sequence[Running]]) -> None:
        self._make = make
        self._made: Sequence[Running] | None = None

    @property
    def _all(self) -> Sequence[Running]:
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
    """Usage is tracked once for all queues, so the shortest half-life applies."""
    fair = [rules.half_life for rules in policy.queues.values() if rules.order == "fair"]
    return min(fair, default=QueuePolicy().half_life)


def _learns(policy: Policy) -> bool:
    return "learned" in {policy.place, *(rules.place for rules in policy.queues.values())}


def _running(job: LiveJob, expected: float | None, unknown: bool) -> Running:
    """`unknown`: its engine does not report it, so it is neither preempted nor moved."""
    attempt = current(job)
    endable = job.spec.preemptible and attempt.stop is None and not unknown
    row = job.row
    since = attempt.started_at or attempt.created_at
    limit = job.spec.time_limit
    end = since + limit if limit is not None else None
    ending = attempt.stop is not None and bool(attempt.stop.get("for"))
    if attempt.stop is not None and ending:
        # Resources of preempted jobs are reserved for the job they were preempted for.
        end = now() + float(attempt.stop.get("grace", job.spec.grace))
        expected = None
    gpus: dict[str, tuple[int, ...]] = {}
    for place in attempt.places:
        if place.gpus:
            gpus[place.node] = (*gpus.get(place.node, ()), *place.gpus)
    return Running(
        job.id,
        row.ref,
        row.owner,
        since,
        end,
        gpus,
        job.shapes,
        attempt.places,
        group=row.group,
        queue=row.queue,
        kind=row.kind,
        name=row.name,
        priority=row.priority,
        expected_end=None if expected is None else since + expected,
        preemptible=endable,
        movable=endable,
        preempted=job.preempted,
        ending=ending,
    )
