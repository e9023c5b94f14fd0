"""Folders that people bring along: made ready for a job, and tidied up afterwards."""

from __future__ import annotations

import asyncio
from functools import partial

from danlu.control import records
from danlu.control.backoff import Backoff
from danlu.control.context import Context, log, now
from danlu.control.live_job import LiveJob
from danlu.control.outcome import Outcome
from danlu.engines.api import Refused
from danlu.files.bundles.stores import Trouble
from danlu.spec.job import Kind
from danlu.spec.states import Reason
from danlu.spec.text import Text
from danlu.store import bundles, environments
from danlu.store import jobs as job_store
from danlu.store.errors import StoreError
from danlu.store.rows import AttemptRow, BundleFolderRow
from danlu.store.tx import Tx

EVERY = 3600.0  # seconds
_FIRST = 60.0  # after the start


async def bring(context: Context, job: LiveJob, attempt: AttemptRow) -> Outcome | None:
    """Makes the working folder of a job. Returns the outcome if that cannot be done."""
    bundle = job.spec.bundle
    assert bundle is not None
    backoff = Backoff(0.5, 10.0)
    while attempt.stop is None:
        job.doing = Text("Unpacking the folder brought along", "正在展开随任务上传的目录")
        try:
            person = await context.identities.person(job.row.owner)
            await context.folders.ready(person)
            made = await context.bundles.check_out(person, bundle.id, *_place(job))
        except Refused as refusal:
            return Outcome(Reason.REFUSED, {"detail": str(refusal)})
        except Trouble as trouble:
            if trouble.code == "disk_full":
                return Outcome(Reason.DISK_FULL, {})
            return Outcome(Reason.BUNDLE_MISSING, _why(trouble))
        except (OSError, StoreError) as trouble:
            log.warning("%s waits for its folder: %s", job.row.ref, trouble)
            await backoff.wait()
            continue
        job.carried = str(made["folder"])
        if made["made"]:
            await _note(context, job, int(made["bytes"]))
        return None
    return None


def _place(job: LiveJob) -> tuple[str, str]:
    """For what the working folder is made, and its name. All starts of an environment share one."""
    if job.spec.kind is Kind.ENVIRONMENT and job.spec.bundle is not None:
        return f"{job.row.name}.{job.spec.bundle.id}", job.row.name
    return job.id, job.row.ref


def _why(trouble: Trouble) -> dict[str, str]:
    name = str(trouble.values.get("name", ""))
    words = {
        "unknown": Text("it is not stored any more", "已不再保存"),
        "damaged": Text(f"{name} is damaged", f"{name} 已损坏"),
        "folder_taken": Text(f"{name} exists already", f"{name} 已存在"),
    }
    detail = str(trouble.values.get("detail", trouble.code))
    found = words.get(trouble.code, Text(detail, detail))
    return {"detail": found.en, "detail_zh": found.zh}


async def _note(context: Context, job: LiveJob, size: int) -> None:
    bundle = job.spec.bundle
    assert bundle is not None
    row = BundleFolderRow(job.id, job.row.owner, bundle.id, job.carried, now())
    event = records.noted(job.id, "brought", {"folder": job.carried, "bytes": size}, row.made_at)

    def op(tx: Tx) -> None:
        if job.spec.kind is not Kind.ENVIRONMENT:  # a place to work in stays as it is
            bundles.add_folder(tx, row)
        event(tx)

    await context.persist(op)


class BundleCare:
    """Removes from working folders what the bundle has anyway, and bundles nobody needs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self) -> None:
        await asyncio.sleep(_FIRST)
        while True:
            await self.tidy()
            await asyncio.sleep(EVERY)

    async def tidy(self) -> int:
        """Returns the bytes that were freed."""
        return await self._slim() + await self._collect()

    async def _slim(self) -> int:
        """Only of jobs that ended a while ago; what they wrote stays."""
        context, freed = self._context, 0
        before = now() - context.settings.carry.folders
        for row in await context.store.read(bundles.folders):
            if row.made_at > before or row.job_id in context.jobs:
                continue
            job = await context.store.read(partial(job_store.get_job, id=row.job_id))
            if job is not None and (job.ended_at is None or job.ended_at > before):
                continue
            person = await context.identities.person(row.owner)
            try:
                answer = await context.bundles.slim(person, row.job_id)
            except (Trouble, Refused, OSError) as trouble:
                log.warning("cannot tidy up %s of %s: %s", row.folder, row.owner, trouble)
                answer = {"removed": 0}
            freed += int(answer["removed"])
            await context.store.write(partial(bundles.remove_folder, job_id=row.job_id))
        return freed

    async def _collect(self) -> int:
        """Those not used for long, unless an environment or a job that has not ended needs them."""
        context, freed = self._context, 0
        before = now() - context.settings.carry.keep
        needed = {
            (job.row.owner, job.spec.bundle.id)
            for job in context.jobs.values()
            if job.spec.bundle is not None
        }
        for environment in await context.store.read(environments.every):
            named = environment.request.get("bundle")
            id = named.get("id") if isinstance(named, dict) else named
            needed.add((environment.owner, str(id)))
        rows = await context.store.read(bundles.every)
        folders = {(row.owner, row.bundle) for row in await context.store.read(bundles.folders)}
        for owner in await context.store.read(bundles.stored):
            mine = [row for row in rows if row.owner == owner]
            kept = [
                row
                for row in mine
                if row.used_at > before or {(owner, row.id)} & (needed | folders)
            ]
            person = await context.identities.person(owner)
            try:
                unused = context.settings.carry.folders if context.disks.low is None else 0.0
                answer = await context.bundles.collect(person, [row.id for row in kept], unused)
            except (Trouble, Refused, OSError) as trouble:
                log.warning("cannot tidy up the bundles of %s: %s", owner, trouble)
                continue
            freed += int(answer["removed"])
            gone = [row.id for row in mine if row not in kept]
            await context.store.write(partial(_left, owner, gone, int(answer["bytes"])))
        return freed


def _left(owner: str, gone: list[str], amount: int, tx: Tx) -> None:
    for id in gone:
        bundles.remove(tx, owner, id)
    if amount:
        bundles.set_stored(tx, owner, amount, now())
    else:
        bundles.forget_store(tx, owner)
