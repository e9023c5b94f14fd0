"""Stopping, restarting, observing."""

from __future__ import annotations

import asyncio

from danlu.engines.api import (
    Phase,
    TaskRef,
)
from danlu.spec.job import Stdin
from tests.engines.harness import (
    ESCAPE,
    JOB,
    PATIENCE,
    EngineHarness,
    argv,
    attempt_id,
    shell,
    token,
)


class Stopping:
    async def test_a_polite_signal_comes_first(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(
            shell("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
        )
        await harness.printed(attempt, b"ready")
        tasks = await harness.stop(attempt, 60)
        assert tasks[0].exit_code == 3
        log = await harness.output(attempt)
        assert log.startswith(b"ready\n")
        assert log.endswith(b"bye\n")

    async def test_a_command_that_ignores_it_is_killed_after_the_grace(
        self, harness: EngineHarness
    ) -> None:
        name = token()
        attempt = await harness.begin(
            shell(f"trap '' TERM; echo ready; sleep {name}; sleep {name}")
        )
        await harness.printed(attempt, b"ready")
        tasks = await harness.stop(attempt, 0.2)
        assert tasks[0].signal == 9
        await harness.until_gone(name)

    async def test_a_shorter_grace_overrides_a_longer_one(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(shell("trap '' TERM; echo ready; while :; do sleep 9; done"))
        await harness.printed(attempt, b"ready")
        await harness.again(lambda: harness.engine.stop(attempt, 3600))
        assert (await harness.stop(attempt, 0))[0].signal == 9

    async def test_nothing_escapes(self, harness: EngineHarness) -> None:
        """A daemon, in a session of its own, that wiped its environment and ignores signals."""
        name = token()
        attempt = await harness.begin(
            shell(f"trap '' TERM; {harness.python} -c '{ESCAPE}' {name}; echo ready; sleep 600")
        )
        await harness.printed(attempt, b"ready")
        await harness.until_alive(name)
        await harness.stop(attempt, 0.1)
        await harness.until_gone(name)

    async def test_stopping_what_has_ended_or_never_was_is_no_error(
        self, harness: EngineHarness
    ) -> None:
        attempt = await harness.begin(argv("true"))
        await harness.ended(attempt)
        await harness.again(lambda: harness.engine.stop(attempt, 1))
        await harness.again(lambda: harness.engine.stop(attempt_id(), 1))
        assert (await harness.ended(attempt))[0].exit_code == 0

    async def test_a_whole_gang_is_stopped(self, harness: EngineHarness) -> None:
        name = token()
        attempt = await harness.begin(argv("sleep", name), count=4)
        await harness.until_alive(name, 4)
        tasks = await harness.stop(attempt, 30)
        assert {task.signal for task in tasks} == {15}
        assert not await harness.alive(name)


class Restarts:
    async def test_running_tasks_are_adopted(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(
            shell("for i in 1 2 3; do echo $i; read x; done; exit 5"), stdin=Stdin.PIPE
        )
        await harness.printed(attempt, b"1\n")
        await harness.restart()
        seen = await harness.seen(attempt)
        assert seen is not None
        assert seen.tasks[0].phase is Phase.RUNNING
        attached = await harness.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.send(b"a\nb\nc\n")
        assert (await harness.ended(attempt))[0].exit_code == 5
        assert await harness.output(attempt) == b"1\n2\n3\n"

    async def test_an_end_without_a_server_is_not_lost(self, harness: EngineHarness) -> None:
        go = harness.outside / "go"
        attempt = await harness.begin(
            shell(f"until [ -e {go} ]; do sleep 0.02; done; echo late; exit 6")
        )
        await harness.engine.close()
        go.touch()
        await asyncio.sleep(0.3)
        await harness.restart()
        assert (await harness.ended(attempt))[0].exit_code == 6
        assert await harness.output(attempt) == b"late\n"

    async def test_an_order_to_stop_outlives_the_server(self, harness: EngineHarness) -> None:
        name = token()
        attempt = await harness.begin(
            shell(f"trap '' TERM; echo ready; sleep {name}; sleep {name}")
        )
        await harness.printed(attempt, b"ready")
        await harness.again(lambda: harness.engine.stop(attempt, 0.3))
        await harness.engine.close()
        await harness.until_gone(name)
        await harness.restart()
        assert (await harness.ended(attempt))[0].signal == 9

    async def test_what_ended_before_the_restart_can_still_be_forgotten(
        self, harness: EngineHarness
    ) -> None:
        attempt = await harness.begin(argv("true"))
        await harness.ended(attempt)
        seen = await harness.seen(attempt)
        assert seen is not None
        await harness.restart()
        await harness.again(lambda: harness.engine.forget(attempt, seen.handle))
        assert await harness.seen(attempt) is None


class Observing:
    async def test_outside_the_scope_nothing_is_claimed(self, harness: EngineHarness) -> None:
        first = await harness.begin(argv("true"))
        await harness.ended(first)
        before = await harness.again(lambda: harness.engine.observe(None))
        assert first in before.scope
        second = await harness.begin(argv("true"))
        await harness.ended(second)
        since = await harness.again(lambda: harness.engine.observe(before.cursor))
        assert since.scope == {second}
        assert [seen.attempt_id for seen in since.seen] == [second]
        nothing = await harness.again(lambda: harness.engine.observe(since.cursor))
        assert nothing.scope == frozenset()

    async def test_a_foreign_cursor_means_everything(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(argv("true"))
        await harness.ended(attempt)
        observation = await harness.again(lambda: harness.engine.observe("from-another-life:3"))
        assert attempt in observation.scope

    async def test_the_forgotten_is_absent_and_its_log_stays(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(shell("echo kept"))
        await harness.ended(attempt)
        await harness.again(lambda: harness.engine.forget(attempt))
        await harness.again(lambda: harness.engine.forget(attempt))
        assert await harness.seen(attempt) is None
        assert await harness.output(attempt) == b"kept\n"

    async def test_leftovers_of_attempts_nobody_knows_are_ended(
        self, harness: EngineHarness
    ) -> None:
        names = token(), token()
        stale = await harness.begin(argv("sleep", names[0]))
        live = await harness.begin(argv("sleep", names[1]))
        for name in names:
            await harness.until_alive(name)
        await harness.restart()
        count = await harness.again(lambda: harness.engine.sweep(lambda: frozenset({live})))
        assert count >= 1
        await harness.until_gone(names[0])
        assert await harness.alive(names[1])
        assert await harness.seen(stale) is None
        await harness.stop(live, 0)

    async def test_use_is_measured(self, harness: EngineHarness) -> None:
        text = "x = b'1' * 50_000_000\nprint('ready', flush=True)\nwhile True: pass"
        attempt = await harness.begin(argv(harness.python, "-c", text))
        await harness.printed(attempt, b"ready")
        ref = TaskRef(attempt, 0, JOB)

        async def used() -> bool:
            usage = (await harness.engine.usage()).tasks[ref]
            return usage.cpu_seconds > 0.1 and usage.memory > 50_000_000 and usage.processes == 1

        async with asyncio.timeout(PATIENCE):
            while not await used():  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.05)
        await harness.stop(attempt, 0)
