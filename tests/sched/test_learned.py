"""Packing for the jobs that usually come."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.sched.api import GpuState, Mix, NodeState, Policy, QueuePolicy, TaskShape
from danlu.sched.place.free import Need
from danlu.sched.place.mix import MixLearner
from danlu.sched.place.node_waste import best_node
from danlu.sched.place.place import Room

GIB = 2**30


def node(name: str, gpus: int, free: tuple[int, ...] = (), cpus: float = 96) -> NodeState:
    left = [*free, *[1000] * (gpus - len(free))]
    states = tuple(GpuState(index, "T4", amount) for index, amount in enumerate(left))
    return NodeState(name, cpus, 400 * GIB, cpus, 400 * GIB, states)


def gpu(cpus: float = 8) -> TaskShape:
    return TaskShape(cpus, 4 * GIB, gpus=1)


def share(thousandths: int, cpus: float = 2) -> TaskShape:
    return TaskShape(cpus, 4 * GIB, share=thousandths)


def place(nodes: list[NodeState], shape: TaskShape, usual: dict[TaskShape, int]) -> str:
    places = Room(nodes, "learned", Mix(usual)).place((shape,))
    assert places is not None
    found = places[0]
    return found.node + (f":{found.gpus[0]}" if found.gpus else "")


@pytest.mark.parametrize("listed", [1, -1])
def test_a_small_job_goes_to_the_node_with_seven_free_gpus(listed: int) -> None:
    """A3 holds here too, however the nodes are listed."""
    usual = {gpu(): 60, TaskShape(64, 64 * GIB, gpus=8): 5, share(500): 20}
    nodes = [node("n1", 8), node("n2", 8, (0,))][::listed]
    assert place(nodes, gpu(), usual) == "n2:1"


def test_a_share_goes_where_what_remains_is_usually_asked_for() -> None:
    """Best fit would always take the GPU with 640 left."""
    nodes = [node("n1", 1, (640,)), node("n2", 1, (800,))]
    assert place(nodes, share(470), {share(320): 100}) == "n2:0"
    assert place(nodes, share(470), {share(170): 100}) == "n1:0"


def test_work_that_needs_many_cpus_keeps_away_from_nodes_that_have_few_for_their_gpus() -> None:
    nodes = [node("n1", 4, cpus=40), node("n2", 4, cpus=160)]
    assert place(nodes, gpu(cpus=30), {gpu(cpus=10): 100}) == "n2:0"
    assert place(nodes, TaskShape(30, GIB), {gpu(cpus=10): 100}) == "n2"


def test_each_model_is_packed_for_those_who_ask_for_it() -> None:
    """Nobody who asks for a V100 could use 300 thousandths of it."""
    both = [
        NodeState("v", 32, 64 * GIB, 32, 64 * GIB, (GpuState(0, "V100", 800),)),
        NodeState("t", 32, 64 * GIB, 32, 64 * GIB, (GpuState(0, "T4", 800),)),
    ]
    v100 = TaskShape(1, GIB, share=500, model="V100")
    t4 = TaskShape(1, GIB, share=300, model="T4")
    assert place(both, share(500), {v100: 50, t4: 50}) == "t:0"
    assert place(both[::-1], share(500), {v100: 50, t4: 50}) == "t:0"


def test_before_anything_is_learned_it_is_tight() -> None:
    nodes = [node("n1", 8), node("n2", 8, (0,))]
    places = Room(nodes, "learned").place((gpu(),))
    assert places is not None
    assert places[0].node == "n2"


def test_the_mix_is_learned_early_and_then_ever_more_rarely() -> None:
    learner = MixLearner()
    seen = []
    for number in range(300):
        before = learner.mix
        learner.add(gpu() if number % 3 else share(500))
        if learner.mix is not before:
            seen.append(number + 1)
    assert seen[:4] == [20, 30, 45, 67]
    assert learner.mix is not None
    assert learner.mix.counts[gpu()] == 2 * learner.mix.counts[share(500)]


def test_named_nodes_and_labels_are_no_part_of_what_is_learned() -> None:
    learner = MixLearner()
    for _ in range(20):
        learner.add(TaskShape(8, 4 * GIB, gpus=1, include=frozenset({"n1"})))
    assert learner.mix is not None
    assert list(learner.mix.counts) == [gpu()]


def test_it_is_the_default() -> None:
    assert (Policy().place, QueuePolicy().place) == ("learned", "learned")


def test_where_nobody_asks_for_gpus_or_no_node_has_any_it_is_tight() -> None:
    """Expected waste of GPUs tells nodes apart only where GPUs are asked for."""
    cpus = TaskShape(8, GIB)
    empty = NodeState("n1", 96, 400 * GIB, 96, 400 * GIB)
    fuller = NodeState("n2", 96, 400 * GIB, 16, 400 * GIB)
    assert place([empty, fuller], cpus, {gpu(): 50, cpus: 50}) == "n2"
    with_gpus = [node("n1", 4), node("n2", 4, cpus=16)]
    assert place(with_gpus, cpus, {cpus: 100}) == "n2"


USUAL = Mix({gpu(): 40, share(500): 20, share(250): 15, TaskShape(16, GIB, gpus=2): 10})
wanted = st.sampled_from(
    [gpu(), gpu(30), share(500), share(250), share(800), TaskShape(16, GIB, gpus=2)]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(wanted, st.booleans()), min_size=4, max_size=40))
def test_many_lookups_find_what_one_finds(steps: list[tuple[TaskShape, bool]]) -> None:
    """As tasks come and go, and nodes become alike and different again."""
    nodes = [node(f"n{number}", 4, cpus=(40, 96)[number % 2]) for number in range(6)]
    room = Room(nodes, "learned", USUAL)
    held = []
    for shape, leaves in steps:
        alone = best_node(room.context(), USUAL, Need(shape), None)
        places = room.place((shape,))
        if alone is None or places is None:
            assert alone is places
            continue
        at, gpus = alone
        assert places[0].node == nodes[at].name
        assert not gpus or places[0].gpus == gpus
        held.append((shape, places))
        if leaves:
            gone, where = held.pop(0)
            room.free((gone,), where)


@pytest.fixture
def without_numpy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in sys.modules if name.split(".")[0] == "numpy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "danlu.sched.place.learned", raising=False)
    monkeypatch.delitem(sys.modules, "danlu.sched.place.node_waste", raising=False)
    monkeypatch.delitem(sys.modules, "danlu.sched.place.waste", raising=False)
    yield


@pytest.mark.usefixtures("without_numpy")
def test_other_orders_never_load_numpy() -> None:
    """A small server's memory is worth more than arithmetic it does not do."""
    places = Room([node("n1", 8), node("n2", 8)], "tight").place((gpu(),) * 4)
    assert places is not None
    one = Room([node("n1", 8)], "learned", Mix({gpu(): 1}))
    assert all(one.place((gpu(),)) is not None for _ in range(8))
    with pytest.raises(ImportError):
        Room([node("n1", 8), node("n2", 8)], "learned", Mix({gpu(): 1})).place((gpu(),))
