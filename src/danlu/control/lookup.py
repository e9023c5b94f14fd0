"""Resolves job references."""

from __future__ import annotations

from collections.abc import Sequence

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.spec.job import Kind
from danlu.spec.refs import JobRef, environment_ref, parse_ref
from danlu.store import attempts as attempt_store
from danlu.store import environments as environment_store
from danlu.store import jobs as job_store
from danlu.store.rows import AttemptRow, EnvironmentRow, JobRow
from danlu.store.store import Store
from danlu.store.tx import Tx


class Lookup:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def jobs(self, text: str, who: Principal) -> list[JobRow]:
        """The visible jobs a reference names: several for an array, none if there is no match.

        Without an owner it means one's own jobs.
        """
        try:
            ref = parse_ref(text)
        except ValueError:
            return []
        return await self._store.read(lambda tx: _find(tx, ref, who))

    async def of_others(self, text: str, who: Principal) -> list[JobRow]:
        """Other people's visible jobs of a name without an owner."""
        try:
            ref = parse_ref(text)
        except ValueError:
            return []
        if not ref.name or ref.owner is not None:
            return []
        sight = rules.sight(who)
        return await self._store.read(
            lambda tx: job_store.find_job(tx, None, ref.name, ref.number, ref.index, sight)
        )

    async def environment(
        self, text: str, who: Principal
    ) -> tuple[EnvironmentRow, JobRow | None] | None:
        """A visible environment and its latest job. Without an owner it means one's own."""
        named = environment_ref(text)
        if named is None:
            return None
        owner, name = named
        return await self._store.read(lambda tx: _environment(tx, owner or who.name, name, who))

    async def environments_of_others(self, text: str, who: Principal) -> list[EnvironmentRow]:
        """Those shared with somebody, by a name without an owner."""
        named = environment_ref(text)
        if named is None or named[0] is not None:
            return []
        found = await self._store.read(lambda tx: environment_store.named(tx, named[1]))
        return [row for row in found if who.name in row.shared]

    async def latest_attempt(self, row: JobRow) -> AttemptRow | None:
        if not row.attempt:
            return None
        attempts = await self.attempts(row.id)
        return attempts[-1] if attempts else None

    async def attempts(self, job_id: str) -> list[AttemptRow]:
        return await self._store.read(lambda tx: attempt_store.attempts_of(tx, job_id))

    async def job(self, job_id: str) -> JobRow | None:
        return await self._store.read(lambda tx: job_store.get_job(tx, job_id))

    async def with_ids(self, ids: Sequence[str]) -> dict[str, JobRow]:
        return await self._store.read(lambda tx: job_store.get_jobs(tx, ids))


def _environment(
    tx: Tx, owner: str, name: str, who: Principal
) -> tuple[EnvironmentRow, JobRow | None] | None:
    row = environment_store.find(tx, owner, name)
    if row is None:
        return None
    job = job_store.get_job(tx, row.job_id) if row.job_id is not None else None
    if job is not None and job.owner != owner:
        job = None  # it was handed over to somebody else
    group = row.request.get("group") if job is None else job.group
    return (row, job) if rules.sees_job(who, owner, group, row.shared) else None


def _find(tx: Tx, ref: JobRef, who: Principal) -> list[JobRow]:
    return _seen(tx, ref, who) or [row for row in _named(tx, ref) if _is_shared(tx, row, who)]


def _named(tx: Tx, ref: JobRef) -> list[JobRow]:
    """What another person's reference names, whoever may see it."""
    if ref.id is not None:
        row = job_store.get_job(tx, ref.id)
        return [row] if row is not None else []
    if ref.seq is not None:
        return job_store.numbered(tx, ref.seq, ref.index)
    if ref.owner is None:
        return []
    return job_store.find_job(tx, ref.owner, ref.name, ref.number, ref.index)


def _is_shared(tx: Tx, row: JobRow, who: Principal) -> bool:
    if row.kind != Kind.ENVIRONMENT:
        return False
    found = environment_store.of_job(tx, row.id)
    return found is not None and found.owner == row.owner and who.name in found.shared


def _seen(tx: Tx, ref: JobRef, who: Principal) -> list[JobRow]:
    if ref.id is not None:
        row = job_store.get_job(tx, ref.id)
        return [row] if row is not None and rules.sees_job(who, row.owner, row.group) else []
    if ref.seq is not None:
        rows = job_store.numbered(tx, ref.seq, ref.index)
        return [row for row in rows if rules.sees_job(who, row.owner, row.group)]
    sight = rules.sight(who) if ref.owner is not None else None
    owner = ref.owner or who.name
    return job_store.find_job(tx, owner, ref.name, ref.number, ref.index, sight)
