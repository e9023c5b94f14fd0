"""Fragments are collected by the fewest moves, where waiting would cost more."""

from __future__ import annotations

from dataclasses import replace

from danlu.sched.api import GpuState, Move, NodeState, Policy, QueuePolicy, Running, Snapshot
from danlu.sched.api import TaskShape as Shape
from danlu.sched.decide import decide
from danlu.sched.simulate import Arrival, Simulation
from danlu.spec.placement import Placement as Place
from tests.sched.cluster import GIB, job

DAY = 86_400.0


def holds(name: str, node: str, gpus: tuple[int, ...], end: float = DAY, **more: bool) -> Running:
    kind = {"movable": True, **more}
    shapes, places = (Shape(1, 1, len(gpus)),), (Place(node, gpus),)
    return Running(name, name, "u", 0.0, end, {node: gpus}, shapes, places, **kind)  # type: ignore[arg-type]


def plan(need: str, *running: Running, **settings: float) -> tuple[Move, ...]:
    nodes = []
    for name in ("n1", "n2", "n3"):
        taken = {i for run in running for i in run.gpus.get(name, ())}
        gpus = tuple(GpuState(i, "3090", 0 if i in taken else 1000) for i in range(4))
        nodes.append(NodeState(name, 64, 64 * GIB, 64, 64 * GIB, gpus))
    rules = QueuePolicy("easy", consolidate=True, settings=settings)
    waiting = [replace(job("head", need, 1), time_limit=100.0)]
    snapshot = Snapshot(0.0, nodes, waiting, running)
    return decide(snapshot, Policy(queues={"default": rules})).moves


def test_the_node_that_is_cleared_is_the_one_that_takes_the_fewest_moves() -> None:
    moves = plan(
        "4",
        holds("a", "n1", (0,)),
        holds("b", "n1", (1,)),
        holds("c", "n2", (0,)),
        holds("d", "n3", (0,)),
        holds("e", "n3", (1,)),
    )
    assert [(m.job_id, m.by) for m in moves] == [("c", "head")]
    assert moves[0].places[0].node in ("n1", "n3")


def test_one_larger_job_is_moved_rather_than_two_small_ones() -> None:
    moves = plan(
        "3",
        holds("a", "n1", (0,)),
        holds("b", "n1", (1,)),
        holds("pair", "n2", (0, 1)),
        holds("c", "n3", (0, 1)),
    )
    assert len(moves) == 1


def test_nothing_moves_where_the_wait_is_short() -> None:
    soon = [holds("a", "n1", (0,), 500.0), holds("b", "n2", (0,)), holds("c", "n3", (0,))]
    assert plan("4", *soon) == ()
    assert plan("4", *soon, worth=100.0) != ()


def test_what_may_not_move_stays() -> None:
    fixed = [
        holds(name, node, (0,), movable=False)
        for name, node in zip("abc", ("n1", "n2", "n3"), strict=True)
    ]
    assert plan("4", *fixed) == ()


def test_nothing_moves_where_all_free_gpus_together_do_not_suffice() -> None:
    assert plan("4", *(holds(n, n, (0, 1, 2)) for n in ("n1", "n2", "n3"))) == ()


def test_after_the_moves_the_head_starts_at_once() -> None:
    gpus = tuple(GpuState(i, "3090") for i in range(4))
    nodes = [NodeState(name, 0, 0, 0, 0, gpus) for name in ("n1", "n2")]
    rules = QueuePolicy("easy", consolidate=True)
    jobs = [
        Arrival("a", 0, 9e4, (Shape(0, 0, 3),), limit=9e4, movable=True),
        Arrival("b", 0, 9e4, (Shape(0, 0, 2),), limit=9e4, movable=True),
        Arrival("c", 1, 1, (Shape(0, 0, 1),), limit=1, movable=True),
        Arrival("gone", 0, 10, (Shape(0, 0, 1),), limit=10, movable=True),
        Arrival("head", 20, 100, (Shape(0, 0, 3),), limit=100),
    ]
    simulation = Simulation(nodes, Policy(queues={"default": rules}))
    assert simulation.run(jobs).starts["head"] >= 20
