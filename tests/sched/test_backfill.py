"""Who may go before whom: the promises of `fifo`, the reservation of `easy`, and what is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.sched.api import (
    CauseKind,
    Decision,
    GpuState,
    Mix,
    NodeState,
    Policy,
    QueuePolicy,
    Running,
    Snapshot,
    TaskShape,
)
from danlu.sched.decide import decide
from danlu.sched.simulate import Arrival, Simulation
from danlu.spec.placement import Placement
from tests.sched.cluster import cluster, job

MACHINE = NodeState("m", 8, 64, 8, 64, tuple(GpuState(i, "A100") for i in range(4)))
ORDERS = ("fifo", "easy", "fair", "short-first")


def arrivals(sizes: list[tuple[int, int, int, int, int]]) -> list[Arrival]:
    """(pause before it, run time, CPUs, memory, GPUs) of each."""
    found, now = [], 0
    for i, (pause, run, cpus, memory, gpus) in enumerate(sizes):
        now += pause
        shapes = (TaskShape(cpus, memory, gpus),)
        found.append(Arrival(str(i), now, run, shapes, limit=run))
    return found


lists = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.integers(1, 60),
        st.integers(1, 8),
        st.integers(0, 64),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=25,
).map(arrivals)


def starts(jobs: list[Arrival], order: str, backfill: bool = True) -> dict[str, float]:
    return Simulation([MACHINE], Policy(order, backfill=backfill)).run(jobs).starts


@settings(max_examples=150, deadline=None)
@given(lists)
def test_under_fifo_with_exact_run_times_nobody_starts_later_than_if_nobody_overtook(
    jobs: list[Arrival],
) -> None:
    plain = starts(jobs, "fifo", backfill=False)
    real = starts(jobs, "fifo")
    assert {i for i in plain if real[i] > plain[i]} == set()


gangs = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.integers(1, 60),
        st.sampled_from(((1, 0, 1), (4, 0, 2), (1, 0, 4), (8, 0, 0), (2, 500, 0), (6, 300, 0))),
        st.sampled_from((1, 1, 1, 2, 3)),
    ),
    min_size=1,
    max_size=25,
)


@pytest.mark.parametrize("place", ["tight", "spread"])
@settings(max_examples=100, deadline=None)
@given(gangs)
def test_so_it_is_on_several_nodes_with_gangs_and_shares_of_gpus(
    place: str, sizes: list[tuple[int, int, tuple[int, int, int], int]]
) -> None:
    jobs, now = [], 0
    for i, (pause, run, (cpus, share, gpus), tasks) in enumerate(sizes):
        now += pause
        shapes = (TaskShape(cpus, 0, gpus, share),) * tasks
        jobs.append(Arrival(str(i), now, run, shapes, limit=run))
    nodes = [
        NodeState(name, 8, 0, 8, 0, tuple(GpuState(i, "A100") for i in range(4)))
        for name in ("n1", "n2", "n3")
    ]
    plain = Simulation(nodes, Policy("fifo", place, backfill=False)).run(jobs).starts
    real = Simulation(nodes, Policy("fifo", place)).run(jobs).starts
    assert set(real) == {one.job_id for one in jobs}
    assert {i for i in plain if real[i] > plain[i]} == set()


FOUR = tuple(GpuState(i, "A100") for i in range(4))
OVERLAPPING = {
    "p": None,
    "q": frozenset({"n1"}),
    "default": frozenset({"n1", "n2"}),
}


MIX = Mix({TaskShape(1, 0, 1): 5, TaskShape(4, 0, 2): 3, TaskShape(2, 0, 0, 500): 4})


def with_mix(snapshot: Snapshot, policy: Policy) -> Decision:
    return decide(replace(snapshot, mix=MIX), policy)


@pytest.mark.parametrize("place", ["tight", "spread", "learned"])
@settings(max_examples=80, deadline=None)
@given(gangs, st.lists(st.sampled_from(sorted(OVERLAPPING)), min_size=25, max_size=25))
def test_so_it_is_across_queues_that_share_some_of_their_nodes(
    place: str, sizes: list[tuple[int, int, tuple[int, int, int], int]], queues: list[str]
) -> None:
    """Without overtaking, they are one queue whose jobs name their nodes."""
    own, one, now = [], [], 0
    for i, (pause, run, (cpus, share, gpus), _) in enumerate(sizes):
        now += pause
        shape = TaskShape(cpus, 0, gpus, share)
        own.append(Arrival(str(i), now, run, (shape,), limit=run, queue=queues[i]))
        bound = replace(shape, include=OVERLAPPING[queues[i]] or frozenset())
        one.append(Arrival(str(i), now, run, (bound,), limit=run))
    nodes = [NodeState(name, 8, 0, 8, 0, FOUR) for name in ("n1", "n2", "n3")]
    rules = {name: QueuePolicy("fifo", place, some) for name, some in OVERLAPPING.items()}
    strict = Policy("fifo", place, backfill=False)
    plain = Simulation(nodes, strict, decide=with_mix).run(one).starts
    policy = Policy("fifo", place, queues=rules)
    real = Simulation(nodes, policy, decide=with_mix).run(own).starts
    assert {i for i in plain if real[i] > plain[i]} == set()


def test_an_idle_node_is_used_though_only_a_queue_on_another_node_waited_before() -> None:
    """`d` may use both nodes; the jobs of `q`, which came first, only n1."""
    whole = (TaskShape(1, 0, 4),)
    jobs = [
        Arrival("a", 0, 30, whole, limit=30, queue="q"),
        Arrival("b", 1, 40, whole, limit=40, queue="q"),
        Arrival("c", 2, 40, whole, limit=40, queue="q"),
        Arrival("d", 35, 50, whole, limit=50),
    ]
    nodes = [NodeState(name, 8, 0, 8, 0, FOUR) for name in ("n1", "n2")]
    policy = Policy(queues={"q": QueuePolicy(nodes=frozenset({"n1"}))})
    starts = Simulation(nodes, policy).run(jobs).starts
    assert starts == {"a": 0, "b": 30, "c": 70, "d": 35}


def test_a_place_that_is_needed_soon_goes_only_to_what_ends_before() -> None:
    """`first` gets n2 at 50, when the two GPUs there come free; two others are free already."""
    jobs = [
        Arrival("n1 busy", 0, 100, (TaskShape(0, 0, 4),), limit=100),
        Arrival("n2 half busy", 0, 50, (TaskShape(0, 0, 2),), limit=50),
        Arrival("first", 1, 100, (TaskShape(0, 0, 4),), limit=100),
        Arrival("too long", 2, 60, (TaskShape(0, 0, 2),), limit=60),
        Arrival("short", 3, 47, (TaskShape(0, 0, 2),), limit=47),
    ]
    nodes = [
        NodeState(name, 0, 0, 0, 0, tuple(GpuState(i, "A100") for i in range(4)))
        for name in ("n1", "n2")
    ]
    told: dict[str, object] = {}

    def watch(_: Snapshot, decision: Decision) -> None:
        told.update({one.job_id: one.cause.numbers.get("ref") for one in decision.kept})

    starts = Simulation(nodes, Policy("fifo")).run(jobs, watch).starts
    assert starts["short"] == 3
    assert starts["first"] == 50
    assert starts["too long"] == 100
    assert told["too long"] == "first"


def test_whoever_has_been_overtaken_is_not_delayed_by_an_earlier_job_that_moves_up() -> None:
    """The last but three is overtaken by the last two; then one from before it may move up, only
    if it still gets its room in time beside those two."""
    sizes = (
        (0, 13261, 16),
        (364, 14968, 32),
        (1686, 6838, 256),
        (2028, 9012, 32),
        (2348, 15008, 1),
        (2448, 13360, 98),
        (2604, 10389, 64),
        (3550, 6380, 128),
        (3692, 13089, 3),
        (4362, 14033, 16),
        (5740, 16359, 8),
        (5830, 18049, 1),
        (14622, 10058, 16),
        (20746, 24311, 2),
    )
    jobs = [
        Arrival(str(i), submit, run, (TaskShape(cpus, 0),), limit=run)
        for i, (submit, run, cpus) in enumerate(sizes)
    ]
    machine = NodeState("m", 256, 0, 256, 0)
    plain = Simulation([machine], Policy("fifo", backfill=False)).run(jobs).starts
    real = Simulation([machine], Policy("fifo")).run(jobs).starts
    assert {i for i in plain if real[i] > plain[i]} == set()
    assert any(real[i] < plain[i] for i in plain)


@settings(max_examples=40, deadline=None)
@given(lists, st.sampled_from(ORDERS))
def test_every_job_starts_in_the_end_and_the_same_input_gives_the_same_output(
    jobs: list[Arrival], order: str
) -> None:
    first = starts(jobs, order)
    assert set(first) == {one.job_id for one in jobs}
    assert starts(jobs, order) == first


@settings(max_examples=60, deadline=None)
@given(lists)
def test_a_job_whose_room_is_reserved_starts_by_then(jobs: list[Arrival]) -> None:
    promised: dict[str, float] = {}

    def watch(_: Snapshot, decision: Decision) -> None:
        for one in decision.reservations:
            promised.setdefault(one.job_id, one.at)

    nodes = [MACHINE, NodeState("n", 8, 64, 8, 64, MACHINE.gpus)]
    outcome = Simulation(nodes, Policy("easy")).run(jobs, watch)
    assert {i for i, at in promised.items() if outcome.starts[i] > at} == set()


def test_nobody_overtakes_where_run_times_are_unknown() -> None:
    snapshot = cluster("n1 8x3090 -4", job("a", "8", 1), job("b", "1", 2))
    decision = decide(snapshot, Policy())
    assert decision.starts == ()
    assert decision.head == "a"


def running(name: str, gpus: tuple[int, ...], end: float | None) -> Running:
    place = Placement("n1", gpus)
    shape = TaskShape(1, 1, len(gpus))
    return Running(
        name, f"u/{name}-1", "u", -10.0, end, {"n1": gpus}, (shape,), (place,), expected_end=end
    )


@pytest.mark.parametrize("order", ["fifo", "easy"])
def test_a_later_job_that_ends_in_time_goes_first_and_both_are_told(order: str) -> None:
    snapshot = cluster(
        "n1 8x3090 -4",
        job("big", "8", 1, time_limit=100.0),
        job("short", "1", 2, time_limit=50.0),
        running=(running("r", (0, 1, 2, 3), 60.0),),
    )
    decision = decide(snapshot, Policy(order))
    (start,) = decision.starts
    assert start.job_id == "short"
    assert start.overtook == ("big",)
    assert start.until == 50.0


@pytest.mark.parametrize("order", ["fifo", "easy"])
def test_a_later_job_that_would_delay_the_first_stays_back_and_is_told_why(order: str) -> None:
    snapshot = cluster(
        "n1 8x3090 -4",
        job("big", "8", 1, time_limit=100.0),
        job("long", "1", 2, time_limit=90.0),
        running=(running("r", (0, 1, 2, 3), 60.0),),
    )
    decision = decide(snapshot, Policy(order))
    assert decision.starts == ()
    (kept,) = decision.kept
    assert kept.job_id == "long"
    assert kept.cause.kind is CauseKind.RESERVED
    assert kept.cause.numbers == {"ref": "u/big-1", "at": 60.0}


def test_a_long_job_may_use_a_node_that_the_first_does_not_need() -> None:
    snapshot = cluster(
        "n1 8x3090 -4\nn2 2x3090",
        job("big", "8", 1, time_limit=100.0),
        job("long", "1", 2, time_limit=9000.0),
        running=(running("r", (0, 1, 2, 3), 60.0),),
    )
    (start,) = decide(snapshot, Policy("easy")).starts
    assert start.job_id == "long"
    assert start.places[0].node == "n2"


def test_without_backfill_nobody_goes_first() -> None:
    snapshot = cluster(
        "n1 8x3090 -4",
        job("big", "8", 1, time_limit=100.0),
        job("short", "1", 2, time_limit=5.0),
        running=(running("r", (0, 1, 2, 3), 60.0),),
    )
    assert decide(snapshot, Policy("fifo", backfill=False)).starts == ()


def test_a_promise_stands_when_a_job_ends_early() -> None:
    """What ends before its limit brings everybody's promise forward, not backward."""
    jobs = [
        Arrival("a", 0, 10, (TaskShape(8, 0),), limit=100),
        Arrival("b", 1, 50, (TaskShape(8, 0),), limit=50),
        Arrival("c", 2, 5, (TaskShape(1, 0),), limit=5),
    ]
    found = Simulation([MACHINE], Policy()).run(jobs).starts
    assert found["b"] <= 15


