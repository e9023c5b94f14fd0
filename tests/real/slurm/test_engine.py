"""The Slurm engine where a batch system is unlike one machine: users, nodes, lost answers."""

from __future__ import annotations

import asyncio
import grp
import os
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from danlu.engines.api import (
    Endpoint,
    Identity,
    InDoubt,
    Phase,
    Refused,
    Run,
    TaskRef,
    Terms,
    Unreachable,
)
from danlu.engines.slurm.engine import SlurmEngine
from danlu.engines.slurm.node.worker import Worker
from danlu.engines.slurm.queue import Entry
from danlu.spec.job import GpuRequest, NodeChoice, Resources
from tests.engines.conformance.once import MEET
from tests.engines.conformance.talking import heard
from tests.engines.harness import ENDED, JOB, argv, eventually, shell, token
from tests.real.slurm.harness import SlurmHarness, engine_on
from tests.support.accounts import Account
from tests.support.folders import open_python
from tests.support.slurm import PARTITION, Slurm

SMALL = Resources(GpuRequest(), 1.0, 100 << 20, 0)


def person(account: Account) -> Identity:
    return Identity(
        account.name, uid=account.uid, gid=account.gid, groups=(account.gid, *account.groups)
    )


def engine_of(harness: SlurmHarness) -> SlurmEngine:
    assert isinstance(harness.engine, SlurmEngine)
    return harness.engine


@pytest.fixture
async def harness(slurm: Slurm) -> AsyncIterator[SlurmHarness]:
    path = f"{slurm.folder}/bin:/usr/local/bin:/usr/bin:/bin"
    bin_ = str(slurm.folder / "bin")
    more = {"path": path, "bin": bin_, "deadline": 5.0}
    harness = SlurmHarness(lambda data: engine_on(slurm, data, **more), slurm.fresh_folder())
    await harness.start()
    yield harness
    await harness.close()


async def submitted(harness: SlurmHarness, text: str, **values: object) -> str:
    """Launches without waiting until it runs."""
    launch = harness.launch(shell(text), resources=SMALL, **values)  # type: ignore[arg-type]
    seen = await harness.engine.launch(launch, harness.engine.plan(launch))
    return seen.attempt_id


async def phase_of(harness: SlurmHarness, attempt: str) -> Phase | None:
    seen = await harness.seen(attempt)
    return None if seen is None else seen.tasks[0].phase


async def until_phase(harness: SlurmHarness, attempt: str, phase: Phase) -> None:
    async with asyncio.timeout(120):
        while await phase_of(harness, attempt) is not phase:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.05)


async def test_processes_and_files_are_their_users(slurm: Slurm, harness: SlurmHarness) -> None:
    ann = slurm.people["ann"]
    made = ann.home / "made"
    task, log = await harness.run(
        shell(f"id -u; id -g; id -G; touch {made}; pwd"), identity=person(ann)
    )
    assert task.exit_code == 0, task
    uid, gid, groups, folder = log.decode().split("\n")[:4]
    assert (int(uid), int(gid)) == (ann.uid, ann.gid)
    assert {int(word) for word in groups.split()} == {ann.gid, *ann.groups}
    assert all(grp.getgrgid(int(word)) for word in groups.split())
    assert folder == str(ann.home)
    found = made.stat()
    assert (found.st_uid, found.st_gid) == (ann.uid, ann.gid)
    mine = harness.data.parent / "shared" / f"{ann.name}-{ann.uid}"
    assert mine.stat().st_mode & 0o777 == 0o700
    for path in mine.rglob("*"):
        assert path.lstat().st_uid == ann.uid, path


async def test_nobody_reads_what_is_anothers(slurm: Slurm, harness: SlurmHarness) -> None:
    ann, bob = slurm.people["ann"], slurm.people["bob"]
    attempt = await harness.begin(
        argv("sleep", "600"), identity=person(ann), secrets={"KEY": "hidden"}
    )
    mine = harness.data.parent / "shared" / f"{ann.name}-{ann.uid}"
    tried = f"cat {mine}/run/{attempt}/0.task {mine}/logs/*/*; ls {mine} {harness.data}"
    task, log = await harness.run(shell(tried), identity=person(bob))
    assert task.exit_code != 0
    assert b"denied" in log
    assert b"token" not in log
    await harness.stop(attempt, 0)


