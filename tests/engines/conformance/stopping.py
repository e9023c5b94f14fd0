"""Stopping, restarting, observing."""

from __future__ import annotations

import asyncio
import sys

from danlu.engines.api import (
    Phase,
    TaskRef,
)
from danlu.spec.job import Stdin
from tests.engines.world import (
    ESCAPE,
    JOB,
    PATIENCE,
    World,
    argv,
    attempt_id,
    eventually,
    processes_with,
    shell,
    token,
)


class Stopping:
    async def test_a_polite_signal_comes_first(self, world: World) -> None:
        attempt = await world.begin(
            shell("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
        )
        await world.printed(attempt, b"ready")
        tasks = await world.stop(attempt, 60)
        assert tasks[0].exit_code == 3
        log = await world.output(attempt)
        assert log.startswith(b"ready\n")
        assert log.endswith(b"bye\n")

    async def test_a_command_that_ignores_it_is_killed_after_the_grace(self, world: World) -> None:
        name = token()
        attempt = await world.begin(shell(f"trap '' TERM; echo ready; sleep {name}; sleep {name}"))
        await world.printed(attempt, b"ready")
        tasks = await world.stop(attempt, 0.2)
        assert tasks[0].signal == 9
        await eventually(lambda: not processes_with(name))

    async def test_a_shorter_grace_overrides_a_longer_one(self, world: World) -> None:
        attempt = await world.begin(shell("trap '' TERM; echo ready; while :; do sleep 9; done"))
        await world.printed(attempt, b"ready")
        await world.again(lambda: world.engine.stop(attempt, 3600))
        assert (await world.stop(attempt, 0))[0].signal == 9

    async def test_nothing_escapes(self, world: World) -> None:
        """A daemon, in a session of its own, that wiped its environment and ignores signals."""
        name = token()
        attempt = await world.begin(
            shell(f"trap '' TERM; {sys.executable} -c '{ESCAPE}' {name}; echo ready; sleep 600")
        )
        await world.printed(attempt, b"ready")
        await eventually(lambda: processes_with(name))
        await world.stop(attempt, 0.1)
        await eventually(lambda: not processes_with(name))

    async def test_stopping_what_has_ended_or_never_was_is_no_error(self, world: World) -> None:
        attempt = await world.begin(argv("true"))
        await world.ended(attempt)
        await world.again(lambda: world.engine.stop(attempt, 1))
        await world.again(lambda: world.engine.stop(attempt_id(), 1))
        assert (await world.ended(attempt))[0].exit_code == 0

    async def test_a_whole_gang_is_stopped(self, world: World) -> None:
        name = token()
        attempt = await world.begin(argv("sleep", name), count=4)
        await eventually(lambda: len(processes_with(name)) == 4)
        tasks = await world.stop(attempt, 30)
        assert {task.signal for task in tasks} == {15}
        assert not processes_with(name)


class Restarts:
    async def test_running_tasks_are_adopted(self, world: World) -> None:
        attempt = await world.begin(
            shell("for i in 1 2 3; do echo $i; read x; done; exit 5"), stdin=Stdin.PIPE
        )
        await world.printed(attempt, b"1\n")
        await world.restart()
        seen = await world.seen(attempt)
        assert seen is not None
        assert seen.tasks[0].phase is Phase.RUNNING
        attached = await world.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.send(b"a\nb\nc\n")
        assert (await world.ended(attempt))[0].exit_code == 5
        assert await world.output(attempt) == b"1\n2\n3\n"

    async def test_an_end_without_a_server_is_not_lost(self, world: World) -> None:
        go = world.outside / "go"
        attempt = await world.begin(
            shell(f"until [ -e {go} ]; do sleep 0.02; done; echo late; exit 6")
        )
        await world.engine.close()
        go.touch()
        await asyncio.sleep(0.3)
        await world.restart()
        assert (await world.ended(attempt))[0].exit_code == 6
        assert await world.output(attempt) == b"late\n"

    async def test_an_order_to_stop_outlives_the_server(self, world: World) -> None:
        name = token()
        attempt = await world.begin(shell(f"trap '' TERM; echo ready; sleep {name}; sleep {name}"))
        await world.printed(attempt, b"ready")
        await world.again(lambda: world.engine.stop(attempt, 0.3))
        await world.engine.close()
        await eventually(lambda: not processes_with(name))
        await world.restart()
        assert (await world.ended(attempt))[0].signal == 9

    async def test_what_ended_before_the_restart_can_still_be_forgotten(self, world: World) -> None:
        attempt = await world.begin(argv("true"))
        await world.ended(attempt)
        await world.restart()
        await world.again(lambda: world.engine.forget(attempt))
        assert await world.seen(attempt) is None


class Observing:
    async def test_outside_the_scope_nothing_is_claimed(self, world: World) -> None:
        first = await world.begin(argv("true"))
        await world.ended(first)
        before = await world.again(lambda: world.engine.observe(None))
        assert first in before.scope
        second = await world.begin(argv("true"))
        await world.ended(second)
        since = await world.again(lambda: world.engine.observe(before.cursor))
        assert since.scope == {second}
        assert [seen.attempt_id for seen in since.seen] == [second]
        nothing = await world.again(lambda: world.engine.observe(since.cursor))
        assert nothing.scope == frozenset()

    async def test_a_foreign_cursor_means_everything(self, world: World) -> None:
        attempt = await world.begin(argv("true"))
        await world.ended(attempt)
        observation = await world.again(lambda: world.engine.observe("from-another-life:3"))
        assert attempt in observation.scope

    async def test_the_forgotten_is_absent_and_its_log_stays(self, world: World) -> None:
        attempt = await world.begin(shell("echo kept"))
        await world.ended(attempt)
        await world.again(lambda: world.engine.forget(attempt))
        await world.again(lambda: world.engine.forget(attempt))
        assert await world.seen(attempt) is None
        assert await world.output(attempt) == b"kept\n"

    async def test_leftovers_of_attempts_nobody_knows_are_ended(self, world: World) -> None:
        names = token(), token()
        stale = await world.begin(argv("sleep", names[0]))
        live = await world.begin(argv("sleep", names[1]))
        await eventually(lambda: processes_with(names[0]) and processes_with(names[1]))
        await world.restart()
        count = await world.again(lambda: world.engine.sweep(frozenset({live})))
        assert count >= 1
        await eventually(lambda: not processes_with(names[0]))
        assert processes_with(names[1])
        assert await world.seen(stale) is None
        await world.stop(live, 0)

    async def test_use_is_measured(self, world: World) -> None:
        text = "x = b'1' * 50_000_000\nprint('ready', flush=True)\nwhile True: pass"
        attempt = await world.begin(argv(sys.executable, "-c", text))
        await world.printed(attempt, b"ready")
        ref = TaskRef(attempt, 0, JOB)

        async def used() -> bool:
            usage = (await world.engine.usage())[ref]
            return usage.cpu_seconds > 0.1 and usage.memory > 50_000_000 and usage.processes == 1

        async with asyncio.timeout(PATIENCE):
            while not await used():  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.05)
        await world.stop(attempt, 0)