def test_a_small_job_goes_where_work_goes_on_anyway() -> None:
    snapshot = cluster(
        "n1 8x3090 -4\nn2 8x3090",
        job("small", "1", 1, time_limit=30.0),
        running=(running("r", (0, 1, 2, 3), 60.0),),
    )
    (start,) = decide(snapshot, Policy("easy")).starts
    assert start.places[0].node == "n1"


@pytest.mark.parametrize("lost", ["down", "gone", "gpus"])
def test_a_slot_on_a_node_that_is_lost_is_given_elsewhere(lost: str) -> None:
    """`first` waits for n1, where the running job ends sooner; then n1 is lost."""
    gpus = tuple(GpuState(i, "A100") for i in range(4))
    taken = tuple(replace(gpu, free=0) for gpu in gpus)
    n1, n2, n3 = (NodeState(name, 8, 1 << 40, 8, 1 << 40, taken) for name in ("n1", "n2", "n3"))
    n2 = replace(n2, gpus=(*taken[:3], gpus[3]))
    jobs = [holding("a", "n1", 4, 50.0), holding("b", "n2", 3, 90.0), holding("c", "n3", 4, 95.0)]
    first, short = job("first", "4", 1, time_limit=100.0), job("short", "1", 2, time_limit=20.0)
    memory = decide(Snapshot(0.0, [n1, n2, n3], [first, short], jobs), Policy("fifo")).memory
    left = {
        "down": [replace(n1, up=False), n2, n3],
        "gone": [n2, n3],
        "gpus": [replace(n1, gpus=taken[:2]), n2, n3],
    }[lost]
    later = Snapshot(1.0, left, [first, job("other", "1", 3, time_limit=20.0)], jobs, memory=memory)
    decision = decide(later, Policy("fifo"))
    assert decision.head == "first"
    assert [start.job_id for start in decision.starts] == ["other"]
    n2 = replace(n2, gpus=gpus)
    free = Snapshot(91.0, [n2, n3], [first], jobs[2:], memory=decision.memory)
    assert [start.job_id for start in decide(free, Policy("fifo")).starts] == ["first"]


def holding(name: str, node: str, count: int, end: float) -> Running:
    gpus = tuple(range(count))
    place, shape = Placement(node, gpus), TaskShape(1, 1, count)
    return Running(name, f"u/{name}", "u", 0.0, end, {node: gpus}, (shape,), (place,))