async def test_somebody_elses_folder_is_not_used(slurm: Slurm, harness: SlurmHarness) -> None:
    """Where anybody may write, bob could make ann's folder first, and read along."""
    ann, bob = slurm.people["ann"], slurm.people["bob"]
    shared = harness.data.parent / "shared"
    squatted = shared / f"{ann.name}-{ann.uid}"
    squatted.mkdir()
    os.chown(squatted, bob.uid, bob.gid)
    task, _ = await harness.run(argv("true"), identity=person(ann))
    assert task.exit_code == 0
    assert squatted.stat().st_uid == ann.uid
    (aside,) = shared.glob(f".not-{squatted.name}.*")
    assert aside.stat().st_uid == bob.uid and not list(aside.iterdir())
    with pytest.raises(PermissionError, match="not a folder of this user"):
        Worker(str(aside)).begin()  # where root may not put it aside


async def test_a_door_opens_only_to_the_token(slurm: Slurm, harness: SlurmHarness) -> None:
    attempt = await harness.begin(argv("sleep", "600"), identity=person(slurm.people["ann"]))
    path = harness.data / "doors" / f"{attempt}.0"
    await eventually(path.exists)
    text = path.read_text()
    ref = TaskRef(attempt, 0, JOB)
    duplex = await harness.engine.exec(ref, Run(("id", "-un")))
    assert (await heard(duplex)).decode().strip() == slurm.people["ann"].name
    path.write_text(text.replace('"token": "', '"token": "0'))
    with pytest.raises(Refused, match="cannot be reached"):
        await harness.engine.exec(ref, Run(("true",)))
    path.write_text(text)
    with pytest.raises(Refused):
        await harness.engine.connect(ref, Endpoint(1))
    await harness.stop(attempt, 0)


async def test_tasks_on_two_nodes_see_each_other(slurm: Slurm, harness: SlurmHarness) -> None:
    five = Resources(GpuRequest(5, "rtx3090"), 2.0, 1 << 30, 0)
    attempt = await harness.begin(
        argv(open_python(), "-c", MEET),
        count=2,
        resources=five,
        identity=person(slurm.people["ann"]),
    )
    tasks = await harness.ended(attempt)
    assert [task.exit_code for task in tasks] == [0, 0], tasks
    assert len({task.node for task in tasks}) == 2
    assert [task.gpus for task in tasks] == [(0, 1, 2, 3, 4)] * 2
    assert (await harness.output(attempt)).decode().endswith("met 1/2\n")
    assert await harness.output(attempt, 1) == b"hello 0/2\n"


async def test_roles_of_different_shape_form_one_job(slurm: Slurm, harness: SlurmHarness) -> None:
    launch = harness.launch(shell("echo $DANLU_ROLE $CUDA_VISIBLE_DEVICES"), count=3,
                            roles=("chief", "worker", "worker"))  # fmt: skip
    big = Resources(GpuRequest(2), 4.0, 1 << 30, 0)
    tasks = tuple(
        replace(task, resources=SMALL if task.role == "chief" else big) for task in launch.tasks
    )
    launch = replace(launch, tasks=tasks)
    plan = harness.engine.plan(launch)
    assert plan.text.count("#SBATCH hetjob") == 1
    await harness.engine.launch(launch, plan)
    ended = await harness.ended(launch.attempt_id)
    assert [task.exit_code for task in ended] == [0, 0, 0], ended
    logs = [await harness.output(launch.attempt_id, index) for index in range(3)]
    assert logs[0] == b"chief\n"
    assert all(log.startswith(b"worker ") and log.count(b",") == 1 for log in logs[1:])


async def test_the_plan_is_the_script_that_slurm_gets(slurm: Slurm, harness: SlurmHarness) -> None:
    terms = Terms("my job; rm -rf", PARTITION, -2, 3600, NodeChoice(exclude=("n4",)), ("n1",))
    launch = replace(harness.launch(argv("sleep", "600"), resources=SMALL), terms=terms)
    plan = harness.engine.plan(launch)
    assert plan.text.startswith("#!/bin/bash\n#SBATCH --job-name=my_job__rm_-rf\n")
    seen = await harness.engine.launch(launch, plan)
    job = slurm.job(int(seen.handle))
    assert job["ExcNodeList"] in ("n[1,4]", "n4,n1", "n1,n4")
    assert job["Partition"] == PARTITION
    assert job["Requeue"] == "0"
    assert job["TimeLimit"] == "01:03:00"
    assert job["Nice"] == "200"
    assert job["Comment"] == f"danlu::{launch.attempt_id}"


