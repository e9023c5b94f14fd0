"""Thousands of steps with shares, reclaim, priorities and shared queues: everybody gets a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from danlu.sched.api import (
    LOWER_PRIORITY,
    Decision,
    GpuState,
    NodeState,
    Policy,
    QueuePolicy,
    Quota,
    Quotas,
    Snapshot,
    TaskShape,
)
from danlu.sched.order.queue_order import A_DAY
from danlu.sched.reclaim import SPARED
from danlu.sched.simulate import Arrival, Simulation

GPUS, NODES = 4, 2  # small, so that thousands of steps take seconds
LOAD = 0.85
JOBS = 3300  # each comes, ends, and may be ended for others in between
STEPS = 6000  # at least
PATIENCE = 14_400.0
SHARES = Quotas(groups={"a": Quota(guaranteed=3000), "b": Quota(guaranteed=3000)})


def nodes() -> list[NodeState]:
    gpus = tuple(GpuState(i, "3090") for i in range(GPUS))
    return [NodeState(f"n{n}", 64, 1 << 40, 64, 1 << 40, gpus) for n in range(NODES)]


def stream(seed: int, count: int, sizes: Sequence[int] = (1, 1, 1, 2, 2)) -> list[Arrival]:
    """Jobs of three groups in three queues, as many as keep the GPUs busy for 85 % of the time."""
    random = Random(seed)
    now, found = 0.0, []
    for number in range(count):
        gpus = random.choice(sizes)
        run = random.choice([60.0, 300.0, 900.0, 3600.0])
        group = random.choice(["a", "b", "c"])
        found.append(
            Arrival(
                f"j{number}",
                now,
                run,
                (TaskShape(1, 1, gpus),),
                limit=run if random.random() < 0.7 else None,
                owner=group,
                group=group,
                queue=random.choice(["default", "p", "q"]),
                priority=random.choice([0, 0, 0, 1]),
                preemptible=random.random() < 0.7,
                movable=random.random() < 0.5,
            )
        )
        now += gpus * run / (GPUS * NODES * LOAD)
    return found


def queues(**rules: object) -> Policy:
    half = frozenset({"n0"})
    return Policy(
        queues={
            "default": QueuePolicy(**rules),  # type: ignore[arg-type]
            "p": QueuePolicy(**rules),  # type: ignore[arg-type]
            "q": QueuePolicy(nodes=half, **rules),  # type: ignore[arg-type]
        }
    )


@pytest.mark.parametrize(
    ("policy", "quotas"),
    [
        (queues(), None),
        (queues(order="easy", consolidate=True), None),
        (queues(order="fair", reclaim=True, max_wait=PATIENCE), SHARES),
        (queues(reclaim=True, consolidate=True, max_wait=PATIENCE), SHARES),
        (queues(preempt=LOWER_PRIORITY, reclaim=True, max_wait=PATIENCE), SHARES),
    ],
    ids=["fifo", "moves", "fair shares", "reclaim and moves", "priorities and reclaim"],
)
def test_nobody_starves_and_nothing_is_ended_in_circles(
    policy: Policy, quotas: Quotas | None
) -> None:
    assert _all_get_their_turn(stream(7, JOBS), policy, quotas, PATIENCE) >= STEPS


def test_jobs_that_need_a_whole_node_get_their_turn_beside_guarantees() -> None:
    """With the patience that guarantees imply: a day."""
    jobs = stream(11, JOBS, (1, 1, 1, 2, 2, GPUS))
    assert _all_get_their_turn(jobs, queues(reclaim=True), SHARES, A_DAY) >= STEPS


def _all_get_their_turn(
    jobs: list[Arrival], policy: Policy, quotas: Quotas | None, patience: float
) -> int:
    """Returns the number of steps."""
    ended: Counter[str] = Counter()
    claimed: Counter[str] = Counter()
    steps = 0

    def watch(snapshot: Snapshot, decision: Decision) -> None:
        nonlocal steps
        steps += 1
        ended.update(preempt.job_id for preempt in decision.preempts)
        claimed.update({preempt.by for preempt in decision.preempts})

    outcome = Simulation(nodes(), policy, quotas).run(jobs, watch)
    assert len(outcome.ends) == len(jobs), "everybody ran to the end"
    assert max(ended.values(), default=0) <= SPARED, "nobody was ended again and again"
    # A claimant who was ended later himself may claim again; nobody claims in vain.
    assert all(claimed[job] <= 1 + ended[job] for job in claimed)
    waits = [outcome.starts[job.job_id] - job.submit for job in jobs]
    assert max(waits) < 2 * (SPARED + 1) * patience, "and nobody waited for ever"
    return steps
