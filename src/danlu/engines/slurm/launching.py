"""Submits exactly once, settles submissions in doubt, stops and forgets.

A submission may be repeated: every script claims the attempt before it does anything, and only one
can. What is in doubt is therefore settled by looking for its job, and by taking the claim.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from danlu.engines.api import (
    InDoubt,
    Launch,
    Phase,
    Plan,
    Refused,
    Seen,
    TaskSeen,
    Unreachable,
)
from danlu.engines.slurm import quick
from danlu.engines.slurm.attempts import ENDED, Attempt, Index, Record, is_of, judge, read_record
from danlu.engines.slurm.commands import (
    Commands,
    brief,
    environment,
    is_away,
    submission_error,
)
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.logs import Owners
from danlu.engines.slurm.node.worker import FENCED
from danlu.engines.slurm.queue import Entry
from danlu.engines.slurm.reach import WAKE, Doors, ask_once
from danlu.engines.slurm.users import Silent, User, Users
from danlu.engines.slurm.watch import Watch

log = logging.getLogger("danlu.slurm")

_STOP_PATIENCE = 20.0  # seconds beyond the grace period before Slurm kills the job
_WAKING = 5.0
_DOORS = 3.0
_CANCEL_TRIES = 20
FENCED_OFF = "it was settled as never started"


class Launcher:
    def __init__(
        self,
        config: SlurmConfig,
        commands: Commands,
        users: Users,
        index: Index,
        watch: Watch,
        doors: Doors,
        owners: Owners,
    ) -> None:
        self._config = config
        self._commands = commands
        self._users = users
        self._index = index
        self._watch = watch
        self._doors = doors
        self._owners = owners
        self._busy: dict[str, asyncio.Task[Seen]] = {}
        self._background: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> frozenset[str]:
        return frozenset(self._busy)

    async def close(self) -> None:
        for task in [*self._background, *self._busy.values()]:
            task.cancel()
        await asyncio.gather(*self._background, *self._busy.values(), return_exceptions=True)

    def known(self, attempt_id: str) -> Attempt | None:
        attempt = self._watch.attempts.get(attempt_id)
        if attempt is None and attempt_id not in self._busy:
            attempt = self._index.load(attempt_id)
            if attempt is not None:
                self._watch.add(attempt)
        return attempt

    # -- launching ----------------------------------------------------------------------------

    async def launch(self, launch: Launch, plan: Plan) -> Seen:
        attempt_id = launch.attempt_id
        task = self._busy.get(attempt_id)
        if task is None:
            known = self._watch.attempts.get(attempt_id)
            if known is not None and known.handle:
                return known.view()
            task = asyncio.create_task(self._launch(launch, plan))
            self._busy[attempt_id] = task
            task.add_done_callback(lambda done: self._no_longer_busy(attempt_id, done))
        return await asyncio.shield(task)

    def _no_longer_busy(self, attempt_id: str, done: asyncio.Task[Seen]) -> None:
        self._busy.pop(attempt_id, None)
        if not done.cancelled():
            done.exception()  # somebody may have stopped waiting for it

    async def _launch(self, launch: Launch, plan: Plan) -> Seen:
        user = User.of(launch.identity)
        fresh = Attempt(
            launch.attempt_id,
            user,
            launch.job_id,
            len(launch.tasks),
            launch.installation,
            secrets.token_hex(32),
        )
        attempt, before = self._register(fresh, launch.epoch)
        if before:
            found = await self._find(attempt)
            if found is not None:
                return found
        attempt.launching = True
        try:
            await self._submit(attempt, plan, again=before)
        finally:
            attempt.launching = False
        if launch.terms.priority > 0 and os.geteuid() == 0:
            self._soon(self._raise_priority(attempt.handle, launch.terms.priority))
        self._watch.launched(attempt)
        return attempt.view()

    def _register(self, fresh: Attempt, epoch: int) -> tuple[Attempt, bool]:
        """The attempt, and whether it was registered before."""
        values = self._index.read(fresh.id)
        if values is not None and values.get("fenced"):
            raise Refused(FENCED_OFF)
        known = self._watch.attempts.get(fresh.id) or self._index.attempt(fresh.id, values)
        if known is not None:
            return known, True
        late = self._index.pass_epoch(epoch)
        if late is not None:
            raise Refused(f"epoch {epoch} is older than {late}")
        if not self._index.add(fresh.id, fresh.values()):
            return self._register(fresh, epoch)
        self._owners.add(fresh.id, fresh.user)
        return fresh, False

    async def _submit(self, attempt: Attempt, plan: Plan, again: bool) -> None:
        head, body = _request(attempt, plan)
        deadline = self._config.deadline
        head |= {
            "argv": self._commands.argv("sbatch", "--parsable"),
            "env": environment(self._config) | _own_env(attempt.user),
            "deadline": deadline,
            "again": again,
        }
        self._commands.count.add("sbatch")
        lane = self._users.submit_lane()
        try:
            answer, _ = await self._users.ask(
                attempt.user, "submit", head, body, lane, deadline + 30
            )
        except Silent as error:
            raise InDoubt(str(error)) from error
        except Unreachable:
            self._withdraw(attempt, again)
            raise
        if not answer.get("made"):
            raise InDoubt("it is being settled, or was submitted before")
        code, said = answer.get("code"), str(answer.get("err", ""))
        handle = str(answer.get("out", "")).strip().partition(";")[0]
        if code == 0 and handle.isdigit():
            attempt.handle = handle
            return
        failure = submission_error(code if isinstance(code, int) else None, said)
        if not isinstance(failure, InDoubt):
            await self._undo(attempt, again)
        raise failure

    def _withdraw(self, attempt: Attempt, again: bool) -> None:
        """Nothing was written or sent: as if it had never been launched."""
        if not again:
            self._index.remove(attempt.id)

    async def _undo(self, attempt: Attempt, again: bool) -> None:
        with contextlib.suppress(Unreachable, Silent):
            await self._users.ask(attempt.user, "remove", {"attempt": attempt.id})
            self._withdraw(attempt, again)

    async def _raise_priority(self, handle: str, priority: int) -> None:
        with contextlib.suppress(Unreachable, Refused):
            nice = f"Nice={-priority * self._config.nice}"
            await self._commands.run("scontrol", "update", f"JobId={handle}", nice)

    # -- settling -----------------------------------------------------------------------------

    async def settle(self, attempt_id: str) -> Seen | None:
        launching = self._busy.get(attempt_id)
        if launching is not None:
            await asyncio.wait((launching,))
        if self._index.add(attempt_id, {"fenced": True}):
            return None
        attempt = self._watch.attempts.get(attempt_id) or self._index.load(attempt_id)
        if attempt is None:
            return None
        found = await self._find(attempt)
        if found is not None:
            return found
        claim = await self._fence(attempt)
        if claim == FENCED:
            self._index.fence(attempt_id)
            self._watch.drop(attempt_id)
            return None
        return await self._adopted(attempt, claim)

    async def _find(self, attempt: Attempt) -> Seen | None:
        """By its records, then by its comment in Slurm's queue."""
        record = await self._record(attempt)
        if record.claim and record.claim != FENCED:
            return await self._adopted(attempt, record.claim)
        if record.claim == FENCED:
            return None
        entry = await self._entry(attempt)
        if entry is None:
            return None
        return await self._adopted(attempt, entry.number)

    async def _entry(self, attempt: Attempt) -> Entry | None:
        await self._watch.look()
        found = [e for e in self._watch.entries if is_of(e, attempt) and not e.over]
        return min(found, key=lambda e: int(e.number or 0), default=None)

    async def _adopted(self, attempt: Attempt, handle: str) -> Seen:
        if self._watch.may_claim(handle, attempt):
            attempt.handle = handle
        if not attempt.ended:
            judge(attempt, await self._record(attempt), None, sure=False)
        self._watch.add(attempt)
        self._watch.hurry()
        return attempt.view()

    async def _record(self, attempt: Attempt) -> Record:
        try:
            asked = {"attempts": {attempt.id: attempt.count}}
            answer, _ = await self._users.ask(attempt.user, "records", asked)
        except Silent as error:
            raise Unreachable(str(error)) from error
        records = answer.get("records")
        found = records.get(attempt.id) if isinstance(records, dict) else None
        return read_record(found, attempt.count, self._watch.nodes)

    async def _fence(self, attempt: Attempt) -> str:
        try:
            asked = {"attempt": attempt.id, "make": True}
            answer, _ = await self._users.ask(attempt.user, "fence", asked)
        except Silent as error:
            raise Unreachable(str(error)) from error
        return str(answer.get("claim"))

    # -- ending -------------------------------------------------------------------------------

    async def stop(self, attempt_id: str, grace: float, handle: str = "") -> None:
        launching = self._busy.get(attempt_id)
        if launching is not None:
            await asyncio.wait((launching,))
        attempt = self.known(attempt_id)
        if attempt is None or attempt.ended:
            return
        attempt.handle = attempt.handle or (handle if handle.isdigit() else "")
        attempt.stopping = True
        claim = await self._fence(attempt)
        if claim == FENCED:
            self._never_started(attempt)
            self._soon(self._cancel(attempt.user, attempt.handle))
            return
        await self._order(attempt, grace)
        self._soon(self._insist(attempt, max(0.0, grace) + _STOP_PATIENCE))
        self._watch.hurry()

    def _never_started(self, attempt: Attempt) -> None:
        """It waited in Slurm's queue, and now its script can claim nothing."""
        end = TaskSeen(0, Phase.EXITED, exit_code=143, signal=15, ended_at=time.time())
        attempt.tasks = tuple(replace(end, task=i) for i in range(attempt.count))
        self._watch.mark(attempt)

    async def _order(self, attempt: Attempt, grace: float) -> None:
        asked = {"attempt": attempt.id, "tasks": attempt.count, "grace": max(0.0, grace)}
        try:
            answer, _ = await self._users.ask(attempt.user, "order", asked)
        except Silent as error:
            raise Unreachable(str(error)) from error
        found = {"claim": attempt.handle, "tasks": answer.get("tasks")}
        before = attempt.tasks
        judge(attempt, read_record(found, attempt.count, self._watch.nodes), None, sure=False)
        if attempt.tasks != before:
            self._watch.mark(attempt)
        self._watch.open_doors(attempt)
        await self._until_doors(attempt)
        waking = [
            self._wake(attempt, task.task) for task in attempt.tasks if task.phase is Phase.RUNNING
        ]
        heard = await asyncio.gather(*waking)
        if not all(heard) and attempt.handle:
            # The port may be closed to us; Slurm's own signal reaches the same keepers.
            self._soon(self._signal(attempt.user, attempt.handle))

    async def _until_doors(self, attempt: Attempt) -> None:
        """A shell starts a simple task; its keeper comes a little later, and reads the order."""
        limit = time.monotonic() + _DOORS
        while (
            any(t.phase is Phase.RUNNING and t.task not in attempt.doors for t in attempt.tasks)
            and time.monotonic() < limit
        ):
            await asyncio.sleep(0.1)
            await self._watch.glance(attempt)

    async def _wake(self, attempt: Attempt, task: int) -> bool:
        door = self._doors.read(attempt.id, task)
        if door is None:
            return False
        try:
            await ask_once(door, WAKE, _WAKING)
        except Unreachable:
            return False
        return True

    async def _scancel(self, user: User, *words: str) -> None:
        """As the job's user: a number may come from what a user wrote, and root may end any job.
        Raises Unreachable or Refused.
        """
        deadline = self._config.deadline
        head = {
            "argv": self._commands.argv("scancel", *words),
            "env": environment(self._config) | _own_env(user),
            "deadline": deadline,
        }
        self._commands.count.add("scancel")
        lane = self._users.submit_lane()
        try:
            answer, _ = await self._users.ask(user, "submit", head, b"", lane, deadline + 30)
        except Silent as error:
            raise Unreachable(str(error)) from error
        code, said = answer.get("code"), str(answer.get("err", ""))
        if code != 0:
            away = not isinstance(code, int) or code < 0 or is_away(said)
            raise (Unreachable if away else Refused)(brief("scancel", said))

    async def _signal(self, user: User, handle: str) -> None:
        with contextlib.suppress(Unreachable, Refused):
            await self._scancel(user, "--full", "--signal=TERM", handle)

    async def _insist(self, attempt: Attempt, after: float) -> None:
        await asyncio.sleep(after)
        if not attempt.ended and attempt.handle:
            await self._cancel(attempt.user, attempt.handle)

    async def _cancel(self, user: User, handle: str) -> None:
        """Until Slurm has heard it: a job that waits would keep its place for nothing."""
        for number in range(_CANCEL_TRIES):
            if not handle:
                return
            try:
                await self._scancel(user, handle)
            except Refused:
                return  # it has ended
            except Unreachable:
                await asyncio.sleep(min(60.0, 2.0**number))
            else:
                return

    async def forget(self, attempt_id: str, handle: str = "") -> None:
        attempt = self.known(attempt_id)
        if attempt is None:
            self._index.remove(attempt_id)
            return
        if not attempt.ended:
            self._soon(self._cancel(attempt.user, attempt.handle or handle))
        self._watch.drop(attempt_id)
        try:
            await self._users.ask(attempt.user, "remove", {"attempt": attempt_id})
        except Silent as error:
            raise Unreachable(str(error)) from error
        self._doors.remove(attempt_id, attempt.count)
        self._index.remove(attempt_id)

    async def sweep(self, live: Callable[[], frozenset[str]], installation: str) -> int:
        await self._watch.look()
        self._watch.adopt_all()
        entries = self._watch.entries
        attempts = list(self._watch.attempts.values())
        kept = live() | self.busy
        count = 0
        for attempt in attempts:
            foreign = installation and attempt.installation not in ("", installation)
            if attempt.id in kept or foreign:
                continue
            count += sum(task.phase not in ENDED for task in attempt.tasks)
            if not attempt.ended:
                with contextlib.suppress(Refused):
                    await self._end_now(attempt)
            await self.forget(attempt.id)
        strays = {
            entry.number
            for entry in entries
            if installation
            and entry.installation == installation
            and entry.attempt not in kept
            and not entry.over
            and entry.attempt not in {attempt.id for attempt in attempts}
        }
        for number in strays:
            with contextlib.suppress(Refused):
                await self._commands.run("scancel", number)
        return count + len(strays)

    async def _end_now(self, attempt: Attempt) -> None:
        await self._fence(attempt)
        await self._order(attempt, 0.0)
        if attempt.handle:
            await self._scancel(attempt.user, attempt.handle)

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _request(attempt: Attempt, plan: Plan) -> tuple[dict[str, Any], bytes]:
    """The worker's request: the script, then the files of the attempt's folder."""
    values = json.loads(plan.payload)
    script = values["script"].encode()
    files: list[tuple[str, bytes]] = []
    for index, (task, own) in enumerate(zip(values["tasks"], values["secrets"], strict=True)):
        text = json.dumps(task | {"token": attempt.token})
        files.append((f"{index}.task", text.encode()))
        if own:
            files.append((f"{index}.secrets", json.dumps(own).encode()))
    short = values["quick"]
    if short is not None:
        files.append((quick.NAME, short["text"].encode()))
    head = {
        "quick": short and short["layout"],
        "attempt": attempt.id,
        "tasks": attempt.count,
        "files": [[name, len(data)] for name, data in files],
        "script": len(script),
    }
    return head, script + b"".join(data for _, data in files)


def _own_env(user: User) -> dict[str, str]:
    """All that sbatch passes on to the job: nothing of the server's."""
    return {"HOME": user.home, "USER": user.name, "LOGNAME": user.name, "SHELL": "/bin/sh"}