async def test_what_slurm_refuses_is_refused_in_its_words(
    slurm: Slurm, harness: SlurmHarness
) -> None:
    terms = Terms("x", PARTITION, nodes=NodeChoice(labels=("nosuch",)))
    launch = replace(harness.launch(argv("true"), resources=SMALL), terms=terms)
    with pytest.raises(Refused, match=r"sbatch: .*feature"):
        await harness.engine.launch(launch, harness.engine.plan(launch))
    for gpus, words in ((GpuRequest(9), "at most 5 GPUs"), (GpuRequest(1, "H100"), "has: 3090")):
        other = harness.launch(argv("true"), resources=Resources(gpus, 1.0, 1 << 30, 0))
        with pytest.raises(Refused, match=words):
            harness.engine.plan(other)


# -- answers that get lost ------------------------------------------------------------------------


async def test_a_lost_answer_is_found_again_and_nothing_runs_twice(
    slurm: Slurm, harness: SlurmHarness
) -> None:
    runs = harness.outside / "runs"
    slurm.spoil("sbatch", '"$real" "$@" >/dev/null; sleep 0.1; kill -9 $$')
    attempt = await harness.begin(shell(f"echo run >> {runs}; sleep 0.2"))
    slurm.heal("sbatch")
    assert (await harness.ended(attempt))[0].exit_code == 0
    assert runs.read_text() == "run\n"


async def test_a_second_submission_claims_nothing(slurm: Slurm, harness: SlurmHarness) -> None:
    runs = harness.outside / "runs"
    slurm.spoil("sbatch", 'cat >/tmp/$$.in; "$real" "$@" </tmp/$$.in >/dev/null; '
                '"$real" "$@" </tmp/$$.in; rm /tmp/$$.in; exit 0')  # fmt: skip
    attempts = [await harness.begin(shell(f"echo run >> {runs}.{n}; sleep 1")) for n in range(3)]
    slurm.heal("sbatch")
    for attempt in attempts:
        assert (await harness.ended(attempt))[0].exit_code == 0
    await eventually(lambda: not slurm.jobs())
    assert sorted(each.read_text() for each in harness.outside.iterdir()) == ["run\n"] * 3


async def test_a_submission_that_was_never_answered_is_settled(
    slurm: Slurm, harness: SlurmHarness
) -> None:
    slurm.spoil("sbatch", "kill -9 $$")
    launch = harness.launch(argv("true"))
    with pytest.raises(InDoubt):
        await harness.engine.launch(launch, harness.engine.plan(launch))
    slurm.heal("sbatch")
    assert await harness.engine.settle(launch.attempt_id) is None
    with pytest.raises(Refused):
        await harness.engine.launch(launch, harness.engine.plan(launch))


async def test_a_controller_that_does_not_answer_means_unknown(
    slurm: Slurm, harness: SlurmHarness
) -> None:
    go = harness.outside / "go"
    runs = await harness.begin(shell(f"until [ -e {go} ]; do sleep 0.1; done; exit 4"))
    engine = engine_of(harness)
    slurm.stop_controller()
    await eventually(lambda: engine.watch.trouble)
    found = await engine.observe(None)
    assert runs not in found.scope, "nobody knows"
    with pytest.raises(Unreachable):
        await engine.inventory()
    go.touch()  # its own record is true all the same
    await until_phase(harness, runs, Phase.EXITED)
    slurm.start_controller()
    slurm.wait_until_answering()
    await eventually(lambda: engine.watch.trouble is None)
    assert (await harness.ended(runs))[0].exit_code == 4
    again = await harness.begin(shell("exit 6"))
    assert (await harness.ended(again))[0].exit_code == 6


async def test_a_task_on_a_node_that_fails_is_lost_and_the_node_named(
    slurm: Slurm, harness: SlurmHarness
) -> None:
    attempt = await harness.begin(argv("sleep", "600"), identity=person(slurm.people["ann"]))
    node = (await harness.placed(attempt)).node
    slurm.lose_node(node)
    (task,) = await harness.ended(attempt)
    assert task.phase is Phase.LOST
    assert task.node == node
    assert task.detail == f"{node}: node failed"
    inventory = await harness.engine.inventory()
    (down,) = [each for each in inventory.nodes if each.name == node]
    assert not down.up
    assert "lost its network" in down.note


@pytest.mark.parametrize("command", ["trap '' TERM; while :; do sleep 1; done", "sleep 600"])
async def test_what_others_cancel_is_told_so(
    slurm: Slurm, harness: SlurmHarness, command: str
) -> None:
    attempt = await harness.begin(shell(command))
    seen = await harness.seen(attempt)
    assert seen is not None
    slurm.run("scancel", seen.handle)
    (task,) = await harness.ended(attempt)
    assert task.phase is Phase.EXITED
    assert task.signal in (9, 15)
    assert task.hint == "stopped_outside"


