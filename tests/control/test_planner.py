"""The live side of the scheduler: the rules of danlu.toml reach the jobs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from danlu.access.principal import Principal
from danlu.control.submit import Submitter
from danlu.control.words import event_words
from danlu.sched.api import CauseKind, Policy, QueuePolicy, Quota, Quotas
from danlu.sched.explain.explain import explain
from danlu.sched.place.node_order import ORDERS
from danlu.spec.errors import SpecError
from danlu.store.events import events_of
from danlu.store.rows import JobRow
from tests.control.harness import PATIENCE, Harness


@pytest.fixture
async def harness(tmp_path: Path):  # type: ignore[no-untyped-def]
    harness = Harness(tmp_path)
    await harness.open()
    yield harness
    await harness.clear()
    await harness.close()


def nodes_of(harness: Harness, job: JobRow) -> list[str]:
    attempt = harness.controller.context.jobs[job.id].attempt
    return [] if attempt is None else [place.node for place in attempt.places]


def causes(harness: Harness, job: JobRow) -> list[str]:
    found = explain(harness.controller.snapshot(), harness.controller.policy, job.id)
    return [cause.kind.value for cause in found.causes]


@pytest.mark.parametrize("order", ORDERS)
async def test_every_order_of_placing_runs_jobs(harness: Harness, order: str) -> None:
    harness.controller.planner.policy = Policy(place=order)
    jobs = [await harness.submit(command="sleep 1000", gpus=1) for _ in range(2)]
    for job in jobs:
        await harness.until(job, "running")
    spread = {node for job in jobs for node in nodes_of(harness, job)}
    assert len(spread) == (2 if order == "spread" else 1)


async def test_over_the_quota_a_job_waits_and_starts_when_its_owner_s_other_job_ends(
    harness: Harness,
) -> None:
    harness.controller.planner.quotas = Quotas(users={"alice": Quota(gpus=2000)})
    first = await harness.until(await harness.submit(command="sleep 1000", gpus=2), "running")
    second = await harness.submit(command="sleep 1000", gpus=1)
    assert causes(harness, second) == [CauseKind.QUOTA_USER]
    await harness.stop(first)
    await harness.until(second, "running")


async def test_a_queue_has_its_own_nodes_and_can_be_resized_under_running_jobs(
    harness: Harness,
) -> None:
    only = QueuePolicy(nodes=frozenset({"n2"}))
    harness.controller.planner.policy = Policy(queues={"vision": only})
    first = await harness.submit(command="sleep 1000", gpus=4, queue="vision")
    await harness.until(first, "running")
    assert nodes_of(harness, first) == ["n2"]
    second = await harness.submit(command="sleep 1000", gpus=4, queue="vision")
    assert causes(harness, second) == [CauseKind.CLUSTER_FULL]
    harness.controller.planner.policy = Policy(queues={"vision": QueuePolicy()})
    harness.controller.context.wake.set()
    await harness.until(second, "running")
    assert nodes_of(harness, second) == ["n1"]
    assert (await harness.look(first)).state == "running"


async def test_what_no_node_of_its_queue_could_hold_is_refused_with_the_number(
    harness: Harness,
) -> None:
    """D15, and D7: at submission, before anything is queued."""
    harness.controller.planner.policy = Policy(
        queues={"vision": QueuePolicy(nodes=frozenset({"n2"}))},
        kinds={"environment": frozenset({"T4"})},
    )
    assert isinstance(harness.submitter, Submitter)
    with pytest.raises(SpecError, match="the largest node of queue vision has 4"):
        await harness.submit(command="true", gpus=5, queue="vision")
    with pytest.raises(SpecError, match="Over several nodes it fits: count 2, gpus 3") as refused:
        await harness.submit(command="true", gpus=6)  # A4
    assert "分到多个节点可以放下：count 2，gpus 3" in str(refused.value.problems[0].values())
    with pytest.raises(SpecError, match=r"has 4$"):
        await harness.submit(command="true", gpus=9)  # more than all of them together
    with pytest.raises(SpecError, match="is not a queue here; available: default, vision"):
        await harness.submit(command="true", gpus=1, queue="speech")
    with pytest.raises(SpecError, match="may only use T4 here"):
        await harness.submit(command="true", gpus=1, kind="environment")


async def test_more_than_a_quota_ever_allows_is_refused_with_what_would_be_accepted(
    harness: Harness,
) -> None:
    model = harness.controller.context.ledger.states()[0].gpus[0].model
    harness.controller.planner.quotas = Quotas(
        users={"alice": Quota(gpus=2000), "bob": Quota(models={model: 0})},
        groups={"lab": Quota(cpus=0.25)},
    )
    with pytest.raises(SpecError, match="Your quota allows 2 GPUs at once, but the job needs 3"):
        await harness.submit(command="true", gpus=3)
    with pytest.raises(SpecError, match=r"Up to 2 in total would be accepted") as refused:
        await harness.submit(command="true", gpus=4)
    assert "Over several nodes" not in str(refused.value), "a split counts as much"
    assert "合计不超过 2 即可接受" in str(refused.value.problems[0].values())
    with pytest.raises(SpecError, match=r"has 4$"):
        await harness.submit(command="true", gpus=6)  # too large, and over the quota when split
    with pytest.raises(SpecError, match=f"Your quota allows no {model} "):
        await harness.submit_as(Principal("bob"), command="true", gpus=1)
    with pytest.raises(SpecError, match=r"Quota of group lab allows 0\.25 CPUs at once"):
        await harness.submit_as(Principal("carol", groups=frozenset({"lab"})), command="true")
    (job,) = await harness.submit_as(Principal("alice"), command="true", gpus=2)
    await harness.until(job, "running", "succeeded")


async def test_who_is_in_several_groups_says_which_one_a_job_counts_for(harness: Harness) -> None:
    one = Quota(gpus=1000)
    harness.controller.planner.quotas = Quotas(groups={"a": one, "b": one})
    both = Principal("alice", groups=frozenset({"a", "b"}))
    with pytest.raises(SpecError, match=r"^group: you are in several groups, .*--group\): a, b"):
        await harness.submit_as(both, command="true", gpus=1)
    (job,) = await harness.submit_as(both, command="true", gpus=1, group="b")
    assert job.group == "b"
    only = Principal("bob", groups=frozenset({"a"}))
    (job,) = await harness.submit_as(only, command="true", gpus=1)
    assert job.group == "a"


async def test_what_was_reclaimed_goes_to_its_claimant_and_its_victim_is_ended_once(
    harness: Harness,
) -> None:
    rules = QueuePolicy(reclaim=True)
    harness.controller.planner.policy = Policy(queues={"default": rules})
    harness.controller.planner.quotas = Quotas(groups={"b": Quota(guaranteed=8000)})
    victims = [
        (await _of(harness, "a", gpus=4, preemptible=True, priority=5, grace=0))[0]
        for _ in range(2)
    ]
    for victim in victims:
        await harness.until(victim, "running")
    claimants = [(await _of(harness, "b", gpus=4))[0] for _ in range(2)]
    for claimant in claimants:
        await harness.until(claimant, "running")
    for victim in victims:
        await harness.until(victim, "queued")
        events = await harness.store.read(lambda tx, id=victim.id: events_of(tx, id))  # type: ignore[misc]
        assert [event.kind for event in events].count("started") == 1


async def test_how_often_a_job_was_preempted_survives_a_restart(harness: Harness) -> None:
    rules = QueuePolicy(reclaim=True)
    harness.controller.planner.policy = Policy(queues={"default": rules})
    harness.controller.planner.quotas = Quotas(groups={"b": Quota(guaranteed=8000)})
    (victim,) = await _of(harness, "a", gpus=4, count=2, preemptible=True, grace=0)
    await harness.until(victim, "running")
    (claimant,) = await _of(harness, "b", gpus=4, count=2)
    await harness.until(claimant, "running")
    await harness.until(victim, "queued")
    before = harness.controller.context.jobs[victim.id]
    await harness.restart()
    job = harness.controller.context.jobs[victim.id]
    assert job is not before
    assert job.preempted == 1
    assert job.waiting is not None
    assert before.queued_since is not None
    assert job.waiting.since == before.queued_since


async def _of(harness: Harness, group: str, **job: object) -> list[JobRow]:
    who = Principal(group, groups=frozenset({group}))
    return await harness.submit_as(who, command="sleep 1000", **job)


async def test_a_job_that_goes_first_is_told_of_in_both_timelines(harness: Harness) -> None:
    """A31: only where the earlier one is not delayed."""
    await harness.until(await harness.submit(command="sleep 1000", gpus=4), "running")
    held = await harness.submit(command="sleep 1000", gpus=2, time_limit="10h")
    await harness.until(held, "running")
    large = await harness.submit(name="large", command="sleep 1", gpus=4, time_limit="1h")
    endless = await harness.submit(name="endless", command="sleep 1000", gpus=1)
    small = await harness.submit(name="small", command="sleep 1000", gpus=1, time_limit="1h")
    await harness.until(small, "running")
    assert (await harness.look(large)).state == "queued"
    assert (await harness.look(endless)).state == "queued"
    assert causes(harness, endless) == [CauseKind.RESERVED]
    told = await told_of(harness, small, "overtook")
    assert "large-1" in told
    assert told.endswith("it ends within 1h, without delaying them")
    told = await told_of(harness, large, "overtaken")
    assert told == "alice/small-1 ran first (1 GPU, 1h), without delaying yours"


async def told_of(harness: Harness, job: JobRow, kind: str) -> str:
    async with asyncio.timeout(PATIENCE):
        while True:
            events = await harness.store.read(lambda tx: events_of(tx, job.id))
            for event in events:
                if event.kind == kind:
                    return event_words(event).en
            await asyncio.sleep(0.02)
