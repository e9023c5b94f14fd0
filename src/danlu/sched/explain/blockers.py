"""Why a job does not fit on the nodes, now or ever, and which jobs hold what it needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest

from danlu.sched.api import (
    DEFAULT_QUEUE,
    WHOLE,
    Basis,
    Cause,
    CauseKind,
    Holder,
    NodeState,
    NodeVerdict,
    Policy,
    Running,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.explain.summary import largest_part, summary_of
from danlu.sched.place.free import Free, Need, millicpus, suits
from danlu.sched.place.place import Room
from danlu.sched.sharing import meet

SHOWN_NODES = 20
_SHOWN_HOLDERS = 20
_ANYBODYS = frozenset({"cpus", "memory"})  # what jobs without GPUs hold, too
Only = frozenset[str] | None
Numbers = dict[str, int | float | str]


def largest(shapes: Sequence[TaskShape]) -> TaskShape:
    return max(shapes, key=lambda s: (s.gpus, s.share, s.cpus, s.memory))


def verdicts(
    snapshot: Snapshot, room: Room, shape: TaskShape, only: Only
) -> tuple[tuple[NodeVerdict, ...], int]:
    """The nodes closest to fitting one task, and the number of others."""
    nodes = range(len(snapshot.nodes))
    shown: Sequence[int] = nodes
    if len(nodes) > SHOWN_NODES:
        shown = _nearest(room, shape, room.suitable(shape, only))
    names = {snapshot.nodes[at].name for at in shown}
    on: dict[str, list[Running]] = {}
    for running, its_nodes in _running_on(snapshot, names):
        for name in names.intersection(its_nodes):
            on.setdefault(name, []).append(running)
    found = tuple(
        verdict(
            snapshot.nodes[at], room.room_of(at), shape, only, on.get(snapshot.nodes[at].name, ())
        )
        for at in shown
    )
    return found, len(nodes) - len(found)


def verdict(
    node: NodeState, free: Free, shape: TaskShape, only: Only, on_it: Sequence[Running]
) -> NodeVerdict:
    lacks = tuple(_lacks(node, free, Need(shape), only))
    # Jobs without GPUs hold CPUs and memory, too.
    anybody = not _ANYBODYS.isdisjoint(lacks)
    holders = [each.ref for each in on_it if anybody or node.name in each.gpus]
    return NodeVerdict(
        node.name,
        free.idle(Need(shape)),
        shape.gpus or (1 if shape.share else 0),
        free.millicpus / 1000,
        free.memory,
        not lacks,
        lacks,
        tuple(holders[:_SHOWN_HOLDERS]),
    )


def never(snapshot: Snapshot, policy: Policy, job: Waiting, shape: TaskShape, only: Only) -> Cause:
    """Why it could never fit, even with everything free."""
    nodes = [node for node in snapshot.nodes if only is None or node.name in only]
    for kind, asked, static in (
        (CauseKind.NODES_NAMED, shape.include or shape.exclude, ("include", "exclude")),
        (CauseKind.LABEL_ABSENT, shape.labels, ("labels",)),
        (CauseKind.VOLUME_ABSENT, shape.volumes, ("volumes",)),
    ):
        left = [node for node in nodes if _suits(node, shape, static)]
        if asked and not left:
            numbers: Numbers = {"asked": ", ".join(sorted(asked)), "queue": job.queue}
            if len(nodes) < len(snapshot.nodes):
                numbers["chosen"] = True  # others might have it
            return Cause(kind, Basis.VERIFIED, numbers)
        nodes = left
    need = Need(shape)
    if not need.any_model and (shape.gpus or shape.share):
        models = sorted({gpu.model for node in nodes for gpu in node.gpus})
        if not any(need.accepts(model) for model in models):
            asked_models = shape.model or " / ".join(sorted(shape.models))
            absent: Numbers = {"model": asked_models, "models": ", ".join(models)}
            if only is not None:
                absent |= {"queue": job.queue, "queues": _with_model(snapshot, policy, need)}
            return Cause(CauseKind.MODEL_ABSENT, Basis.VERIFIED, absent)
    if shape.indexes:
        have = [{gpu.index for gpu in node.gpus} for node in nodes]
        if not any(set(shape.indexes) <= indexes for indexes in have):
            listed = ", ".join(str(index) for index in shape.indexes)
            numbers = {"asked": f"gpus {listed}", "queue": job.queue}
            return Cause(CauseKind.NODES_NAMED, Basis.VERIFIED, numbers)
    gpus = [sum(need.accepts(gpu.model) for gpu in node.gpus) for node in nodes]
    return Cause(
        CauseKind.TOO_LARGE,
        Basis.VERIFIED,
        {
            "tasks": len(job.shapes),
            "gpus": shape.gpus,
            "cpus": shape.cpus,
            "memory": shape.memory,
            "largest_gpus": max(gpus, default=0),
            "largest_cpus": max((node.cpus for node in nodes), default=0),
            "largest_memory": max((node.memory for node in nodes), default=0),
            "all_gpus": sum(gpus),
            "all_cpus": sum(node.cpus for node in nodes),
            "queue": job.queue if only is not None else "",
        },
    )


def _with_model(snapshot: Snapshot, policy: Policy, need: Need) -> str:
    """Queues with nodes that have such a GPU."""
    have = frozenset(
        node.name for node in snapshot.nodes if any(need.accepts(gpu.model) for gpu in node.gpus)
    )
    if not have:
        return ""
    queues = sorted({DEFAULT_QUEUE, *policy.queues})
    return ", ".join(name for name in queues if meet(policy.queue(name).nodes, have))


def with_volumes(nodes: Sequence[NodeState], shape: TaskShape, only: Only) -> bool:
    """Whether a node it may use has all the volumes it needs."""
    named = ("volumes", "include", "exclude")
    return any(_suits(node, shape, named) for node in nodes if only is None or node.name in only)


def not_now(snapshot: Snapshot, room: Room, job: Waiting, shape: TaskShape, only: Only) -> Cause:
    """It would fit with more free than there is."""
    found = summary_of(room, shape, only)
    numbers: Numbers = {
        "tasks": len(job.shapes),
        "gpus": shape.gpus,
        "all_gpus": sum(s.gpus for s in job.shapes),
        "share": shape.share,
        "cpus": shape.cpus,
        "memory": shape.memory,
        "free_gpus": found.idle,
        "largest_hole": found.most_idle,
        "largest_part": found.most_part,
        "most_cpus": found.most_cpus / 1000,
        "most_memory": found.most_memory,
        "lacks": ",".join(found.lacks(shape)),
        "nodes": found.nodes,
        "model": shape.model or " / ".join(sorted(shape.models)),
        "queue": job.queue if only is not None else "",
    }
    if shape.include or shape.exclude or shape.labels or shape.volumes:
        numbers["chosen"] = 1  # only some nodes will do, by its own choice
    if out_of_use(snapshot, shape, only):
        numbers["out"] = 1
    full = shape.amount > 0 and not found.idle and not (shape.share and found.most_part)
    kind = CauseKind.CLUSTER_FULL if full else CauseKind.NO_ROOM
    return Cause(kind, Basis.VERIFIED, numbers)


def out_of_order(snapshot: Snapshot, shapes: tuple[TaskShape, ...], only: Only) -> list[Cause]:
    """Nodes that are down or drained, if it would fit with them: one kind alone, or else both."""
    down = [node for node in snapshot.nodes if not node.up]
    drained = [node for node in snapshot.nodes if node.up and node.drained]
    kinds = ((CauseKind.NODE_DOWN, down), (CauseKind.NODE_DRAINED, drained))
    alone = [(kind, out) for kind, out in kinds if _fits_with(snapshot, out, shapes, only)]
    if not alone and down and drained and _fits_with(snapshot, [*down, *drained], shapes, only):
        alone = list(kinds)
    return [_out(kind, out) for kind, out in alone]


def _fits_with(
    snapshot: Snapshot, out: Sequence[NodeState], shapes: tuple[TaskShape, ...], only: Only
) -> bool:
    if not out:
        return False
    names = {node.name for node in out}
    back = [
        replace(node, up=True, drained=False) if node.name in names else node
        for node in snapshot.nodes
    ]
    return Room(back).place(shapes, only) is not None


def _out(kind: CauseKind, out: Sequence[NodeState]) -> Cause:
    reasons = {node.name: node.drain_reason for node in out}
    listed = sorted(reasons)
    more = len(listed) - 5
    shown = ", ".join(f"{n} ({reasons[n]})" if reasons[n] else n for n in listed[:5])
    shown += f" +{more}" if more > 0 else ""
    return Cause(kind, Basis.VERIFIED, {"nodes": shown, "count": len(listed)})


def out_of_use(snapshot: Snapshot, shape: TaskShape, only: Only) -> list[NodeState]:
    """Nodes that are down or drained and could otherwise hold a task of it."""
    need = Need(shape)
    return [
        node
        for node in snapshot.nodes
        if not (node.up and not node.drained)
        and (only is None or node.name in only)
        and (need.static is None or suits(node, need.static))
        and Free.when_empty(node).fits(need)
    ]


def holders(
    snapshot: Snapshot, shape: TaskShape, near: Sequence[NodeVerdict]
) -> tuple[Holder, ...]:
    """Running jobs on the nodes closest to fitting, soonest end first."""
    fitting = {v.node for v in near if not {"up", "drained", "queue", "named"} & set(v.lacks)}
    short = {v.node for v in near if not _ANYBODYS.isdisjoint(v.lacks)} & fitting
    need, with_gpus = Need(shape), shape.amount > 0
    models = {node.name: {c.index: c.model for c in node.gpus} for node in _of(snapshot, fitting)}
    found = [
        _holder(r, name)
        for r, its_nodes in _running_on(snapshot, fitting)
        for name in its_nodes
        if name in fitting
        and (
            not with_gpus
            or name in short
            or any(need.accepts(models[name].get(index, "")) for index in r.gpus.get(name, ()))
        )
    ]
    return tuple(nsmallest(_SHOWN_HOLDERS, found, key=_soonest))


def _holder(r: Running, node: str) -> Holder:
    gpus = r.gpus.get(node, ())
    return Holder(r.ref, r.owner, node, gpus, r.since, r.latest_end, r.expected_end, r.outside)


def _of(snapshot: Snapshot, names: set[str]) -> Iterator[NodeState]:
    return (node for node in snapshot.nodes if node.name in names)


def _running_on(snapshot: Snapshot, names: set[str]) -> Iterator[tuple[Running, Collection[str]]]:
    """Jobs on any of these nodes, with all their nodes, also those without GPUs of theirs."""
    for running in snapshot.running:
        nodes: Collection[str] = running.gpus
        if len(nodes) < len(running.places):  # seldom: several tasks on a node, or some without
            nodes = {place.node for place in running.places}
        if not names.isdisjoint(nodes):
            yield running, nodes


def _soonest(holder: Holder) -> tuple[float, float, str]:
    end = holder.expected_end or holder.latest_end
    return (end if end is not None else float("inf"), holder.since, holder.ref)


def _nearest(room: Room, shape: TaskShape, mask: bytearray | None) -> list[int]:
    """Nearest to fitting first: a node that may be used at all, then by missing GPUs."""
    need = Need(shape)
    wanted = need.gpus or (1 if need.share else 0)
    distances = []
    for at, free in enumerate(room.context()):
        out = not free.usable or (mask is not None and not mask[at])
        idle = free.idle(need) if free.whole and wanted else 0
        short = need.millicpus - free.millicpus
        distances.append((out, wanted - idle, short if short > 0 else 0, at))
    return [at for *_, at in nsmallest(SHOWN_NODES, distances)]


def _lacks(node: NodeState, free: Free, need: Need, only: Only) -> Iterator[str]:
    shape = need.shape
    if not node.up:
        yield "up"
    elif node.drained:
        yield "drained"
    if only is not None and node.name not in only:
        yield "queue"
    if (shape.include or shape.exclude) and not _suits(node, shape, ("include", "exclude")):
        yield "named"
    if not shape.labels <= node.labels:
        yield "labels"
    if not shape.volumes <= node.volumes:
        yield "volumes"
    if shape.gpus or shape.share:
        if not any(need.accepts(model) for model in free.models):
            yield "model"
        elif shape.indexes:
            positions = [free.indexes.index(i) for i in shape.indexes if i in free.indexes]
            least = shape.share or WHOLE
            if len(positions) < len(shape.indexes) or any(free.gpus[p] < least for p in positions):
                yield "gpus"
        elif shape.share:
            if largest_part(free, need) < shape.share:
                yield "gpus"
        elif free.idle(need) < shape.gpus:
            yield "gpus"
    if free.millicpus < millicpus(shape.cpus):
        yield "cpus"
    if free.memory < shape.memory:
        yield "memory"


def _suits(node: NodeState, shape: TaskShape, which: Sequence[str]) -> bool:
    nothing: frozenset[str] = frozenset()
    labels, volumes, include, exclude = (
        getattr(shape, name) if name in which else nothing
        for name in ("labels", "volumes", "include", "exclude")
    )
    return suits(node, (labels, volumes, include, exclude))
