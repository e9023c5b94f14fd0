"""A launch: exactly once or never, whole gangs, nobody in between."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace

import pytest

from danlu.engines.api import (
    Engine,
    InDoubt,
    Launch,
    Refused,
)
from danlu.engines.peers import ports_needed
from danlu.spec.job import GpuRequest, Processes, Resources
from tests.engines.world import (
    World,
    argv,
    attempt_id,
    processes_with,
    shell,
    token,
)

LONGEST_LEAD = 2.0


async def race(world: World, other: Engine, launch: Launch, pause: float) -> bool:
    """Launch here and settle there at once. True: it was found to run."""

    async def late() -> object:
        await asyncio.sleep(pause)
        return await world.again(lambda: other.settle(launch.attempt_id))

    _, settled = await asyncio.gather(
        world.engine.launch(launch, world.engine.plan(launch)), late(), return_exceptions=True
    )
    assert not isinstance(settled, BaseException)
    return settled is not None


class Once:
    async def test_launched_twice_at_once_it_runs_once(self, world: World) -> None:
        runs = world.outside / "runs"
        launch = world.launch(shell(f"echo run >> {runs}"), attempt=attempt_id())
        plan = world.engine.plan(launch)
        results = await asyncio.gather(
            *(world.engine.launch(launch, plan) for _ in range(8)), return_exceptions=True
        )
        handles = {result for result in results if isinstance(result, str)}
        if handles:
            assert len(handles) == 1
            await world.ended(launch.attempt_id)
        elif await world.again(lambda: world.engine.settle(launch.attempt_id)):
            await world.ended(launch.attempt_id)
        assert not runs.exists() or runs.read_text() == "run\n"

    async def test_launched_again_after_its_end_it_does_not_run_again(self, world: World) -> None:
        runs = world.outside / "runs"
        attempt = await world.begin(shell(f"echo run >> {runs}"))
        await world.ended(attempt)
        launch = world.launch(shell(f"echo run >> {runs}"), attempt=attempt)
        handle = await world.again(lambda: world.engine.launch(launch, world.engine.plan(launch)))
        assert handle == attempt
        await world.restart()
        assert (await world.again(lambda: world.engine.settle(attempt))) is not None
        assert runs.read_text() == "run\n"

    async def test_what_was_settled_as_never_started_never_starts(self, world: World) -> None:
        ran = world.outside / "ran"
        attempt = attempt_id()
        assert await world.again(lambda: world.engine.settle(attempt)) is None
        launch = world.launch(shell(f"touch {ran}"), attempt=attempt)
        with pytest.raises((Refused, InDoubt)):
            await world.again_unless_in_doubt(
                lambda: world.engine.launch(launch, world.engine.plan(launch))
            )
        assert await world.again(lambda: world.engine.settle(attempt)) is None
        assert not ran.exists()

    async def test_settling_races_with_launching_and_both_agree(self, world: World) -> None:
        """As when a restarted server settles what its predecessor's launch is still about to do."""
        other = await world.another()
        outcomes: set[bool] = set()
        lead = world.pause
        for number in range(world.rounds):
            ran = world.outside / f"ran-{number}"
            launch = world.launch(shell(f"echo x >> {ran}"))

            settled = await race(world, other, launch, lead)
            outcomes.add(settled)
            # Towards the moment at which it may go either way, wherever this machine has it.
            shorter = lead * 0.7 if lead > world.pause / 8 else 0.0
            lead = shorter if settled else min(max(lead, world.pause) * 1.5, LONGEST_LEAD)
            if settled:
                await world.ended(launch.attempt_id)
                assert ran.read_text() == "x\n"
            else:
                assert not await race(world, other, launch, 0)
                assert not ran.exists()
        assert outcomes == {True, False}, "the race had one side only"

    async def test_an_old_leader_is_refused(self, world: World) -> None:
        await world.run(argv("true"), epoch=7)
        late = world.launch(argv("true"), epoch=6)
        with pytest.raises(Refused, match="epoch"):
            await world.again(lambda: world.engine.launch(late, world.engine.plan(late)))
        await world.restart()
        with pytest.raises(Refused, match="epoch"):
            await world.again(lambda: world.engine.launch(late, world.engine.plan(late)))

    async def test_a_plan_is_the_same_each_time(self, world: World) -> None:
        launch = world.launch(argv("true"), env={"A": "1"})
        assert world.engine.plan(launch) == world.engine.plan(launch)

    async def test_an_unknown_node_is_refused(self, world: World) -> None:
        launch = world.launch(argv("true"))
        places = tuple(replace(place, node="nowhere") for place in launch.places or ())
        with pytest.raises(Refused, match="nowhere"):
            world.engine.plan(replace(launch, places=places))


class Gangs:
    async def test_all_tasks_of_a_gang_run_and_know_each_other(self, world: World) -> None:
        launch = world.launch(argv("true"), count=3)
        ports = [
            world.engine.ports.lease(world.node, ports_needed(task, 3)) for task in launch.tasks
        ]
        attempt = await world.begin(
            shell('echo "$RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"'), count=3, ports=ports
        )
        tasks = await world.ended(attempt)
        assert [task.exit_code for task in tasks] == [0, 0, 0]
        logs = [await world.output(attempt, index) for index in range(3)]
        heads = [log.decode().split()[0] for log in logs]
        assert heads == ["0/3", "1/3", "2/3"]
        assert {log.split()[1] for log in logs} == {f"127.0.0.1:{ports[0][0]}".encode()}

    async def test_each_task_ends_on_its_own(self, world: World) -> None:
        attempt = await world.begin(shell("exit $DANLU_TASK_INDEX"), count=3)
        tasks = await world.ended(attempt)
        assert [task.exit_code for task in tasks] == [0, 1, 2]

    async def test_one_process_per_card_has_a_local_rank(self, world: World) -> None:
        two = Resources(GpuRequest(2), 1.0, 1 << 30, 1 << 26)
        attempt = await world.begin(
            shell('echo "$RANK $LOCAL_RANK $WORLD_SIZE" >> ' + str(world.outside / "ranks")),
            count=2,
            gpus=[(0, 1), (2, 3)],
            ports=[(1,), (2,)],
            processes=Processes.PER_GPU,
            resources=two,
        )
        await world.ended(attempt)
        ranks = sorted((world.outside / "ranks").read_text().splitlines())
        assert ranks == ["0 0 4", "1 1 4", "2 0 4", "3 1 4"]

    async def test_the_first_failing_process_ends_its_task(self, world: World) -> None:
        name = token()
        attempt = await world.begin(
            shell(f'[ "$LOCAL_RANK" = 1 ] && exit 9; exec sleep {name}'),
            gpus=[(0, 1, 2)],
            ports=[(1,)],
            processes=Processes.PER_GPU,
        )
        tasks = await world.ended(attempt)
        assert tasks[0].exit_code == 9
        assert not processes_with(name)

    async def test_leased_ports_are_free_and_never_leased_twice(self, world: World) -> None:
        ports = world.engine.ports
        with socket.socket() as taken:
            first = ports.lease(world.node, 1)[0]
            ports.release((first,))
            taken.bind(("", first))
            taken.listen()
            many = [ports.lease(world.node, 3) for _ in range(10)]
        flat = [port for some in many for port in some]
        assert len(set(flat)) == 30
        assert first not in flat
