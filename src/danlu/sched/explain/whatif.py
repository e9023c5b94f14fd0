"""Suggestions that would start a job now or earlier, verified by deciding again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from danlu.sched.api import (
    ANY,
    Cause,
    CauseKind,
    Decision,
    Effect,
    Suggestion,
    SuggestionKind,
    Waiting,
)
from danlu.sched.decide import Pass, decide
from danlu.sched.estimate.later import MOST_WAITING, Ends, Later, asking
from danlu.sched.explain import blockers, precedence
from danlu.sched.explain.summary import fits, summary_of
from danlu.sched.place.free import Need

Numbers = dict[str, int | float | str]
_MOST = 6  # more is no help
_QUOTAS = frozenset({CauseKind.QUOTA_USER, CauseKind.QUOTA_GROUP})
_ROOM = frozenset({CauseKind.NO_ROOM, CauseKind.CLUSTER_FULL})
_HOPELESS = frozenset(
    {
        CauseKind.HELD,
        CauseKind.EDITING,
        CauseKind.DEPENDENCY,
        CauseKind.RETRY_PAUSE,
        CauseKind.ARRAY_LIMIT,
    }
)


@dataclass(frozen=True, slots=True)
class _Change:
    kind: SuggestionKind
    job: Waiting
    numbers: Numbers


def suggestions(
    done: Pass, decision: Decision, job: Waiting, causes: Sequence[Cause]
) -> tuple[Suggestion, ...]:
    """Helpful ones first; those without effect are kept, with what still blocks the job."""
    if {cause.kind for cause in causes} & _HOPELESS:
        return ()
    helpful: dict[SuggestionKind, Suggestion] = {}
    vain: dict[SuggestionKind, _Change] = {}
    for change in _changes(done, decision, job, causes):
        if change.kind in helpful:
            continue
        tried = _try(done, change)
        if tried is not None:
            helpful[change.kind] = tried
        else:
            vain.setdefault(change.kind, change)
    left = [change for kind, change in vain.items() if kind not in helpful]
    earlier, left, own = _earlier(done, job, left, causes)
    without = [_in_vain(done, decision, change) for change in left]
    return (*helpful.values(), *earlier, *own, *without)[:_MOST]


def _earlier(
    done: Pass, job: Waiting, changes: list[_Change], causes: Sequence[Cause]
) -> tuple[list[Suggestion], list[_Change], list[Suggestion]]:
    """Changes that start it earlier than it would, those that do not, and when it would itself."""
    many = len(done.snapshot.waiting) > MOST_WAITING
    if many or not {cause.kind for cause in causes} & _ROOM:
        return [], changes, []
    ends = Ends(done)
    as_it_is = ends.first(job)
    before = inf if as_it_is is None else as_it_is.at
    found: list[Suggestion] = []
    left: list[_Change] = []
    for change in changes:
        later = ends.first(change.job, before) if done.limits.allows(change.job) else None
        if later is None:
            left.append(change)
        else:
            found.append(_then(change.kind, later, change.numbers, change.job))
    own = [] if as_it_is is None else [_then(SuggestionKind.WAIT_FOR, as_it_is, {}, None)]
    return found, left, own


def _then(kind: SuggestionKind, later: Later, numbers: Numbers, job: Waiting | None) -> Suggestion:
    told: Numbers = {**numbers, "ref": later.after}
    return Suggestion(kind, Effect.EARLIER, told, at=later.at, nodes=later.nodes, job=job)


def _try(done: Pass, change: _Change) -> Suggestion | None:
    changed = change.job
    only = done.policy.queue(changed.queue).nodes
    shapes = done.limits.shapes(changed)
    # Where it does not even fit beside what starts anyhow, no decision can start it.
    if not done.limits.allows(changed) or shapes is None or not fits(done.room, shapes, only):
        return None
    again = decide(asking(done.snapshot, changed), done.policy)
    start = next((one for one in again.starts if one.job_id == changed.job_id), None)
    if start is None:
        return None
    nodes = tuple(dict.fromkeys(place.node for place in start.places))
    at = done.snapshot.now
    return Suggestion(
        change.kind, Effect.STARTS_NOW, change.numbers, at=at, nodes=nodes, job=changed
    )


def _in_vain(done: Pass, decision: Decision, change: _Change) -> Suggestion:
    """What would still block it."""
    changed = change.job
    only = done.policy.queue(changed.queue).nodes
    shapes = done.limits.shapes(changed)
    over = done.limits.causes(changed)
    why: Cause | None = over[0] if over else None
    if why is None and shapes is not None:
        if fits(done.room, shapes, only):
            head = decision.heads.get(changed.queue)
            head = None if head == changed.job_id else head
            first = next((o for o in done.snapshot.waiting if o.job_id == head), None)
            if first is not None:
                numbers = precedence.reason(done, decision, first, changed)
                why = Cause(CauseKind.BEHIND, numbers=numbers or {"ref": first.ref, "by": "plan"})
        else:
            largest = blockers.largest(shapes)
            why = blockers.not_now(done.snapshot, done.room, changed, largest, only)
    return Suggestion(change.kind, Effect.NO_CHANGE, change.numbers, why=why)


def _changes(
    done: Pass, decision: Decision, job: Waiting, causes: Sequence[Cause]
) -> Iterator[_Change]:
    yield from _split(job)
    yield from _models(done, job)
    yield from _place(job)
    yield from _fewer(done, job, causes)
    yield from _leaner(done, job)
    yield from _queues(done, job)
    yield from _shorter(done, decision, job)


def _split(job: Waiting) -> Iterator[_Change]:
    for split in splits(job):
        numbers: Numbers = {"tasks": len(split.shapes), "gpus": split.shapes[0].gpus}
        yield _Change(SuggestionKind.SPLIT, split, numbers)


def splits(job: Waiting) -> Iterator[Waiting]:
    """The same GPUs over several nodes, the fewest tasks first."""
    shape = job.shapes[0]
    if len(job.shapes) != 1 or shape.gpus < 2 or shape.indexes:
        return
    for tasks in range(2, shape.gpus + 1):
        if shape.gpus % tasks == 0:
            part = replace(
                shape,
                gpus=shape.gpus // tasks,
                cpus=round(shape.cpus / tasks, 3),
                memory=shape.memory // tasks,
            )
            yield replace(job, shapes=(part,) * tasks)


def _models(done: Pass, job: Waiting) -> Iterator[_Change]:
    if all(Need(shape).any_model for shape in job.shapes):
        return
    free = tuple(replace(shape, model=None, models=ANY) for shape in job.shapes)
    others = sorted(
        model
        for model in done.limits.models
        if not any(Need(shape).accepts(model) for shape in job.shapes if shape.amount)
    )
    if len(others) > 1:
        yield _Change(SuggestionKind.ANY_MODEL, replace(job, shapes=free), {})
    for model in others:
        shapes = tuple(replace(s, model=model if s.amount else None) for s in free)
        numbers: Numbers = {"model": model}
        yield _Change(SuggestionKind.OTHER_MODEL, replace(job, shapes=shapes), numbers)


def _place(job: Waiting) -> Iterator[_Change]:
    if any(s.labels or s.include or s.exclude or s.indexes for s in job.shapes):
        shapes = tuple(
            replace(s, labels=ANY, include=ANY, exclude=ANY, indexes=()) for s in job.shapes
        )
        yield _Change(SuggestionKind.DROP_PLACE, replace(job, shapes=shapes), {})


def _fewer(done: Pass, job: Waiting, causes: Sequence[Cause]) -> Iterator[_Change]:
    """As many GPUs as the largest hole has, or the quota; CPUs and memory in proportion."""
    shape = job.shapes[0]
    if len(job.shapes) != 1 or shape.indexes:
        return
    hole = summary_of(done.room, shape, done.policy.queue(job.queue).nodes).most_idle
    for gpus in sorted({hole, *_left_of_quota(causes)}, reverse=True):
        if 0 < gpus < shape.gpus:
            part = gpus / shape.gpus
            cpus, memory = round(shape.cpus * part, 3), int(shape.memory * part)
            fewer = replace(shape, gpus=gpus, cpus=cpus, memory=memory)
            numbers: Numbers = {"gpus": gpus}
            yield _Change(SuggestionKind.FEWER_GPUS, replace(job, shapes=(fewer,)), numbers)


def _leaner(done: Pass, job: Waiting) -> Iterator[_Change]:
    """Where only CPUs or memory lack: what the best such node has left."""
    shape = blockers.largest(job.shapes)
    only = done.policy.queue(job.queue).nodes
    bare = replace(shape, cpus=0.0, memory=0)
    summary = summary_of(done.room, shape, only)
    if not summary.could_hold(bare) or fits(done.room, (shape,), only):
        return
    mask, need = done.room.suitable(shape, only), Need(bare)
    context = (free for at, free in enumerate(done.room.context()) if mask is None or mask[at])
    left = [(free.millicpus, free.memory) for free in context if free.fits(need)]
    cpus, memory = max(left, default=(0, 0))
    if cpus < 1000 or not memory:
        return
    shapes = tuple(
        replace(s, cpus=min(s.cpus, cpus / 1000), memory=min(s.memory, memory)) for s in job.shapes
    )
    less: Numbers = {"cpus": min(shape.cpus, cpus / 1000), "memory": min(shape.memory, memory)}
    yield _Change(SuggestionKind.LESS_CPU_MEMORY, replace(job, shapes=shapes), less)


def _left_of_quota(causes: Sequence[Cause]) -> Iterator[int]:
    for cause in causes:
        if cause.kind in _QUOTAS and cause.numbers["what"] in ("gpus", "model"):
            yield int(float(cause.numbers["limit"]) - float(cause.numbers["used"]))


def _queues(done: Pass, job: Waiting) -> Iterator[_Change]:
    for name in sorted(done.policy.queues):
        if name != job.queue:
            numbers: Numbers = {"queue": name}
            yield _Change(SuggestionKind.OTHER_QUEUE, replace(job, queue=name), numbers)


def _shorter(done: Pass, decision: Decision, job: Waiting) -> Iterator[_Change]:
    """A time limit that ends before the room is kept for somebody else."""
    kept = next((one.cause for one in decision.kept if one.job_id == job.job_id), None)
    if kept is None or "at" not in kept.numbers:
        return
    seconds = float(kept.numbers["at"]) - done.snapshot.now
    limit = seconds // 300 * 300 if seconds >= 600 else seconds // 60 * 60
    if limit > 0 and (job.time_limit is None or limit < job.time_limit):
        shorter = replace(job, time_limit=limit, expected=None)
        yield _Change(SuggestionKind.SHORTER, shorter, {"seconds": int(limit)})
