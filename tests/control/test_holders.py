"""Work that no Danlu has started: counted once, shown with its owner, named when a job waits."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.access.principal import Principal
from danlu.control.ledger import Ledger
from danlu.control.totals import Count, add_up
from danlu.engines.api import GpuInfo, Holder, InQueue, Inventory, NodeInfo
from danlu.sched.api import CauseKind, Eta, EtaBasis, Quotas, TaskShape
from danlu.sched.explain.advice import eta_words
from danlu.sched.explain.words import sentence
from danlu.services.cluster import Gpu, OutsideJob, without_names_of_others
from danlu.services.names import HIDDEN
from danlu.spec.placement import Placement
from danlu.spec.text import Text
from tests.control.test_queueing import QueueingHarness

GPUS = tuple(GpuInfo(index, "RTX3090") for index in range(5))
NODES = tuple(NodeInfo(f"n{number}", 16, 64 << 30, GPUS) for number in range(1, 5))
KNOWN = Holder("7", "bob", "n1", "bert", gpus=2, indexes=(1, 3), cpus=4, memory=8 << 30)
COUNTED = Holder("8", "cy", "n1", gpus=2, cpus=1.5)
NO_GPUS = Holder("9", "cy", "n2", cpus=16, memory=64 << 30)


def _totals(ledger: Ledger) -> Count:
    return add_up(
        ledger.states(), (), ledger.moving(), (), Quotas(), ledger.outside(), ledger.away
    ).all


def _sum(count: Count) -> int:
    return count.free + count.reserved + count.used + count.out + count.outside + count.unknown


def test_gpus_cpus_and_memory_of_others_are_taken() -> None:
    ledger = Ledger()
    assert ledger.learn(Inventory(NODES, holders=(KNOWN, COUNTED, NO_GPUS)))

    first, second, *_ = ledger.states()
    assert [gpu.free for gpu in first.gpus] == [0, 0, 0, 0, 1000]
    assert (first.cpus_free, first.memory_free) == (10.5, 56 << 30)
    assert (second.cpus_free, second.memory_free) == (0, 0)
    assert [gpu.free for gpu in second.gpus] == [1000] * 5
    assert [(each.ref, each.gpus) for each in ledger.others()["n1"]] == [
        ("bob/local:7", (1, 3)),
        ("cy/local:8", (0, 2)),
    ]


def test_everything_adds_up_whoever_holds_it() -> None:
    ledger = Ledger()
    sick = replace(NODES[2], gpus=(replace(GPUS[0], healthy=False), *GPUS[1:]))
    down = replace(NODES[3], up=False)
    ledger.learn(Inventory((*NODES[:2], sick, down), holders=(KNOWN, COUNTED)))
    ledger.hold("a", "job", [TaskShape(1, 1, gpus=2)], [Placement("n2", (0, 1))])
    ledger.drain({"n2": "new fan"})

    count = _totals(ledger)
    assert (count.total, _sum(count)) == (20_000, 20_000)
    assert (count.used, count.outside, count.out, count.free) == (2000, 4000, 3000 + 6000, 5000)


def test_one_that_is_only_counted_gives_way_to_our_own() -> None:
    ledger = Ledger()
    ledger.learn(Inventory(NODES, holders=(COUNTED,)))
    ledger.hold("a", "job", [TaskShape(1, 1, gpus=2)], [Placement("n1", (0, 1))])

    assert [each.gpus for each in ledger.others()["n1"]] == [(2, 3)]
    assert (_totals(ledger).used, _totals(ledger).outside) == (2000, 2000)
    ledger.release("a")
    assert [each.gpus for each in ledger.others()["n1"]] == [(0, 1)]


def test_those_who_have_ended_hold_nothing() -> None:
    ledger = Ledger()
    ledger.learn(Inventory(NODES, holders=(KNOWN,)))

    assert not ledger.learn(Inventory(NODES, holders=(KNOWN,)))
    assert ledger.learn(Inventory(NODES))
    assert _totals(ledger).free == 20_000
    assert ledger.others() == {}


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[QueueingHarness]:
    harness = QueueingHarness(tmp_path)
    harness.system.data.mkdir()
    await harness.system.start()
    await harness.open()
    yield harness
    await harness.clear()
    await harness.close()
    await harness.system.close()


async def test_a_job_in_the_engines_queue_is_told_why_until_when_and_who_holds_what(
    harness: QueueingHarness,
) -> None:
    harness.system.held = True
    job = await harness.submit(command="sleep 1000", gpus=3)
    entry = await harness.submitted(job)
    context, start = harness.controller.context, time.time() + 3600
    engine = context.engine_of(context.jobs[job.id]).name
    nodes = context.engines.status(engine).inventory.nodes
    bob = Holder("7", "bob", "q1", "bert", gpus=2, indexes=(1, 3), ends_at=start)
    context.ledger.learn(Inventory(nodes, holders=(bob,)), engine)
    words = Text("it is next", "已排到最前")
    said = InQueue("Resources", words, start)
    seen = entry.seen()
    context.jobs[job.id].seen = replace(
        seen, tasks=tuple(replace(task, in_queue=said) for task in seen.tasks)
    )

    found = harness.controller.planner.explain(job.id)

    assert [cause.kind for cause in found.causes] == [CauseKind.ENGINE]
    told = sentence(found)
    assert (
        told.en == f"Waiting in the queue of engine {engine}: it is next ({engine} says Resources)"
    )
    assert told.zh == f"在引擎 {engine} 的队列中等待：已排到最前（{engine} 给出的原因：Resources）"
    verdicts = {verdict.node: verdict for verdict in found.nodes}
    assert (verdicts["q1"].free_gpus, verdicts["q1"].holders) == (2, ("bob/queueing:7",))
    (holder,) = found.holders
    assert (holder.owner, holder.gpus, holder.outside) == ("bob", (1, 3), True)
    assert holder.latest_end == start
    assert found.eta == Eta(start, None, EtaBasis.ENGINE)


def test_an_estimate_of_the_engine_says_so() -> None:
    eta = Eta(3600.0, None, EtaBasis.ENGINE)
    clock = lambda at: Text(f"{at:g}", f"{at:g}")  # noqa: E731

    assert eta_words(eta, 0.0, clock).en == "About 3600; the engine's own plan"
    assert eta_words(eta, 4000.0, clock).zh == "随时可能开始；依据引擎自身的调度计划"
    for why in ("engine", "engine_no_limit", "engine_far", "engine_blocked", "engine_unplanned"):
        none = eta_words(Eta(None, None, EtaBasis.NONE, why=why), 0.0, clock)
        assert none.en.startswith("No estimate: ")
        assert none.zh.startswith("无法估计：")


@pytest.mark.parametrize(("who", "shown"), [("bob", "bob"), ("ann", HIDDEN)])
def test_whose_job_it_is_stays_hidden_where_names_are(who: str, shown: str) -> None:
    job = OutsideJob("slurm", "7", "bob", "bert")
    gpu = Gpu("n1", 0, "RTX3090", "", 0, "outside", 0.0, (), None, None, None, None, outside=job)

    found = without_names_of_others(gpu, [], Principal(who), lambda ref: True).outside

    assert found is not None
    assert found.user == shown
    assert found.id == "7"
