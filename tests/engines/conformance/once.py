"""A launch: exactly once or never, whole gangs, nobody in between."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from danlu.engines.api import (
    Engine,
    InDoubt,
    Launch,
    Refused,
    Seen,
)
from danlu.engines.peers import ports_needed
from danlu.spec.job import GpuRequest, Processes, Resources
from danlu.spec.placement import Placement
from tests.engines.harness import (
    EngineHarness,
    argv,
    attempt_id,
    shell,
    token,
)

LONGEST_LEAD = 2.0

MEET = """
import os, socket, time
me = os.environ["RANK"] + "/" + os.environ["WORLD_SIZE"]
where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
def dial():
    while True:
        try:
            return socket.create_connection(where)
        except ConnectionRefusedError:
            time.sleep(0.02)
if me.startswith("0/"):
    server = socket.create_server(("", where[1]))
    others = [server.accept()[0] for _ in range(int(os.environ["WORLD_SIZE"]) - 1)]
    print(where[1], "met", *sorted(other.recv(9).decode() for other in others))
    for other in others:
        other.sendall(me.encode())
else:
    rank0 = dial()
    rank0.sendall(me.encode())
    print("hello", rank0.recv(9).decode())
"""
# Rank 0 listens where all are told to find it; the others say who they are and hear who it is.

OCCUPY = """
import socket, sys, time
taken = socket.create_server(("", int(sys.argv[1])))
print("taken", flush=True)
time.sleep(600)
"""


async def race(harness: EngineHarness, other: Engine, launch: Launch, pause: float) -> bool:
    """Launch here and settle there at once. True: it was found to run."""

    async def late() -> object:
        await asyncio.sleep(pause)
        return await harness.again(lambda: other.settle(launch.attempt_id))

    _, settled = await asyncio.gather(
        harness.engine.launch(launch, harness.engine.plan(launch)), late(), return_exceptions=True
    )
    assert not isinstance(settled, BaseException)
    return settled is not None


class Once:
    async def test_launched_twice_at_once_it_runs_once(self, harness: EngineHarness) -> None:
        runs = harness.outside / "runs"
        launch = harness.launch(shell(f"echo run >> {runs}"), attempt=attempt_id())
        plan = harness.engine.plan(launch)
        results = await asyncio.gather(
            *(harness.engine.launch(launch, plan) for _ in range(8)), return_exceptions=True
        )
        handles = {result.handle for result in results if isinstance(result, Seen)}
        if handles:
            assert len(handles) == 1
            await harness.ended(launch.attempt_id)
        elif await harness.again(lambda: harness.engine.settle(launch.attempt_id)):
            await harness.ended(launch.attempt_id)
        assert not runs.exists() or runs.read_text() == "run\n"

    async def test_launched_again_after_its_end_it_does_not_run_again(
        self, harness: EngineHarness
    ) -> None:
        runs = harness.outside / "runs"
        attempt = await harness.begin(shell(f"echo run >> {runs}"))
        await harness.ended(attempt)
        launch = harness.launch(shell(f"echo run >> {runs}"), attempt=attempt)
        seen = await harness.again(
            lambda: harness.engine.launch(launch, harness.engine.plan(launch))
        )
        assert seen.attempt_id == attempt
        assert seen.handle
        await harness.restart()
        assert (await harness.again(lambda: harness.engine.settle(attempt))) is not None
        assert runs.read_text() == "run\n"

    async def test_what_was_settled_as_never_started_never_starts(
        self, harness: EngineHarness
    ) -> None:
        ran = harness.outside / "ran"
        attempt = attempt_id()
        assert await harness.again(lambda: harness.engine.settle(attempt)) is None
        launch = harness.launch(shell(f"touch {ran}"), attempt=attempt)
        with pytest.raises((Refused, InDoubt)):
            await harness.again_unless_in_doubt(
                lambda: harness.engine.launch(launch, harness.engine.plan(launch))
            )
        assert await harness.again(lambda: harness.engine.settle(attempt)) is None
        assert not ran.exists()

    async def test_settling_races_with_launching_and_both_agree(
        self, harness: EngineHarness
    ) -> None:
        """As when a restarted server settles what its predecessor's launch is still about to do."""
        other = await harness.another()
        outcomes: set[bool] = set()
        lead = harness.pause
        for number in range(harness.rounds):
            ran = harness.outside / f"ran-{number}"
            launch = harness.launch(shell(f"echo x >> {ran}"))

            settled = await race(harness, other, launch, lead)
            outcomes.add(settled)
            # Towards the moment at which it may go either way, wherever this machine has it.
            shorter = lead * 0.7 if lead > harness.pause / 8 else 0.0
            lead = shorter if settled else min(max(lead, harness.pause) * 1.5, LONGEST_LEAD)
            if settled:
                await harness.ended(launch.attempt_id)
                assert ran.read_text() == "x\n"
            else:
                assert not await race(harness, other, launch, 0)
                assert not ran.exists()
        assert outcomes == {True, False}, "the race had one side only"

    async def test_an_old_leader_is_refused(self, harness: EngineHarness) -> None:
        await harness.run(argv("true"), epoch=7)
        late = harness.launch(argv("true"), epoch=6)
        with pytest.raises(Refused, match="epoch"):
            await harness.again(lambda: harness.engine.launch(late, harness.engine.plan(late)))
        await harness.restart()
        with pytest.raises(Refused, match="epoch"):
            await harness.again(lambda: harness.engine.launch(late, harness.engine.plan(late)))

    async def test_a_plan_is_the_same_each_time(self, harness: EngineHarness) -> None:
        launch = harness.launch(argv("true"), env={"A": "1"})
        assert harness.engine.plan(launch) == harness.engine.plan(launch)

    async def test_an_unknown_node_is_refused(self, harness: EngineHarness) -> None:
        launch = harness.launch(argv("true"))
        places = tuple(Placement("nowhere") for _ in launch.tasks)
        with pytest.raises(Refused, match="nowhere"):
            harness.engine.plan(replace(launch, places=places))


