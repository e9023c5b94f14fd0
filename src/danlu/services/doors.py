"""Doors into tasks that are not HTTP: who comes in, and which task they come to.

The gateway that serves them is a process of its own. It asks here once for a connection; what goes
through the connection afterwards does not need the server.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from danlu.access.errors import Clash, NotAllowed, NotThere, WrongPassword
from danlu.access.gate import Gate
from danlu.access.principal import Asker
from danlu.access.sign_in import SSH, SignIn
from danlu.access.ssh_keys import SshKeys
from danlu.engines.api import Engine, Reachable, TaskRef
from danlu.files.home_keys import HomeKeys
from danlu.services.logins import Logins
from danlu.services.tasks import Tasks
from danlu.spec.text import Text
from danlu.store.errors import StoreError
from danlu.store.rows import JobRow

_STARTING_PATIENCE = 15.0  # seconds; the gateway waits a little longer


@dataclass(frozen=True, slots=True)
class Way:
    """How the gateway gets to a task by itself."""

    ref: str
    job_id: str
    owner: str
    task: TaskRef
    reach: Mapping[str, str]
    env: Mapping[str, str]


class Doors:
    def __init__(
        self,
        gate: Gate,
        sign_in: SignIn,
        keys: SshKeys,
        at_home: HomeKeys,
        tasks: Tasks,
        logins: Logins,
    ) -> None:
        self._gate = gate
        self._sign_in = sign_in
        self._keys = keys
        self._at_home = at_home
        self._tasks = tasks
        self.logins = logins

    async def knows_key(self, name: str, fingerprint: str) -> bool:
        """Whether it was added on the platform, or is in the person's home."""
        if await self._keys.knows(name, fingerprint):
            return True
        known = await self._sign_in.knows(name)
        return known and await self._at_home.knows(name, fingerprint)

    async def by_password(self, name: str, password: str, address: str) -> Asker:
        signed = await self._sign_in.login(name, password, address, kind=SSH, label="ssh")
        return await self._let_in(Asker(signed.who, address))

    async def by_key(self, name: str, fingerprint: str, address: str) -> Asker:
        """Whoever asks has made sure that the key was shown."""
        if not await self.knows_key(name, fingerprint):
            raise WrongPassword
        signed = await self._sign_in.by_key(name, fingerprint, address)
        return await self._let_in(Asker(signed.who, address))

    async def _let_in(self, asks: Asker) -> Asker:
        try:
            return await self.again(asks)
        except NotAllowed:
            await self.left(asks)  # signed in, but there is no connection for it
            raise

    async def again(self, asks: Asker) -> Asker:
        """The same person with their current rights."""
        who = await self._gate.again(asks.who)
        if who is None:
            raise NotAllowed(Text("You are no longer signed in", "登录已失效"), "signed_out")
        if who.must_change:
            raise NotAllowed(
                Text(
                    "Change your one-time password first, in the browser or with danlu passwd",
                    "请先在网页上或用 danlu passwd 修改一次性密码",
                ),
                "must_change",
            )
        return replace(asks, who=who)

    async def enter(self, asks: Asker, ref: str) -> Way:
        """`ref`: JOB, JOB.TASK or nothing, for a task to log in to.

        Raises AccessError: no such task, not running, not theirs.
        """
        row, place, engine = await (self._find(asks, ref) if ref else self._log_in(asks))
        if not isinstance(engine, Reachable):
            raise Clash(
                "no_door",
                Text(
                    f"{row.ref} runs where SSH does not reach; use danlu exec",
                    f"SSH 无法到达 {row.ref} 所在的位置；请用 danlu exec",
                ),
            )
        await self._tasks.note_entered(asks, row.ref, place.task, "ssh")
        env = {"DANLU_JOB": row.ref}
        return Way(row.ref, row.id, row.owner, place, engine.reach_settings(), env)

    async def _log_in(self, asks: Asker) -> tuple[JobRow, TaskRef, Engine]:
        ref = await self.logins.of(asks)
        try:
            async with asyncio.timeout(_STARTING_PATIENCE):
                return await self._tasks.find(asks, ref, 0, wait=True)
        except TimeoutError:
            raise Clash(
                "not_running",
                Text(
                    f"{ref} has not started yet; see danlu why {ref}",
                    f"{ref} 尚未启动；参见 danlu why {ref}",
                ),
            ) from None

    async def _find(self, asks: Asker, ref: str) -> tuple[JobRow, TaskRef, Engine]:
        """A job of an array is named like a task of one that is none: it comes first."""
        try:
            return await self._tasks.find(asks, ref, 0)
        except NotThere:
            job, point, number = ref.rpartition(".")
            if not (point and number.isdecimal() and number.isascii() and len(number) < 6):
                raise
            return await self._tasks.find(asks, job, int(number))

    def present(self, job_id: str) -> Callable[[], None]:
        return self._tasks.present(job_id)

    async def barred(self, asks: Asker, owner: str, job_id: str) -> None:
        """Returns when somebody who is inside loses access."""
        await self._tasks.barred(asks, owner, job_id)

    async def left(self, asks: Asker) -> None:
        with contextlib.suppress(StoreError):  # it expires by itself
            await asyncio.shield(self._sign_in.ended(asks.who))
