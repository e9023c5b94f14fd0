"""Packing for the jobs that usually come."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from danlu.sched.api import GpuState, Mix, NodeState, TaskShape
from danlu.sched.place.mix import MixLearner
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
    assert Room([node("n1", 8)], "learned", Mix({gpu(): 1})).place((gpu(),)) is not None
    with pytest.raises(ImportError):
        Room([node("n1", 8), node("n2", 8)], "learned", Mix({gpu(): 1})).place((gpu(),))