class Gangs:
    async def test_all_tasks_of_a_gang_run_and_know_each_other(
        self, harness: EngineHarness
    ) -> None:
        launch = harness.launch(argv("true"), count=3)
        ports = [await harness.leased(ports_needed(task, 3)) for task in launch.tasks]
        attempt = await harness.begin(argv(harness.python, "-c", MEET), count=3, ports=ports)
        tasks = await harness.ended(attempt)
        assert [task.exit_code for task in tasks] == [0, 0, 0]
        logs = [await harness.output(attempt, index) for index in range(3)]
        first = ports[0] or (await harness.placed(attempt)).ports
        assert logs[0].decode() == f"{first[0]} met 1/3 2/3\n"
        assert logs[1:] == [b"hello 0/3\n", b"hello 0/3\n"]

    async def test_each_task_ends_on_its_own(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(shell("exit $DANLU_TASK_INDEX"), count=3)
        tasks = await harness.ended(attempt)
        assert [task.exit_code for task in tasks] == [0, 1, 2]

    async def test_one_process_per_gpu_has_a_local_rank(self, harness: EngineHarness) -> None:
        two = Resources(GpuRequest(2), 1.0, 1 << 30, 1 << 26)
        attempt = await harness.begin(
            shell('echo "$RANK $LOCAL_RANK $WORLD_SIZE" >> ' + str(harness.outside / "ranks")),
            count=2,
            gpus=[(0, 1), (2, 3)],
            ports=[(1,), (2,)],
            processes=Processes.PER_GPU,
            resources=two,
        )
        await harness.ended(attempt)
        ranks = sorted((harness.outside / "ranks").read_text().splitlines())
        assert ranks == ["0 0 4", "1 1 4", "2 0 4", "3 1 4"]

    async def test_the_first_failing_process_ends_its_task(self, harness: EngineHarness) -> None:
        name = token()
        attempt = await harness.begin(
            shell(f'[ "$LOCAL_RANK" = 1 ] && exit 9; exec sleep {name}'),
            gpus=[(0, 1, 2)],
            ports=[(1,)],
            processes=Processes.PER_GPU,
        )
        tasks = await harness.ended(attempt)
        assert tasks[0].exit_code == 9
        assert not await harness.alive(name)

    async def test_leased_ports_are_free_and_never_leased_twice(
        self, harness: EngineHarness
    ) -> None:
        ports = harness.engine.ports
        (first,) = await ports.lease("first", harness.node, 1)
        await ports.free("first")
        taken = await harness.begin(argv(harness.python, "-c", OCCUPY, str(first)))
        await harness.printed(taken, b"taken")
        many = [await ports.lease("many", harness.node, 3) for _ in range(10)]
        await harness.stop(taken, 0)
        flat = [port for some in many for port in some]
        assert len(set(flat)) == 30
        assert first not in flat

    async def test_ports_that_were_leased_before_are_kept_until_they_are_freed(
        self, harness: EngineHarness
    ) -> None:
        ports = harness.engine.ports
        leased = await ports.lease("before", harness.node, 2)
        await harness.restart()
        ports = harness.engine.ports
        await ports.keep("before", harness.node, leased)
        assert (await ports.lease("after", harness.node, 1, leased[0]))[0] not in leased
        await ports.free("before")
        assert await ports.lease("again", harness.node, 1, leased[0]) == leased[:1]


class Nodes:
    """What is the node's, the engine answers."""

    async def test_folders_that_a_node_does_not_have_are_named(
        self, harness: EngineHarness
    ) -> None:
        there, gone = str(harness.outside), str(harness.outside / "gone")
        assert await harness.engine.missing_folders(harness.node, (there, gone)) == (gone,)

    async def test_the_disk_it_writes_to_has_a_size_and_a_name(
        self, harness: EngineHarness
    ) -> None:
        disk = await harness.engine.disk()
        assert disk is not None
        assert disk.free > 0 and disk.where

    async def test_all_logs_can_be_taken_along(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(shell("printf hello"), count=2)
        await harness.ended(attempt)

        def read() -> dict[str, bytes]:
            found = {}
            for log in harness.engine.export_logs():
                with log.content as content:
                    found[log.name] = content.read(log.size)
            return found

        logs = await asyncio.to_thread(read)
        mine = {name: text for name, text in logs.items() if attempt in name}
        assert len(mine) == 2 and set(mine.values()) == {b"hello"}

    async def test_a_task_that_asks_for_them_finds_the_steps_of_batch_scripts(
        self, harness: EngineHarness
    ) -> None:
        text = 'test -x "$DANLU_VOLUME_STEPS/bin/srun" && echo there'
        attempt = await harness.begin(shell(text), steps=True)
        await harness.ended(attempt)
        assert await harness.output(attempt) == b"there\n"
