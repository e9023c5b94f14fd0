"""What holds for every cluster and every queue."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.sched.api import (
    WHOLE,
    CauseKind,
    Decision,
    Effect,
    GpuState,
    Mix,
    NodeState,
    Policy,
    QueuePolicy,
    Quota,
    Quotas,
    Running,
    Snapshot,
    SuggestionKind,
    Waiting,
)
from danlu.sched.api import TaskShape as Shape
from danlu.sched.backfill.timeline import end_of
from danlu.sched.decide import decide
from danlu.sched.explain.explain import explain
from danlu.sched.place.free import emptied
from danlu.sched.place.place import Room
from danlu.sched.quota import Tally
from danlu.spec.placement import Placement

MODELS = ("3090", "A100")
OWNERS = ("alice", "bob")

shapes = st.builds(
    Shape,
    cpus=st.sampled_from([0.5, 1.0, 4.0, 12.0]),
    memory=st.sampled_from([1, 8, 40]),
    gpus=st.integers(0, 4),
    model=st.sampled_from([None, None, *MODELS]),
    labels=st.sampled_from([frozenset(), frozenset(), frozenset({"fast"})]),
) | st.builds(
    Shape,
    cpus=st.sampled_from([0.5, 2.0]),
    memory=st.just(1),
    share=st.sampled_from([250, 330, 500, 800]),
    model=st.sampled_from([None, *MODELS]),
)

limits = st.sampled_from([None, 600.0, 3600.0, 36_000.0])
gangs = st.lists(shapes, min_size=1, max_size=3).map(tuple)


@st.composite
def nodes(draw: st.DrawFn) -> list[NodeState]:
    found = []
    for number in range(draw(st.integers(1, 5))):
        count = draw(st.integers(0, 4))
        models = draw(st.lists(st.sampled_from(MODELS), min_size=count, max_size=count))
        gpus = tuple(GpuState(i, model) for i, model in enumerate(models))
        cpus = draw(st.sampled_from([4.0, 16.0, 64.0]))
        found.append(
            NodeState(
                f"n{number}",
                cpus,
                64,
                cpus,
                64,
                gpus,
                up=draw(st.integers(0, 7)) > 0,
                drained=draw(st.integers(0, 7)) == 0,
                labels=draw(st.sampled_from([frozenset(), frozenset({"fast"})])),
            )
        )
    return found


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    """Some jobs run, others wait; whoever runs was placed by the scheduler itself."""
    free = draw(nodes())
    room = Room(free)
    running = []
    for number, gang in enumerate(draw(st.lists(gangs, max_size=4))):
        places = room.place(gang)
        if places is not None:
            end = draw(limits)
            running.append(_run(f"r{number}", gang, places, draw(st.sampled_from(OWNERS)), end))
    waiting = [
        Waiting(
            f"w{number}",
            f"u/w{number}-1",
            draw(st.sampled_from(OWNERS)),
            number,
            0,
            gang,
            group="lab",
            queue=draw(st.sampled_from(["default", "side"])),
            time_limit=draw(limits),
        )
        for number, gang in enumerate(draw(st.lists(gangs, max_size=7)))
    ]
    quotas = Quotas(
        users={"alice": Quota(gpus=draw(st.integers(0, 6)) * 1000)} if draw(st.booleans()) else {},
        groups={"lab": Quota(models={"A100": 2000}, cpus=40.0)} if draw(st.booleans()) else {},
    )
    states = [_state(room, at) for at in range(len(free))]
    return Snapshot(0.0, states, waiting, running, quotas=quotas)


policies = st.builds(
    Policy,
    name=st.sampled_from(["fifo", "fifo", "easy", "fair", "short-first"]),
    place=st.sampled_from(["tight", "spread", "server", "gpu", "person", "learned"]),
    backfill=st.booleans(),
    queues=st.sampled_from([{}, {"side": QueuePolicy(nodes=frozenset({"n0", "n1"}))}]),
)


def _run(
    name: str,
    gang: tuple[Shape, ...],
    places: tuple[Placement, ...],
    owner: str,
    end: float | None,
) -> Running:
    gpus: dict[str, tuple[int, ...]] = {}
    for place in places:
        if place.gpus:
            gpus[place.node] = (*gpus.get(place.node, ()), *place.gpus)
    return Running(name, f"u/{name}-1", owner, 0.0, end, gpus, gang, places, group="lab")


def _state(room: Room, at: int) -> NodeState:
    node, free = room.nodes[at], room.room_of(at)
    gpus = tuple(replace(gpu, free=left) for gpu, left in zip(node.gpus, free.gpus, strict=True))
    return replace(node, cpus_free=free.millicpus / 1000, memory_free=free.memory, gpus=gpus)


def _by_id(snapshot: Snapshot) -> dict[str, Waiting]:
    return {job.job_id: job for job in snapshot.waiting}


def _check_room(snapshot: Snapshot, policy: Policy, decision: Decision) -> None:
    used: dict[tuple[str, int], int] = {}
    cpus: dict[str, float] = {}
    memory: dict[str, int] = {}
    states = {node.name: node for node in snapshot.nodes}
    jobs = _by_id(snapshot)
    for start in decision.starts:
        job = jobs[start.job_id]
        assert len(start.places) == len(job.shapes)
        for shape, place in zip(job.shapes, start.places, strict=True):
            node = states[place.node]
            only = policy.queue(job.queue).nodes
            assert node.up and not node.drained
            assert shape.labels <= node.labels
            assert only is None or node.name in only
            assert len(set(place.gpus)) == len(place.gpus) == (1 if shape.share else shape.gpus)
            cpus[node.name] = cpus.get(node.name, 0) + shape.cpus
            memory[node.name] = memory.get(node.name, 0) + shape.memory
            for index in place.gpus:
                gpu = next(gpu for gpu in node.gpus if gpu.index == index)
                assert shape.model in (None, gpu.model)
                key = (node.name, index)
                used[key] = used.get(key, 0) + (shape.share or WHOLE)
    for node in snapshot.nodes:
        assert cpus.get(node.name, 0) <= node.cpus_free + 1e-9
        assert memory.get(node.name, 0) <= node.memory_free
        for gpu in node.gpus:
            assert used.get((node.name, gpu.index), 0) <= gpu.free


@given(clusters(), policies)
@settings(max_examples=200, deadline=None)
def test_gangs_are_whole_no_gpu_is_given_twice_and_no_node_holds_too_much(
    snapshot: Snapshot, policy: Policy
) -> None:
    _check_room(snapshot, policy, decide(snapshot, policy))


@given(clusters(), policies)
@settings(max_examples=100, deadline=None)
def test_quotas_are_kept(snapshot: Snapshot, policy: Policy) -> None:
    tally = Tally.of(snapshot)
    jobs = _by_id(snapshot)
    before = {name: held.gpus for name, held in tally.users.items()}
    for start in decide(snapshot, policy).starts:
        tally.started(jobs[start.job_id], start.places)
    for name, quota in snapshot.quotas.users.items():
        held = tally.users.get(name)
        if held is not None and quota.gpus is not None:
            assert held.gpus <= max(quota.gpus, before.get(name, 0))
    group = tally.groups.get("lab")
    for quota in snapshot.quotas.groups.values():
        if group is not None and group.gpus > sum(before.values()):
            running_a100 = _a100(snapshot)
            assert group.of_model("A100") <= max(quota.models["A100"], running_a100)


def _a100(snapshot: Snapshot) -> int:
    group = Tally.of(snapshot).groups.get("lab")
    return 0 if group is None else group.of_model("A100")


@given(clusters(), policies)
@settings(max_examples=50, deadline=None)
def test_the_same_question_has_the_same_answer(snapshot: Snapshot, policy: Policy) -> None:
    assert decide(snapshot, policy) == decide(snapshot, policy)


@given(clusters(), st.sampled_from(["tight", "spread", "gpu"]))
@settings(max_examples=50, deadline=None)
def test_names_of_nodes_do_not_matter(snapshot: Snapshot, order: str) -> None:
    names = {node.name: f"x{9 - at}" for at, node in enumerate(snapshot.nodes)}
    renamed = replace(
        snapshot,
        nodes=[replace(node, name=names[node.name]) for node in snapshot.nodes],
        running=[
            replace(
                job,
                gpus={names[node]: gpus for node, gpus in job.gpus.items()},
                places=tuple(replace(place, node=names[place.node]) for place in job.places),
            )
            for job in snapshot.running
        ],
    )
    policy = Policy(place=order)
    plain = replace(snapshot, quotas=Quotas())
    before = decide(plain, policy).starts
    after = decide(replace(renamed, quotas=Quotas()), policy).starts
    assert [(s.job_id, [names[p.node] for p in s.places]) for s in before] == [
        (s.job_id, [p.node for p in s.places]) for s in after
    ]


@given(nodes(), st.lists(shapes, max_size=12))
@settings(max_examples=200, deadline=None)
def test_the_sorted_table_finds_what_looking_at_every_node_finds(
    free: list[NodeState], asked: list[Shape]
) -> None:
    sorted_room, plain = Room(free), Room(free)
    sorted_room._asked = 99
    for shape in asked:
        plain._index, plain._asked = None, 0
        assert sorted_room.place((shape,)) == plain.place((shape,))


@given(nodes(), st.lists(shapes, max_size=12), st.lists(shapes, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_packing_for_a_mix_refuses_nothing_that_fits(
    free: list[NodeState], asked: list[Shape], usual: list[Shape]
) -> None:
    learned = Room(free, "learned", Mix(dict.fromkeys(usual, 1)))
    for shape in asked:
        fits = any(learned.room_of(at).fits(learned._need(shape)) for at in range(len(free)))
        suitable = learned.suitable(shape, None)
        if suitable is not None:
            fits = any(
                suitable[at] and learned.room_of(at).fits(learned._need(shape))
                for at in range(len(free))
            )
        assert (learned.place((shape,)) is not None) == fits


@given(nodes(), gangs)
@settings(max_examples=60, deadline=None)
def test_giving_back_what_was_taken_leaves_no_trace(
    free: list[NodeState], gang: tuple[Shape, ...]
) -> None:
    room = Room(free)
    places = room.place(gang)
    if places is not None:
        room.free(gang, places)
    for at, node in enumerate(free):
        assert _state(room, at) == node


@given(clusters(), policies)
@settings(max_examples=60, deadline=None)
def test_every_waiting_job_has_causes_an_estimate_and_true_suggestions(
    snapshot: Snapshot, policy: Policy
) -> None:
    begun = {start.job_id for start in decide(snapshot, policy).starts}
    for job in snapshot.waiting:
        found = explain(snapshot, policy, job.job_id)
        assert found.starts_now == (job.job_id in begun)
        assert found.causes
        assert found.eta is not None
        assert (found.eta.p50 is None) == (found.eta.why is not None), "when, or why nobody knows"
        assert found.starts_now or found.eta.p50 is None or found.eta.p50 > snapshot.now
        for one in found.suggestions:
            assert (one.effect is Effect.NO_CHANGE) == (not one.nodes)
            if one.kind is SuggestionKind.WAIT_FOR:
                assert job.job_id in _begun_at(snapshot, policy, one.at or 0.0)


@given(clusters(), policies)
@settings(max_examples=100, deadline=None)
def test_every_verified_suggestion_of_a_start_is_true_when_the_job_is_changed(
    snapshot: Snapshot, policy: Policy
) -> None:
    for job in snapshot.waiting:
        for one in explain(snapshot, policy, job.job_id).suggestions:
            if one.effect is not Effect.STARTS_NOW:
                continue
            assert one.job is not None
            queue = [one.job if each is job else each for each in snapshot.waiting]
            changed = replace(snapshot, waiting=queue)
            starts = {start.job_id for start in decide(changed, policy).starts}
            assert job.job_id in starts, one


def _begun_at(snapshot: Snapshot, policy: Policy, at: float) -> set[str]:
    """Who starts once everything has ended that is planned to end by then."""
    left = [job for job in snapshot.running if end_of(job, snapshot.now) > at]
    room = Room(snapshot.nodes)
    for job in snapshot.running:
        if job not in left:
            room.free(job.shapes, job.places)
    nodes = [_state(room, place) for place in range(len(snapshot.nodes))]
    later = replace(snapshot, now=at, running=left, nodes=nodes)
    return {start.job_id for start in decide(later, policy).starts}


@given(clusters(), policies)
@settings(max_examples=50, deadline=None)
def test_a_decision_that_stands_explains_as_well_as_a_new_one(
    snapshot: Snapshot, policy: Policy
) -> None:
    decision = decide(snapshot, policy)
    if not decision.starts:
        for job in snapshot.waiting:
            known = explain(snapshot, policy, job.job_id, decision=decision)
            assert known == explain(snapshot, policy, job.job_id)


@given(clusters(), policies)
@settings(max_examples=100, deadline=None)
def test_without_what_is_named_as_the_cause_the_job_starts(
    snapshot: Snapshot, policy: Policy
) -> None:
    """The counterfactual of every explanation: take the named blockers away, and it starts."""
    begun = {start.job_id for start in decide(snapshot, policy).starts}
    for job in snapshot.waiting:
        if job.job_id in begun:
            continue
        kinds = {cause.kind for cause in explain(snapshot, policy, job.job_id).causes}
        without = _without(snapshot, policy, job, kinds)
        starts = {start.job_id for start in decide(*without).starts}
        assert (job.job_id in starts) == (not kinds & NEVER), kinds


NEVER = {
    CauseKind.TOO_LARGE,
    CauseKind.MODEL_ABSENT,
    CauseKind.LABEL_ABSENT,
    CauseKind.NODES_NAMED,
}


def _without(
    snapshot: Snapshot, policy: Policy, job: Waiting, kinds: set[CauseKind]
) -> tuple[Snapshot, Policy]:
    if kinds & {CauseKind.QUOTA_USER, CauseKind.QUOTA_GROUP, *NEVER}:
        job = replace(job, owner="nobody", group=None)
    queue = [job if other.job_id == job.job_id else other for other in snapshot.waiting]
    changed = replace(snapshot, waiting=queue)
    if kinds & {CauseKind.BEHIND, CauseKind.RESERVED, *NEVER}:
        changed = replace(changed, waiting=[job])
    if kinds & {CauseKind.NO_ROOM, CauseKind.CLUSTER_FULL, *NEVER}:
        # What runs and what starts before it holds the room.
        empty = [emptied(node) for node in snapshot.nodes]
        changed = replace(changed, running=(), waiting=[job], nodes=empty)
    return changed, policy
