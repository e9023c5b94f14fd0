"""What holds for every cluster on which queues share nodes and work may be ended or moved."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings, target
from hypothesis import strategies as st

from danlu.sched.api import (
    LOWER_PRIORITY,
    NEVER,
    WHOLE,
    CauseKind,
    Decision,
    Effect,
    GpuState,
    NodeState,
    Placement,
    Policy,
    QueuePolicy,
    Quota,
    Quotas,
    Running,
    Snapshot,
    Waiting,
)
from danlu.sched.api import TaskShape as Shape
from danlu.sched.decide import decide
from danlu.sched.explain.explain import explain
from danlu.sched.limits import Limits
from danlu.sched.place.place import Room
from danlu.sched.tenants import amount

MODELS = ("T4", "A100")
GROUPS = ("a", "b", None)
QUEUES = ("default", "p", "q")
NAMES = ("n0", "n1", "n2")

shapes = st.builds(
    Shape,
    cpus=st.sampled_from([0.5, 1.0, 4.0]),
    memory=st.sampled_from([1, 8]),
    gpus=st.sampled_from([0, 1, 1, 2, 3, 4]),
    model=st.sampled_from([None, None, None, *MODELS]),
) | st.builds(Shape, cpus=st.just(0.5), memory=st.just(1), share=st.sampled_from([250, 500, 800]))
gangs = st.lists(shapes, min_size=1, max_size=2).map(tuple)
limits = st.sampled_from([None, 600.0, 3600.0, 36_000.0])
subsets = st.sampled_from(
    [None, None, frozenset({"n0"}), frozenset({"n0", "n1"}), frozenset(NAMES[1:])]
)
rules = st.builds(
    QueuePolicy,
    order=st.sampled_from(["fifo", "fifo", "easy", "fair", "short-first"]),
    place=st.sampled_from(["tight", "spread", "learned"]),
    nodes=subsets,
    backfill=st.sampled_from([True, True, False]),
    max_wait=st.sampled_from([None, None, 50.0]),
    lend=st.sampled_from([True, True, False]),
    reclaim=st.booleans(),
    consolidate=st.booleans(),
    preempt=st.sampled_from([NEVER, LOWER_PRIORITY]),
    priority=st.sampled_from([0, 0, 1]),
    weight=st.sampled_from([None, None, 2.0]),
)
policies = st.builds(
    Policy,
    queues=st.fixed_dictionaries({}, optional=dict.fromkeys(QUEUES, rules)),
    kinds=st.sampled_from([{}, {}, {"environment": frozenset({"T4"})}]),
)


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    free = [_node(draw, name) for name in NAMES]
    room = Room(free)
    running = []
    for number, gang in enumerate(draw(st.lists(gangs, min_size=2, max_size=9))):
        places = room.place(gang)
        if places is not None:
            running.append(_running(draw, number, gang, places))
    waiting = [_waiting(draw, n, gang) for n, gang in enumerate(draw(st.lists(gangs, max_size=7)))]
    guaranteed = st.sampled_from([0, 1000, 4000])
    quotas = Quotas(
        users={"alice": Quota(models={"T4": 2000})} if draw(st.booleans()) else {},
        groups={name: Quota(guaranteed=draw(guaranteed)) for name in ("a", "b")},
        user=draw(st.sampled_from([None, None, Quota(gpus=4000)])),
    )
    states = [_state(room, at) for at in range(len(free))]
    ordered = sorted(waiting, key=lambda job: job.order)
    return Snapshot(100.0, states, ordered, running, quotas=quotas)


@st.composite
def fragmented(draw: st.DrawFn) -> Snapshot:
    """Small preemptible jobs on every node, and a first job that needs a whole one."""
    snapshot = draw(clusters())
    gpus = tuple(GpuState(i, "T4") for i in range(4))
    room = Room([NodeState(name, 64.0, 64, 64.0, 64, gpus) for name in NAMES])
    shape = Shape(cpus=1.0, memory=1, gpus=1)
    running = []
    for name in NAMES:
        for index in range(draw(st.integers(1, 2))):
            place = (Placement(name, (index,)),)
            room.take((shape,), place)
            job = _running(draw, len(running), (shape,), place)
            job = replace(job, latest_end=90_000.0, kind="train", preemptible=True, movable=True)
            running.append(job)
    large = Waiting("large", "u/large-1", "bob", -1, 3, (replace(shape, gpus=4),))
    states = [_state(room, at) for at in range(len(NAMES))]
    waiting = [large, *snapshot.waiting]
    return replace(snapshot, nodes=states, running=running, waiting=waiting)


tidy = st.builds(
    Policy,
    queues=st.fixed_dictionaries(
        dict.fromkeys(QUEUES, rules.map(lambda one: replace(one, consolidate=True, nodes=None)))
    ),
)


def _node(draw: st.DrawFn, name: str) -> NodeState:
    models = draw(st.sampled_from([("T4",) * 4, ("T4",) * 4, ("A100",) * 4, ("T4", "T4", "A100")]))
    gpus = tuple(GpuState(i, model) for i, model in enumerate(models))
    cpus = draw(st.sampled_from([8.0, 64.0]))
    return NodeState(name, cpus, 64, cpus, 64, gpus, up=draw(st.integers(0, 9)) > 0)


def _running(
    draw: st.DrawFn, number: int, gang: tuple[Shape, ...], places: tuple[Placement, ...]
) -> Running:
    gpus: dict[str, tuple[int, ...]] = {}
    for place in places:
        if place.gpus:
            gpus[place.node] = (*gpus.get(place.node, ()), *place.gpus)
    preemptible = draw(st.sampled_from([True, True, False]))
    return Running(
        f"r{number}",
        f"u/r{number}-1",
        draw(st.sampled_from(["alice", "bob"])),
        float(draw(st.integers(0, 90))),
        draw(st.sampled_from([None, 500.0, 90_000.0, 90_000.0])),
        gpus,
        gang,
        places,
        group=draw(st.sampled_from(GROUPS)),
        queue=draw(st.sampled_from(QUEUES)),
        kind=draw(st.sampled_from(["train", "train", "environment"])),
        priority=draw(st.integers(0, 2)),
        preemptible=preemptible,
        movable=preemptible,
    )


def _waiting(draw: st.DrawFn, number: int, gang: tuple[Shape, ...]) -> Waiting:
    array = draw(st.sampled_from([None, None, "x"]))
    return Waiting(
        f"w{number}",
        f"u/w{number}-1",
        draw(st.sampled_from(["alice", "bob"])),
        number,
        draw(st.integers(0, 2)),
        gang,
        array=array,
        array_limit=None if array is None else 2,
        group=draw(st.sampled_from(GROUPS)),
        queue=draw(st.sampled_from(QUEUES)),
        kind=draw(st.sampled_from(["train", "train", "environment"])),
        submitted=float(draw(st.integers(0, 100))),
        time_limit=draw(limits),
        preemptible=draw(st.booleans()),
    )


def _state(room: Room, at: int) -> NodeState:
    node, free = room.nodes[at], room.room_of(at)
    gpus = tuple(replace(gpu, free=left) for gpu, left in zip(node.gpus, free.gpus, strict=True))
    return replace(node, cpus_free=free.millicpus / 1000, memory_free=free.memory, gpus=gpus)


def test_nothing_is_given_twice_and_every_start_and_move_is_allowed() -> None:
    seen: Counter[str] = Counter()

    @given(clusters() | fragmented(), policies | tidy)
    @settings(max_examples=300, deadline=None)
    def holds(snapshot: Snapshot, policy: Policy) -> None:
        decision = decide(snapshot, policy)
        seen.update(moves=len(decision.moves))
        target(float(len(decision.moves)))
        _all_is_allowed(snapshot, policy, decision)

    holds()
    assert seen["moves"] >= 10, "jobs are moved in many of the examples"


def _all_is_allowed(snapshot: Snapshot, policy: Policy, decision: Decision) -> None:
    waiting = {job.job_id: job for job in snapshot.waiting}
    running = {job.job_id: job for job in snapshot.running}
    taken = [(waiting[s.job_id], s.places) for s in decision.starts]
    going: list[tuple[Waiting | Running, tuple[Placement, ...]]] = [*taken]
    going += [(running[move.job_id], move.places) for move in decision.moves]
    states = {node.name: node for node in snapshot.nodes}
    used: Counter[tuple[str, int | str]] = Counter()
    for job, places in going:
        assert len(places) == len(job.shapes), "gangs are whole"
        only = policy.queue(job.queue).nodes
        for shape, place in zip(job.shapes, places, strict=True):
            node = states[place.node]
            assert node.up and (only is None or node.name in only)
            used[node.name, "cpus"] += round(shape.cpus * 1000)
            used[node.name, "memory"] += shape.memory
            for index in place.gpus:
                model = next(gpu.model for gpu in node.gpus if gpu.index == index)
                assert shape.model in (None, model)
                allowed = policy.kinds.get(job.kind)
                assert allowed is None or model in allowed
                used[node.name, index] += shape.share or WHOLE
    for node in snapshot.nodes:
        assert used[node.name, "cpus"] <= round(node.cpus_free * 1000)
        assert used[node.name, "memory"] <= node.memory_free
        assert all(used[node.name, gpu.index] <= gpu.free for gpu in node.gpus)
    _quotas_kept(snapshot, policy, decision)


def _quotas_kept(snapshot: Snapshot, policy: Policy, decision: Decision) -> None:
    before, after = Limits(snapshot, policy), Limits(snapshot, policy)
    running = {job.job_id: job for job in snapshot.running}
    waiting = {job.job_id: job for job in snapshot.waiting}
    for move in decision.moves:
        after.moved(running[move.job_id], move.places)
    for start in decision.starts:
        after.started(waiting[start.job_id], start.places)
    for name, quota in snapshot.quotas.users.items():
        for model, most in quota.models.items():
            had = before.tally.users[name].of_model(model) if name in before.tally.users else 0
            has = after.tally.users[name].of_model(model) if name in after.tally.users else 0
            assert has <= max(most, had)
    elements = Counter(j.array for j in snapshot.waiting if j.array and _begins(decision, j))
    assert all(count <= 2 for count in elements.values())


def _begins(decision: Decision, job: Waiting) -> bool:
    return any(start.job_id == job.job_id for start in decision.starts)


@given(clusters() | fragmented(), policies | tidy)
@settings(max_examples=300, deadline=None)
def test_nobody_is_ended_twice_and_everything_that_ends_lets_its_claimant_start(
    snapshot: Snapshot, policy: Policy
) -> None:
    decision = decide(snapshot, policy)
    disturbed = [one.job_id for one in (*decision.preempts, *decision.moves)]
    assert len(set(disturbed)) == len(disturbed)
    running = {job.job_id: job for job in snapshot.running}
    assert all(running[job_id].preemptible for job_id in disturbed)
    claimants = {one.by for one in (*decision.preempts, *decision.moves)}
    assert claimants <= {claim.job_id for claim in decision.claims}
    if claimants:
        starts = {start.job_id for start in decide(_afterwards(snapshot, decision), policy).starts}
        assert claimants <= starts


def _afterwards(snapshot: Snapshot, decision: Decision) -> Snapshot:
    """Everything decided has been done, and those who were ended wait again."""
    room = Room(snapshot.nodes)
    waiting = {job.job_id: job for job in snapshot.waiting}
    running = {job.job_id: job for job in snapshot.running}
    for start in decision.starts:
        job = waiting.pop(start.job_id)
        room.take(job.shapes, start.places)
        running[job.job_id] = _begun(job, start.places, snapshot.now)
    for move in decision.moves:
        moved = running[move.job_id]
        room.free(moved.shapes, moved.places)
        room.take(moved.shapes, move.places)
        running[move.job_id] = replace(moved, places=move.places)
    for preempt in decision.preempts:
        gone = running.pop(preempt.job_id)
        room.free(gone.shapes, gone.places)
        waiting[gone.job_id] = _again(gone, snapshot.now)
    return replace(
        snapshot,
        nodes=[_state(room, at) for at in range(len(snapshot.nodes))],
        waiting=sorted(waiting.values(), key=lambda job: job.order),
        running=list(running.values()),
        memory=decision.memory,
        claims=decision.claims,
        array_active=Counter(j.array for j in snapshot.waiting if j.array and _begins(decision, j)),
    )


def _begun(job: Waiting, places: tuple[Placement, ...], now: float) -> Running:
    gpus: dict[str, tuple[int, ...]] = {}
    for place in places:
        gpus[place.node] = (*gpus.get(place.node, ()), *place.gpus)
    end = None if job.time_limit is None else now + job.time_limit
    return Running(
        job.job_id,
        job.ref,
        job.owner,
        now,
        end,
        gpus,
        job.shapes,
        places,
        job.group,
        job.queue,
        job.kind,
        priority=job.priority,
        preemptible=job.preemptible,
        movable=job.preemptible,
    )


def _again(job: Running, now: float) -> Waiting:
    """An old job: it came before all that wait."""
    return Waiting(
        job.job_id,
        job.ref,
        job.owner,
        -1,
        job.priority,
        job.shapes,
        group=job.group,
        queue=job.queue,
        kind=job.kind,
        submitted=0.0,
        since=now,
        preemptible=True,
    )


@given(clusters(), policies)
@settings(max_examples=300, deadline=None)
def test_only_what_somebody_else_has_by_right_is_reclaimed(
    snapshot: Snapshot, policy: Policy
) -> None:
    decision = decide(snapshot, policy)
    held: Counter[str] = Counter()
    for job in snapshot.running:
        held[job.group or f"~{job.owner}"] += amount(job.shapes)
    waiting = {job.job_id: job for job in snapshot.waiting}
    running = {job.job_id: job for job in snapshot.running}
    for preempt in decision.preempts:
        by, gone = waiting[preempt.by], running[preempt.job_id]
        assert amount(by.shapes) and amount(gone.shapes)
        less_urgent = gone.priority < by.priority and gone.queue == by.queue
        urgent = policy.queue(by.queue).preempt == LOWER_PRIORITY and less_urgent
        own = snapshot.quotas.groups[by.group].guaranteed if by.group else 0
        victim = snapshot.quotas.groups[gone.group].guaranteed if gone.group else 0
        lent = own > 0 and by.group != gone.group and held[gone.group or f"~{gone.owner}"] > victim
        assert urgent or lent


@given(clusters() | fragmented(), policies | tidy)
@settings(max_examples=100, deadline=None)
def test_every_verified_suggestion_is_true_by_edit(snapshot: Snapshot, policy: Policy) -> None:
    for job in snapshot.waiting:
        for one in explain(snapshot, policy, job.job_id).suggestions:
            if one.effect is not Effect.STARTS_NOW:
                continue
            assert one.job is not None
            queue = [one.job if each is job else each for each in snapshot.waiting]
            starts = decide(replace(snapshot, waiting=queue), policy).starts
            assert job.job_id in {start.job_id for start in starts}, one


@given(clusters(), policies)
@settings(max_examples=300, deadline=None)
def test_every_waiting_job_has_a_cause(snapshot: Snapshot, policy: Policy) -> None:
    begun = {start.job_id for start in decide(snapshot, policy).starts}
    for job in snapshot.waiting:
        found = explain(snapshot, policy, job.job_id, suggest=False)
        assert found.starts_now == (job.job_id in begun)
        kinds = {cause.kind for cause in found.causes}
        assert kinds
        assert (kinds == {CauseKind.STARTING}) == found.starts_now