async def test_an_account_that_slurm_does_not_know_is_refused(harness: SlurmHarness) -> None:
    launch = harness.launch(argv("true"), identity=Identity("ghost", uid=3_999_999, gid=3_999_999))
    with pytest.raises(Refused, match="there is no account for ghost"):
        harness.engine.plan(launch)


async def test_a_waiting_job_that_is_stopped_never_starts(
    slurm: Slurm, harness: SlurmHarness
) -> None:
    ran = harness.outside / "ran"
    slurm.run("scontrol", "update", f"partitionname={PARTITION}", "state=down")
    attempt = await submitted(harness, f"touch {ran}")
    engine = engine_of(harness)
    await eventually(lambda: "artition" in engine.watch.attempts[attempt].tasks[0].detail)
    assert await phase_of(harness, attempt) is Phase.PENDING
    (task,) = await harness.stop(attempt, 5)
    assert (task.exit_code, task.signal) == (143, 15)
    slurm.run("scontrol", "update", f"partitionname={PARTITION}", "state=up")
    await eventually(lambda: not slurm.jobs())
    assert not ran.exists()


async def test_a_cancelled_job_leaves_no_process(slurm: Slurm, harness: SlurmHarness) -> None:
    ann, name = slurm.people["ann"], token()
    text = f"trap '' TERM; (setsid sleep {name} &) ; sleep {name} & sleep {name}"
    attempt = await harness.begin(shell(text), identity=person(ann), count=2)
    await harness.until_alive(name, 6)
    tasks = await harness.stop(attempt, 0.2)
    assert all(task.signal == 9 for task in tasks), tasks
    await harness.until_gone(name)
    await eventually(lambda: not slurm.jobs())


async def test_the_end_is_told_although_a_stop_saw_it_first(harness: SlurmHarness) -> None:
    attempt = await harness.begin(argv("sleep", "600"))
    cursor = (await harness.engine.observe(None)).cursor
    for _ in range(10):  # the cycle may come first once, hardly each time
        await harness.engine.stop(attempt, 0)
    async with asyncio.timeout(60):
        while not (found := await harness.engine.observe(cursor)).seen:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    while found.seen and not all(task.phase in ENDED for task in found.seen[0].tasks):
        await asyncio.sleep(0.05)
        found = await harness.engine.observe(cursor)
    assert [seen.attempt_id for seen in found.seen] == [attempt]


async def test_other_peoples_jobs_are_holders(slurm: Slurm, harness: SlurmHarness) -> None:
    bob = slurm.people["bob"]
    number = slurm.sbatch(bob, "--gres=gpu:3090:2", "-w", "n2", "-J", "theirs", "--wrap=sleep 600")
    await harness.begin(argv("sleep", "600"), gpus=[(0,)])

    def running() -> list[Entry]:
        return [e for e in engine_of(harness).watch.entries if e.id == str(number) and e.active]

    await eventually(running)
    (holder,) = (await harness.engine.inventory()).holders
    assert (holder.id, holder.user, holder.node) == (str(number), bob.name, "n2")
    assert (holder.name, holder.gpus, holder.indexes) == ("theirs", 2, (0, 1))
    assert holder.started_at is not None


async def test_five_hundred_jobs_cost_one_status_call_per_cycle(
    slurm: Slurm, harness: SlurmHarness
) -> None:
    engine = engine_of(harness)
    slurm.run("scontrol", "update", f"partitionname={PARTITION}", "state=down")
    launches = [harness.launch(argv("true"), resources=SMALL) for _ in range(500)]
    for at in range(0, 500, 50):
        some = launches[at : at + 50]
        await asyncio.gather(*(engine.launch(each, engine.plan(each)) for each in some))
    calls, cycles = slurm.calls("squeue"), engine.watch.cycles
    await eventually(lambda: engine.watch.cycles >= cycles + 5)
    assert slurm.calls("squeue") - calls <= engine.watch.cycles - cycles + 1
    found = await engine.observe(None)
    assert {each.attempt_id for each in launches} <= found.scope
    assert all(seen.tasks[0].phase is Phase.PENDING for seen in found.seen)
    assert not any(task.phase in ENDED for seen in found.seen for task in seen.tasks)
    slurm.run("scancel", "--state=pending", "--user=root")
    slurm.run("scontrol", "update", f"partitionname={PARTITION}", "state=up")
    await eventually(lambda: not slurm.jobs())
