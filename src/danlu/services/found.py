"""Resolves job references and checks who may see or change the jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from danlu.access import rules
from danlu.access.errors import Clash, NotAllowed, NotThere
from danlu.access.principal import Principal
from danlu.control.controller import Controller
from danlu.control.life import Stage
from danlu.control.lookup import Lookup
from danlu.services.names import Hide, Names, ended_for
from danlu.spec.states import State
from danlu.spec.text import Text
from danlu.store.rows import EnvironmentRow, JobRow

_BEFORE = frozenset({State.QUEUED, State.STARTING})


class Found:
    def __init__(self, controller: Controller, lookup: Lookup, names: Names) -> None:
        self._context = controller.context
        self._lookup = lookup
        self._names = names

    async def several(self, who: Principal, ref: str) -> list[JobRow]:
        """The visible jobs a reference names. Raises NotThere, Clash."""
        rows = await self._lookup.jobs(ref, who) or await self._of_environment(who, ref)
        if not rows:
            raise await self._not_found(who, ref)
        hide = self._names.hidden_from(who)
        return [self.as_it_is(row, hide) for row in rows]

    async def _of_environment(self, who: Principal, ref: str) -> list[JobRow]:
        """The latest job of an environment, which is named like no job."""
        found = await self._lookup.environment(ref, who)
        if found is None:
            return []
        environment, job = found
        if job is None:
            raise not_started(environment.name)
        return [job]

    async def _not_found(self, who: Principal, ref: str) -> NotThere | Clash:
        shown = ref.replace("~", "/")[:100]
        others: Sequence[JobRow | EnvironmentRow] = await self._lookup.of_others(ref, who)
        others = others or await self._lookup.environments_of_others(ref, who)
        if not others:
            return NotThere(Text(f"job {shown}", f"任务 {shown}"))
        owners = list(dict.fromkeys(row.owner for row in others))
        listed = ", ".join(f"{owner}/{shown}" for owner in owners[:5])
        return Clash(
            "ambiguous",
            Text(
                f"You have no job {shown}; for someone else's, add the owner: {listed}",
                f"你没有任务 {shown}；如果是指别人的任务，请写明所有者：{listed}",
            ),
        )

    async def one(self, who: Principal, ref: str) -> JobRow:
        """The job a reference names; for an array, its first element."""
        return (await self.several(who, ref))[0]

    async def to_change(self, who: Principal, ref: str) -> list[JobRow]:
        """The same, for changing them."""
        rows = await self.several(who, ref)
        for row in rows:
            if not rules.changes_job(who, row.owner):
                raise NotAllowed(
                    Text(
                        f"Only {row.owner} or an admin may do this to {row.ref}",
                        f"只有 {row.owner} 或管理员可以对 {row.ref} 执行此操作",
                    ),
                )
        return rows

    def unknown_since(self, job_id: str) -> float | None:
        """Since when its engine has not reported it."""
        job = self._context.jobs.get(job_id)
        return None if job is None else self._context.engines.unknown_since(job)

    def as_it_is(self, row: JobRow, hide: Hide | None) -> JobRow:
        """The row with the state the engine reported, which reaches the database a moment later."""
        row = ended_for(row, hide)
        job = self._context.jobs.get(row.id)
        if row.state not in _BEFORE or job is None or job.stage is not Stage.RUNNING:
            return row
        # The state in memory may be final, which must not be shown before it is on disk.
        stopped = job.attempt is not None and job.attempt.stop is not None
        state = State.STOPPING if stopped else State.RUNNING
        return replace(row, state=state, started_at=job.row.started_at)


def not_started(name: str) -> Clash:
    """For an environment."""
    return Clash(
        "not_running",
        Text(
            f"{name} is not running; start it with danlu env start {name}",
            f"{name} 没有在运行；用 danlu env start {name} 启动",
        ),
    )
