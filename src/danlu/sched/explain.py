"""Why a job waits: every cause, the numbers per node, and who holds what it needs."""

from __future__ import annotations

from dataclasses import replace

from danlu.sched.api import (
    WHOLE,
    Basis,
    Cause,
    CauseKind,
    Decision,
    Explanation,
    NodeState,
    NodeVerdict,
    Policy,
    Snapshot,
    TaskPlace,
    TaskShape,
    Waiting,
)
from danlu.sched.decide import array_is_full, could_ever_run, decide
from danlu.sched.place import Room, same


def explain(snapshot: Snapshot, policy: Policy, job_id: str) -> Explanation:
    """Runs the decision as it stands and says what keeps this job from being in it."""
    place = next(i for i, job in enumerate(snapshot.waiting) if job.job_id == job_id)
    job = snapshot.waiting[place]
    decision = decide(snapshot, policy)
    shape = max(job.shapes, key=lambda s: (s.cards, s.share, s.cpus, s.memory))
    snapshot = replace(
        snapshot,
        nodes=_after(snapshot, decision, job_id),
        array_active=_active(snapshot, decision),
    )
    verdicts = tuple(_verdict(node, shape, snapshot) for node in snapshot.nodes)
    ahead = sum(1 for other in snapshot.waiting[:place] if other.blocked is None)
    for start in decision.starts:
        if start.job_id == job_id:
            now = (Cause(CauseKind.STARTING, Basis.VERIFIED),)
            return Explanation(job_id, now, verdicts, ahead + 1, True, start.places)
    causes = tuple(_causes(job, shape, snapshot, decision.head, verdicts))
    return Explanation(job_id, causes, verdicts, ahead + 1)


def _after(snapshot: Snapshot, decision: Decision, job_id: str) -> list[NodeState]:
    """The nodes once the other jobs of this decision have started: what they take is not free."""
    shapes = {job.job_id: job.shapes for job in snapshot.waiting}
    nodes = {node.name: node for node in snapshot.nodes}
    for start in decision.starts:
        if start.job_id == job_id:
            continue
        for shape, place in zip(shapes[start.job_id], start.places, strict=True):
            nodes[place.node] = _taken(nodes[place.node], shape, place)
    return list(nodes.values())


def _active(snapshot: Snapshot, decision: Decision) -> dict[str, int]:
    active = dict(snapshot.array_active)
    begun = {start.job_id for start in decision.starts}
    for job in snapshot.waiting:
        if job.array is not None and job.job_id in begun:
            active[job.array] = active.get(job.array, 0) + 1
    return active


def _taken(node: NodeState, shape: TaskShape, place: TaskPlace) -> NodeState:
    amount = shape.share or WHOLE
    return replace(
        node,
        cpus_free=node.cpus_free - shape.cpus,
        memory_free=node.memory_free - shape.memory,
        cards=tuple(
            replace(card, free=card.free - amount) if card.index in place.cards else card
            for card in node.cards
        ),
    )


def _causes(
    job: Waiting,
    shape: TaskShape,
    snapshot: Snapshot,
    head: str | None,
    verdicts: tuple[NodeVerdict, ...],
) -> list[Cause]:
    causes: list[Cause] = []
    if job.blocked is not None:
        causes.append(job.blocked)
    if array_is_full(job, dict(snapshot.array_active)):
        causes.append(Cause(CauseKind.ARRAY_LIMIT, numbers={"limit": job.array_limit or 0}))
    if not could_ever_run(job.shapes, snapshot.nodes):
        causes.append(_never(job, shape, snapshot))
        return causes
    if Room(snapshot.nodes).place(job.shapes) is None:
        causes.append(_no_room(job, shape, snapshot, verdicts))
        down = [node.name for node in snapshot.nodes if not node.up]
        if down:
            causes.append(Cause(CauseKind.NODE_DOWN, numbers={"nodes": ", ".join(down)}))
    if head is not None and head != job.job_id:
        first = next(other for other in snapshot.waiting if other.job_id == head)
        if first.order < job.order:
            causes.append(Cause(CauseKind.BEHIND, Basis.VERIFIED, {"ref": first.ref}))
    return causes


def _never(job: Waiting, shape: TaskShape, snapshot: Snapshot) -> Cause:
    nodes = snapshot.nodes
    if shape.model is not None:
        models = sorted({card.model for node in nodes for card in node.cards})
        if not any(same(shape.model, model) for model in models):
            return Cause(
                CauseKind.MODEL_ABSENT,
                Basis.VERIFIED,
                {"model": shape.model, "models": ", ".join(models)},
            )
    return Cause(
        CauseKind.TOO_LARGE,
        Basis.VERIFIED,
        {
            "tasks": len(job.shapes),
            "cards": shape.cards,
            "cpus": shape.cpus,
            "memory": shape.memory,
            "largest_cards": max((len(node.cards) for node in nodes), default=0),
            "largest_cpus": max((node.cpus for node in nodes), default=0),
            "largest_memory": max((node.memory for node in nodes), default=0),
            "all_cards": sum(len(node.cards) for node in nodes),
        },
    )


def _no_room(
    job: Waiting, shape: TaskShape, snapshot: Snapshot, verdicts: tuple[NodeVerdict, ...]
) -> Cause:
    lacking = {lack for verdict in verdicts for lack in verdict.lacks}
    return Cause(
        CauseKind.NO_ROOM,
        Basis.VERIFIED,
        {
            "tasks": len(job.shapes),
            "cards": shape.cards,
            "share": shape.share,
            "cpus": shape.cpus,
            "memory": shape.memory,
            "free_cards": sum(v.free_cards for v in verdicts),
            "largest_hole": max((v.free_cards for v in verdicts), default=0),
            "most_cpus": max((v.free_cpus for v in verdicts), default=0),
            "most_memory": max((v.free_memory for v in verdicts), default=0),
            "lacks": ",".join(sorted(lacking)),
        },
    )


def _verdict(node: NodeState, shape: TaskShape, snapshot: Snapshot) -> NodeVerdict:
    usable = [
        card
        for card in node.cards
        if card.healthy and (shape.model is None or same(shape.model, card.model))
    ]
    free = sum(1 for card in usable if card.free == WHOLE)
    enough = (
        any(card.free >= shape.share for card in usable) if shape.share else free >= shape.cards
    )
    checks = {
        "up": node.up,
        "model": bool(usable) or not (shape.cards or shape.share),
        "cards": enough,
        "cpus": node.cpus_free >= shape.cpus - 1e-9,
        "memory": node.memory_free >= shape.memory,
    }
    lacks = tuple(name for name, good in checks.items() if not good)
    holders = tuple(run.ref for run in snapshot.running if node.name in run.cards)
    return NodeVerdict(
        node.name,
        free,
        shape.cards or (1 if shape.share else 0),
        node.cpus_free,
        node.memory_free,
        not lacks,
        lacks,
        holders[:20],
    )
