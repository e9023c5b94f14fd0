"""The live side of the scheduler: the rules of danlu.toml reach the jobs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from danlu.control.submit import Submitter
from danlu.control.words import event_words
from danlu.sched.api import CauseKind, Policy, QueuePolicy, Quota, Quotas
from danlu.sched.explain import explain
from danlu.sched.orders import ORDERS
from danlu.spec.errors import SpecError
from danlu.store.events import events_of
from danlu.store.rows import JobRow
from tests.control.desk import PATIENCE, Desk


@pytest.fixture
async def desk(tmp_path: Path):  # type: ignore[no-untyped-def]
    desk = Desk(tmp_path)
    await desk.open()
    yield desk
    await desk.clear()
    await desk.close()


def nodes_of(desk: Desk, job: JobRow) -> list[str]:
    attempt = desk.controller.rooms.jobs[job.id].attempt
    return [] if attempt is None else [place["node"] for place in attempt.places]


def causes(desk: Desk, job: JobRow) -> list[str]:
    found = explain(desk.controller.snapshot(), desk.controller.policy, job.id)
    return [cause.kind.value for cause in found.causes]


@pytest.mark.parametrize("order", ORDERS)
async def test_every_order_of_placing_runs_jobs(desk: Desk, order: str) -> None:
    desk.controller.planner.policy = Policy(place=order)
    jobs = [await desk.submit(command="sleep 1000", gpus=1) for _ in range(2)]
    for job in jobs:
        await desk.until(job, "running")
    spread = {node for job in jobs for node in nodes_of(desk, job)}
    assert len(spread) == (2 if order == "spread" else 1)


async def test_over_the_quota_a_job_waits_and_starts_when_its_owner_s_other_job_ends(
    desk: Desk,
) -> None:
    desk.controller.planner.quotas = Quotas(users={"alice": Quota(cards=2000)})
    first = await desk.until(await desk.submit(command="sleep 1000", gpus=2), "running")
    second = await desk.submit(command="sleep 1000", gpus=1)
    assert causes(desk, second) == [CauseKind.QUOTA_USER]
    await desk.stop(first)
    await desk.until(second, "running")


async def test_a_queue_has_its_own_nodes_and_can_be_resized_under_running_jobs(
    desk: Desk,
) -> None:
    only = QueuePolicy(nodes=frozenset({"n2"}))
    desk.controller.planner.policy = Policy(queues={"vision": only})
    first = await desk.submit(command="sleep 1000", gpus=4, queue="vision")
    await desk.until(first, "running")
    assert nodes_of(desk, first) == ["n2"]
    second = await desk.submit(command="sleep 1000", gpus=4, queue="vision")
    assert causes(desk, second) == [CauseKind.CLUSTER_FULL]
    desk.controller.planner.policy = Policy(queues={"vision": QueuePolicy()})
    desk.controller.rooms.wake.set()
    await desk.until(second, "running")
    assert nodes_of(desk, second) == ["n1"]
    assert (await desk.look(first)).state == "running"


async def test_what_no_node_of_its_queue_could_hold_is_refused_with_the_number(
    desk: Desk,
) -> None:
    """D15, and D7: at submission, before anything is queued."""
    desk.controller.planner.policy = Policy(
        queues={"vision": QueuePolicy(nodes=frozenset({"n2"}))},
        kinds={"environment": frozenset({"T4"})},
    )
    assert isinstance(desk.submitter, Submitter)
    with pytest.raises(SpecError, match="the largest node of queue vision has 4"):
        await desk.submit(command="true", gpus=5, queue="vision")
    with pytest.raises(SpecError, match="Over several nodes it fits: count 2, gpus 3") as refused:
        await desk.submit(command="true", gpus=6)  # A4
    assert "分到多个节点可以放下：count 2，gpus 3" in str(refused.value.problems[0].values())
    with pytest.raises(SpecError, match=r"has 4$"):
        await desk.submit(command="true", gpus=9)  # more than all of them together
    with pytest.raises(SpecError, match="is not a queue here; there is: default, vision"):
        await desk.submit(command="true", gpus=1, queue="speech")
    with pytest.raises(SpecError, match="may use T4 only here"):
        await desk.submit(command="true", gpus=1, kind="environment")


async def test_a_job_that_goes_first_is_told_of_in_both_timelines(desk: Desk) -> None:
    """A31: only where the earlier one is not delayed."""
    await desk.until(await desk.submit(command="sleep 1000", gpus=4), "running")
    held = await desk.submit(command="sleep 1000", gpus=2, time_limit="10h")
    await desk.until(held, "running")
    large = await desk.submit(name="large", command="sleep 1", gpus=4, time_limit="1h")
    endless = await desk.submit(name="endless", command="sleep 1000", gpus=1)
    small = await desk.submit(name="small", command="sleep 1000", gpus=1, time_limit="1h")
    await desk.until(small, "running")
    assert (await desk.look(large)).state == "queued"
    assert (await desk.look(endless)).state == "queued"
    assert causes(desk, endless) == [CauseKind.RESERVED]
    told = await told_of(desk, small, "overtook")
    assert "large-1" in told
    assert told.endswith("it ends within 1h, their start did not move")
    told = await told_of(desk, large, "overtaken")
    assert told == "alice/small-1 ran first (1 card, 1h); your start did not move"


async def told_of(desk: Desk, job: JobRow, kind: str) -> str:
    async with asyncio.timeout(PATIENCE):
        while True:
            events = await desk.store.read(lambda tx: events_of(tx, job.id))
            for event in events:
                if event.kind == kind:
                    return event_words(event)[0]
            await asyncio.sleep(0.02)
