"""`ssh USER@host` without a job: a small task of one's own, for files and small chores.

It is a job like any other: launched, listed, logged and stopped like them, and found again after a
restart. But it starts past the queue, takes no room that the scheduler knows of, and is bounded by
itself; so it is there when the cluster is full.
"""

from __future__ import annotations

import asyncio
import logging

from danlu.access.errors import Clash
from danlu.access.principal import Asker
from danlu.control.controller import Controller
from danlu.control.live_job import LiveJob
from danlu.control.submit import Submitter
from danlu.engines.api import Placer, Reachable
from danlu.sched.api import DEFAULT_QUEUE
from danlu.spec.complete import Submission
from danlu.spec.job import Command, GpuRequest, JobSpec, Kind, Resources, Role, RunAs
from danlu.spec.text import Text
from danlu.store.errors import StoreError

log = logging.getLogger("danlu.services")
NAME = "login"
_WAITS = Command(RunAs.ARGV, ("sleep", "1000000000"))
_GRACE = 5.0
_LOOK = 5.0
_BY = "danlu"


class Logins:
    def __init__(self, controller: Controller, submitter: Submitter) -> None:
        self._controller = controller
        self._context = controller.context
        self._submitter = submitter
        self._turn = asyncio.Lock()
        self._jobs: dict[str, str] | None = None  # owner -> job; None: not looked yet

    async def of(self, asks: Asker) -> str:
        """The reference of the one there is, or of a new one. Raises AccessError."""
        if not self._context.settings.login.enabled:
            raise _disabled(asks.name)
        async with self._turn:
            job = self._find(asks.name) or await self._begin(asks)
            self._context.presence.touch(job.id)
            return job.row.ref

    async def end_unused(self) -> None:
        """Runs for as long as the server does."""
        while True:
            await asyncio.sleep(_LOOK)
            limit = self._context.settings.login.idle
            for owner in list(self._known()):
                job = self._find(owner)
                if job is not None and self._context.presence.idle(job.id) > limit:
                    try:
                        await self._controller.stop(job, _BY)
                    except StoreError as trouble:
                        log.warning("%s is unused and stays: %s", job.row.ref, trouble)
            self._context.presence.forget(self._context.jobs)

    def _known(self) -> dict[str, str]:
        if self._jobs is None:
            jobs = self._context.jobs.values()
            self._jobs = {job.row.owner: job.id for job in jobs if job.spec.login}
        return self._jobs

    def _find(self, owner: str) -> LiveJob | None:
        job = self._context.jobs.get(self._known().get(owner, ""))
        if job is None:
            self._known().pop(owner, None)
            return None
        stopped = job.ending or (job.attempt is not None and job.attempt.stop is not None)
        return None if stopped else job

    async def _begin(self, asks: Asker) -> LiveJob:
        wanted = Submission(self._spec(self._queue()))
        (row,), _ = await self._submitter.submit([wanted], asks.who, asks.address)
        job = self._context.jobs.get(row.id)
        if job is None:
            raise Clash("not_running", Text(f"{row.ref} ended at once", f"{row.ref} 立即结束了"))
        self._known()[asks.name] = job.id
        return job

    def _spec(self, queue: str) -> JobSpec:
        size = self._context.settings.login
        need = Resources(GpuRequest(), size.cpus, size.memory, size.memory // 2)
        role = Role(NAME, 1, _WAITS, need)
        return JobSpec(NAME, Kind.SERVICE, (role,), queue, grace=_GRACE, login=True)

    def _queue(self) -> str:
        """One whose tasks can be entered."""
        for name in (DEFAULT_QUEUE, *self._controller.policy.queues):
            engine = self._context.engine_for(name)
            if isinstance(engine, Reachable) and engine.placer is Placer.DANLU:
                return name
        raise Clash(
            "no_login",
            Text("SSH reaches no machine of this cluster", "SSH 无法到达本集群的任何机器"),
        )


def _disabled(name: str) -> Clash:
    return Clash(
        "no_login",
        Text(
            f"Name a running job: ssh -p PORT {name}+JOB@HOST; danlu jobs lists yours",
            f"请指明一个运行中的任务：ssh -p 端口 {name}+任务@主机；danlu jobs 列出你的任务",
        ),
    )
