"""Gangs of unlike tasks: where there is a way to place them, every order of placing finds one."""

from __future__ import annotations

import pytest

from danlu.sched.api import GpuState, NodeState, Policy, Snapshot, TaskShape, Waiting
from danlu.sched.decide import could_ever_run, decide
from danlu.sched.place.node_order import ORDERS

FAST = frozenset({"fast"})
MIXED = NodeState("n1", 16, 64, 16, 64, (GpuState(0, "3090"), GpuState(1, "A100")), labels=FAST)
BARE = NodeState("n2", 4, 64, 4, 64)
LARGE = NodeState("n3", 16, 64, 16, 64, tuple(GpuState(i, "3090") for i in range(3)), labels=FAST)
NODES = [MIXED, BARE, LARGE]
GANGS = {
    "the small one needs the GPU that fits the large one best": (
        TaskShape(0.5, 1, 2, labels=FAST),
        TaskShape(0.5, 1, 1, model="A100"),
    ),
    "one for its GPUs, one for its model, one for its CPUs": (
        TaskShape(0.5, 1, 1, model="A100"),
        TaskShape(0.5, 40, 2),
        TaskShape(12, 40, model="3090"),
    ),
}


@pytest.mark.parametrize("place", ORDERS)
@pytest.mark.parametrize("name", GANGS)
def test_a_gang_that_fits_on_empty_nodes_starts_there(name: str, place: str) -> None:
    shapes = GANGS[name]
    assert could_ever_run(shapes, NODES)
    waiting = Waiting("g", "u/g", "u", 1, 0, shapes, time_limit=60.0)
    (start,) = decide(Snapshot(0.0, NODES, [waiting]), Policy(place=place)).starts
    held = [(one.node, gpu) for one in start.places for gpu in one.gpus]
    assert len(held) == len(set(held)) == sum(shape.gpus for shape in shapes)
    assert len(start.places) == len(shapes)
