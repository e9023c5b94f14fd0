"""Launches exactly once, settles launches in doubt, adopts attempts that already run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Coroutine

from danlu.engines.api import (
    InDoubt,
    Launch,
    Phase,
    Plan,
    Refused,
    Seen,
    Unreachable,
)
from danlu.engines.local.attempts import INTERRUPTED, Attempt, Task, alive, load, read_claim
from danlu.engines.local.container.plan import container_name
from danlu.engines.local.keeper import record
from danlu.engines.local.leftovers import Disposal
from danlu.engines.local.link import SpawnerClient
from danlu.engines.local.observe import Watcher, running
from danlu.engines.local.ports import PortLeases

_CLAIM_PATIENCE = 2.0  # seconds a keeper has to claim its task before the launch is abandoned


class Launcher:
    def __init__(
        self,
        run: str,
        spawner_for: Callable[[Launch], SpawnerClient],
        watcher: Watcher,
        ports: PortLeases,
    ) -> None:
        self._run = run
        self._spawner_for = spawner_for
        self._watcher = watcher
        self.ports = ports
        self._busy: dict[str, asyncio.Task[Seen]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._disposal = Disposal()

    @property
    def busy(self) -> frozenset[str]:
        """Attempts being launched."""
        return frozenset(self._busy)

    async def close(self) -> None:
        for task in [*self._background, *self._busy.values()]:
            task.cancel()
        await self._disposal.flush()

    def known(self, attempt_id: str) -> Attempt | None:
        attempt = self._watcher.attempts.get(attempt_id)
        folder = f"{self._run}/{attempt_id}"
        if attempt is None and folder not in self._disposal.folders:
            attempt = load(folder)
            if attempt is not None:
                self._adopt(attempt)
        return attempt

    def dispose(self, attempt_id: str, tidy: bool) -> None:
        """Removes its folder and cgroups in the background."""
        self._disposal.add(f"{self._run}/{attempt_id}", tidy)

    async def launch(self, launch: Launch, plan: Plan) -> Seen:
        attempt_id = launch.attempt_id
        if attempt_id in self._watcher.attempts:
            return self._watcher.attempts[attempt_id].view()
        task = self._busy.get(attempt_id)
        if task is None:
            task = asyncio.create_task(self._launch(launch, plan))
            self._busy[attempt_id] = task
            task.add_done_callback(lambda _: self._busy.pop(attempt_id, None))
        return await asyncio.shield(task)

    async def _launch(self, launch: Launch, plan: Plan) -> Seen:
        answer = await self._spawner_for(launch).ask(plan.payload)
        error, message = answer.get("error"), answer.get("message", "")
        if error == "exists":
            return await self._launched_before(launch.attempt_id)
        if error == "refused":
            raise Refused(message)
        if error:
            raise Unreachable(f"nothing was started: {message}")
        at = time.time()
        places = launch.places or ()
        tasks = [
            Task(
                task.index,
                place.node,
                pid,
                start,
                container=container_name(launch.attempt_id, task.index) if task.image else "",
                gpus=place.gpus,
                shared=place.share > 0,
            )
            for task, place, (pid, start) in zip(launch.tasks, places, answer["pids"], strict=True)
        ]
        folder = f"{self._run}/{launch.attempt_id}"
        ports = [port for place in places for port in place.ports]
        attempt = Attempt(
            launch.attempt_id, folder, launch.job_id, tasks, ports, launch.installation
        )
        self._watcher.add(attempt)
        self.ports.hold(attempt.id, ports)
        for task in tasks:
            task.seen = running(task, at)
            self._watcher.watch(attempt, task)
        return attempt.view()

    async def _launched_before(self, attempt_id: str) -> Seen:
        """The folder exists: from a launch whose answer was lost, or from settle()."""
        folder = f"{self._run}/{attempt_id}"
        limit = time.monotonic() + _CLAIM_PATIENCE
        while (attempt := load(folder)) is not None:
            if all(read_claim(folder, task.index) for task in attempt.tasks):
                self._adopt(attempt)
                return attempt.view()
            if time.monotonic() > limit or not any(
                record.unclaimed(folder, task.index) for task in attempt.tasks
            ):
                break
            await asyncio.sleep(0.01)
        raise InDoubt(INTERRUPTED)

    async def settle(self, attempt_id: str) -> Seen | None:
        launching = self._busy.get(attempt_id)
        if launching is not None:
            await asyncio.wait((launching,))
        folder = f"{self._run}/{attempt_id}"
        if not self._fence_unknown(folder):
            return None
        if attempt_id in self._watcher.attempts:
            await self._let_claim(self._watcher.attempts[attempt_id])
        attempt = self._watcher.attempts.get(attempt_id) or load(folder)
        fenced = [record.fence(folder, task.index) for task in attempt.tasks] if attempt else []
        if attempt is None or all(fenced):
            self._watcher.drop(attempt_id)
            return None
        if attempt_id in self._watcher.attempts:
            for task in attempt.tasks:
                self._watcher.refresh(attempt, task)
        else:
            self._adopt(attempt)
        return attempt.view()

    async def _let_claim(self, attempt: Attempt) -> None:
        """Waits for live keepers to claim, rather than fence them off."""
        limit = time.monotonic() + _CLAIM_PATIENCE
        while time.monotonic() < limit:
            if not any(
                alive(task.pid, task.start) and record.unclaimed(attempt.folder, task.index)
                for task in attempt.tasks
            ):
                return
            await asyncio.sleep(0.005)

    def _fence_unknown(self, folder: str) -> bool:
        """True: the attempt's folder existed. False: it does now, so no launch can create it."""
        if os.path.exists(folder):
            return True
        draft = f"{self._run}/.{os.path.basename(folder)}.fence.{os.getpid()}"
        try:
            os.makedirs(draft, mode=0o700, exist_ok=True)
            os.close(os.open(f"{draft}/fenced", os.O_CREAT | os.O_CLOEXEC, 0o600))
            os.rename(draft, folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                record.remove(draft)
            if os.path.exists(folder):
                return True
            raise Unreachable(f"cannot settle: {error.strerror} in {self._run}") from error
        return False

    # -- adopting -----------------------------------------------------------------------------

    def adopt_all(self) -> None:
        for entry in os.scandir(self._run):
            known = entry.name in self._watcher.attempts or entry.name in self._busy
            if known or entry.name.startswith(".") or entry.path in self._disposal.folders:
                continue
            if entry.is_dir() and (attempt := load(entry.path)) is not None:
                self._adopt(attempt)

    def _adopt(self, attempt: Attempt) -> None:
        self._watcher.add(attempt)
        self.ports.hold(attempt.id, attempt.ports)
        for task in attempt.tasks:
            self._watcher.refresh(attempt, task)
        if any(task.seen.phase is Phase.STARTING for task in attempt.tasks):
            # Either its keeper is about to claim or there is none: wait, then fence it off.
            self._soon(self._expire(attempt))

    async def _expire(self, attempt: Attempt) -> None:
        await asyncio.sleep(_CLAIM_PATIENCE)
        for task in attempt.tasks:
            if not task.ended:
                record.fence(attempt.folder, task.index)
                self._watcher.refresh(attempt, task)

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
