"""What is free and who holds what adds up, whatever comes and goes."""

from __future__ import annotations

import random

from danlu.control.ledger import Ledger
from danlu.engines.api import GpuInfo, Inventory, NodeInfo
from danlu.sched.api import TaskShape
from danlu.spec.placement import Placement

GPUS = tuple(GpuInfo(index, "RTX3090") for index in range(4))
NODE = NodeInfo("n1", 16, 64 << 30, GPUS)


def _ledger(*nodes: NodeInfo) -> Ledger:
    ledger = Ledger()
    assert ledger.learn(Inventory(nodes or (NODE,)))
    return ledger


def test_what_was_taken_and_given_back_a_thousand_times_leaves_nothing_over() -> None:
    ledger = _ledger()
    chosen = random.Random(3)
    held: list[str] = []
    for number in range(1000):
        if held and chosen.random() < 0.5:
            assert ledger.release(held.pop(chosen.randrange(len(held))))
        share = chosen.choice([0, 100, 333])
        shape = TaskShape(cpus=0.1, memory=1 << 20, gpus=0 if share else 1, share=share)
        place = Placement("n1", (chosen.randrange(4),), share)
        ledger.hold(str(number), "job", [shape], [place])
        held.append(str(number))
    for attempt in held:
        assert ledger.release(attempt)
    (state,) = ledger.states()
    assert (state.cpus_free, state.memory_free) == (16, 64 << 30)
    assert {gpu.free for gpu in state.gpus} == {1000}
    assert ledger.gpu_holders() == {}


def test_releasing_twice_gives_back_once() -> None:
    ledger = _ledger()
    shape = TaskShape(cpus=2, memory=1 << 30, gpus=1)
    ledger.hold("a", "job", [shape], [Placement("n1", (2,))])
    assert [gpu.free for gpu in ledger.states()[0].gpus] == [1000, 1000, 0, 1000]
    assert ledger.release("a")
    assert not ledger.release("a")
    assert ledger.states()[0].cpus_free == 16


def test_shares_of_a_gpu_add_up() -> None:
    ledger = _ledger()
    shape = TaskShape(cpus=1, memory=1 << 30, share=250)
    for name in ("a", "b", "c"):
        ledger.hold(name, name, [shape], [Placement("n1", (0,), 250)])
    assert ledger.states()[0].gpus[0].free == 250
    assert [hold.job_id for hold in ledger.gpu_holders()[("n1", 0)]] == ["a", "b", "c"]


def test_a_node_that_shrinks_under_its_jobs_has_nothing_free_not_less() -> None:
    ledger = _ledger()
    ledger.hold("a", "job", [TaskShape(cpus=12, memory=48 << 30)], [Placement("n1", ())])
    assert ledger.learn(Inventory((NodeInfo("n1", 8, 32 << 30, GPUS),)))
    (state,) = ledger.states()
    assert (state.cpus_free, state.memory_free) == (0, 0)


def test_the_same_inventory_is_no_news() -> None:
    assert not _ledger().learn(Inventory((NODE,)))
