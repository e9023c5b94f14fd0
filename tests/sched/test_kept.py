"""Whoever stays back is told why, in every order and on one node as on several."""

from __future__ import annotations

from random import Random

import pytest

from danlu.sched.api import CauseKind, Decision, GpuState, NodeState, Policy, Snapshot, TaskShape
from danlu.sched.explain.explain import explain
from danlu.sched.explain.words import cause_words, sentence
from danlu.sched.order.queue_order import ORDERS
from danlu.sched.simulate import Arrival, Simulation


def busy_day(seed: int) -> list[Arrival]:
    random, now, jobs = Random(seed), 0, []
    for i in range(25):
        now += int(random.expovariate(1 / 5))
        run = max(1, int(random.lognormvariate(3, 1)))
        shapes = (TaskShape(1, 0, random.randint(1, 4)),)
        jobs.append(Arrival(str(i), now, run, shapes, limit=run))
    return jobs


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("order", ORDERS)
def test_every_cause_of_every_waiting_job_can_be_said(order: str, count: int) -> None:
    nodes = [
        NodeState(f"n{i}", 64, 0, 64, 0, tuple(GpuState(c, "A100") for c in range(4)))
        for i in range(count)
    ]
    policy = Policy(order)
    said: set[CauseKind] = set()

    def watch(snapshot: Snapshot, decision: Decision) -> None:
        begun = {start.job_id for start in decision.starts}
        for job in snapshot.waiting:
            if job.job_id in begun:
                continue
            found = explain(snapshot, policy, job.job_id, suggest=False)
            assert found.causes
            assert sentence(found).en and sentence(found).zh
            for cause in found.causes:
                said.add(cause.kind)
                words = cause_words(cause)
                assert words.en and words.zh and words.en != words.zh

    for seed in range(2):
        Simulation(nodes, policy).run(busy_day(seed), watch)
    assert CauseKind.RESERVED in said
