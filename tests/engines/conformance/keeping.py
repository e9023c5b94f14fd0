"""Terminals that stay in their task when their connection is lost."""

from __future__ import annotations

import asyncio
import itertools
import signal

import pytest

from danlu.engines.api import Duplex, Keep, Run, TaskRef, Tty
from danlu.engines.local.keeper import kept
from tests.engines.conformance.talking import heard, until
from tests.engines.harness import JOB, EngineHarness, argv, token

ONE = Keep("alice", "one")


async def keep_typing(link: Duplex, line: bytes) -> None:
    while True:
        await link.send(line)
        await asyncio.sleep(1)


class Keeping:
    async def _task(self, harness: EngineHarness) -> TaskRef:
        return TaskRef(await harness.begin(argv("sleep", "600")), 0, JOB)

    async def test_a_kept_terminal_comes_back_with_its_screen(self, harness: EngineHarness) -> None:
        ref = await self._task(harness)
        first = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=ONE))
        await first.send(b"word=kept; echo is-$word\n")
        await until(first, b"is-kept")
        await first.close()
        again = await harness.engine.exec(ref, Run(("sh",), Tty(33, 111), keep=ONE))
        await until(again, b"is-kept")
        await again.send(b"echo still-$word; stty size; exit 7\n")
        data = await heard(again)
        assert b"still-kept" in data
        assert b"33 111" in data
        assert await again.exit_code() == 7
        fresh = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=ONE))
        await fresh.send(b"echo fresh-$word-; exit\n")
        data = await heard(fresh)
        assert b"fresh--" in data
        assert b"is-kept" not in data
        await harness.stop(ref.attempt_id, 0)

    async def test_it_goes_on_while_nobody_is_connected(self, harness: EngineHarness) -> None:
        ref = await self._task(harness)
        lines = f"while [ $i -lt 4000 ]; do i=$((i+1)); echo line-$i {'x' * 100}; done"
        line = f"echo ready; read x; i=0; {lines}; echo end''ed; exec cat"
        first = await harness.engine.exec(ref, Run(("sh", "-c", line), Tty(), keep=ONE))
        await until(first, b"ready")
        await first.send(b"\n")
        await first.close()
        data = b""
        for number in itertools.count():
            await asyncio.sleep(0.2)
            again = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=ONE))
            await again.send(b"mark-%d.\n" % number)
            data = await until(again, b"mark-%d." % number)
            await again.close()
            if b"ended" in data:
                break
        assert len(data) < 400_000  # of more than that, what was printed last
        assert data.startswith(b"line-"), "from the beginning of a line"
        assert b"line-4000 " in data
        await harness.stop(ref.attempt_id, 0)

    async def test_questions_to_the_terminal_are_not_repeated(self, harness: EngineHarness) -> None:
        ref = await self._task(harness)
        asks = r"printf 'a\033[6nb\033[cc\033]11;?\007d\033[1mbold\n'; exec cat"
        first = await harness.engine.exec(ref, Run(("sh", "-c", asks), Tty(), keep=ONE))
        assert b"a\x1b[6nb\x1b[cc" in await until(first, b"bold")
        await first.close()
        again = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=ONE))
        assert b"abcd\x1b[1mbold" in await until(again, b"bold")
        await harness.stop(ref.attempt_id, 0)

    async def test_the_next_connection_cuts_off_the_one_before(
        self, harness: EngineHarness
    ) -> None:
        ref = await self._task(harness)
        first = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=ONE))
        await first.send(b"word=kept; echo is-$word\n")
        await until(first, b"is-kept")
        second = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=ONE))
        await until(second, b"is-kept")
        await heard(first)
        with pytest.raises(OSError, match="taken over"):
            await first.exit_code()
        await first.close()
        await second.send(b"echo and-$word\n")
        await until(second, b"and-kept")
        # One who does not read cannot hold it either.
        await second.send(b"while :; do echo flood; done\n")
        await until(second, b"flood")
        third = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=ONE))
        await until(third, b"flood")
        await third.send(b"\x03")
        # The terminal may drop what is typed before the shell has taken the interrupt.
        typing = asyncio.create_task(keep_typing(third, b"echo in-$word\n"))
        await until(third, b"in-kept")
        typing.cancel()
        await harness.stop(ref.attempt_id, 0)

    async def test_the_name_is_good_for_one_person_only(self, harness: EngineHarness) -> None:
        ref = await self._task(harness)
        first = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=ONE))
        await first.send(b"word=kept; echo is-$word\n")
        await until(first, b"is-kept")
        other = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=Keep("bob", "one")))
        await other.send(b"echo fresh-$word-; exit\n")
        assert b"is-kept" not in await heard(other)
        await harness.stop(ref.attempt_id, 0)

    async def test_a_hangup_ends_it_and_so_does_the_task(self, harness: EngineHarness) -> None:
        ref = await self._task(harness)
        names = [token() for _ in range(3)]
        for name in names:
            run = Run(("sh", "-c", f"trap : HUP; sleep {name}"), Tty(), keep=Keep("alice", name))
            duplex = await harness.engine.exec(ref, run)
            await harness.until_alive(name)
            if name == names[0]:
                await duplex.signal(signal.SIGHUP)
            await duplex.close()
        await harness.until_gone(names[0])
        await harness.engine.hang_up(ref, "bob")
        assert await harness.alive(names[1])
        again = Run(("sh",), Tty(), keep=Keep("alice", names[1]))
        await (await harness.engine.exec(ref, again)).signal(signal.SIGHUP)
        await harness.until_gone(names[1])
        await harness.stop(ref.attempt_id, 0)
        assert not await harness.alive(names[2])

    async def test_all_of_one_person_end_when_asked_for(self, harness: EngineHarness) -> None:
        ref = await self._task(harness)
        name = token()
        run = Run(("sleep", name), Tty(), keep=ONE)
        await (await harness.engine.exec(ref, run)).close()
        await harness.until_alive(name)
        await harness.engine.hang_up(ref, "alice")
        await harness.until_gone(name)
        await harness.stop(ref.attempt_id, 0)

    async def test_their_number_is_bounded(self, harness: EngineHarness) -> None:
        """Whoever has as many as they may loses the one they left first, if they left any."""
        ref = await self._task(harness)
        open_ones = []
        for number in range(kept.MOST_EACH):
            keep = Keep("alice", str(number))
            duplex = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=keep))
            await duplex.send(f"me={number}; echo is-$me\n".encode())
            await until(duplex, f"is-{number}".encode())
            open_ones.append(duplex)
        more = Run(("sh",), Tty(), keep=Keep("alice", "more"))
        assert b"close one" in await heard(await harness.engine.exec(ref, more))
        bob = Run(("sh",), Tty(), keep=Keep("bob", "0"))
        bobs = await harness.engine.exec(ref, bob)
        await bobs.send(b"echo bob-$((1+1))\n")
        await until(bobs, b"bob-2")
        await open_ones[3].close()
        answer = b"close one"
        # What is typed while it is refused breaks the connection, sometimes before the words came.
        while not answer or b"close one" in answer:
            duplex = await harness.engine.exec(ref, more)
            await duplex.send(b"echo more-$((1+1)); exit\n")
            answer = await heard(duplex)
        assert b"more-2" in answer
        again = await harness.engine.exec(ref, Run(("sh",), Tty(), keep=Keep("alice", "3")))
        await again.send(b"echo fresh-$me-; exit\n")
        assert b"fresh--" in await heard(again)
        await harness.stop(ref.attempt_id, 0)
