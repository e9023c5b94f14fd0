"""Containers saved as images: beforehand what it takes, meanwhile how far it is, then what became
of it. A save belongs to the server, not to the request: it goes on when the client leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, Crowded, NotAllowed, NotThere
from danlu.access.principal import Asker, Principal
from danlu.control import records
from danlu.control.background import Background
from danlu.control.context import log
from danlu.control.controller import Controller
from danlu.control.disk_watch import required
from danlu.engines.api import (
    CannotSave,
    Disk,
    ImageStore,
    Saved,
    SaveEstimate,
    SaveImage,
    SaveOrder,
    SaveProgress,
    TaskRef,
    Unreachable,
)
from danlu.services import save_refusals as refusals
from danlu.services.found import Found
from danlu.services.image_names import Link, OwnImage, RegistryLink, target
from danlu.spec.codec import from_values
from danlu.spec.ids import uuid7
from danlu.spec.text import EMPTY, Text
from danlu.spec.units import format_size
from danlu.store import environments as environment_store
from danlu.store import image_saves as store
from danlu.store.jobs import get_job
from danlu.store.rows import ImageSaveRow, JobRow
from danlu.store.tx import Tx

MOST_GOING = 4  # of one person
_SHOWN = 100
_EVENT_EVERY = 10.0  # seconds
_POST_EVERY = 0.5
_END_PATIENCE = 300.0  # seconds for its command to end
_KEPT_SECONDS = 3600.0  # what was stopped and could not be saved

Person = Callable[[str], Awaitable[Principal | None]]
Kept = Callable[[ImageSaveRow, Saved, OwnImage], Awaitable[None]]


@dataclass(slots=True)
class Verdict:
    """Whether it can be saved, and what that takes."""

    estimate: SaveEstimate
    room: int | None
    in_registry: bool
    problem: Text = EMPTY


@dataclass(slots=True)
class _Going:
    row: ImageSaveRow
    who: Principal
    room: int | None = None  # when it was measured
    step: Text = EMPTY
    work: asyncio.Task[None] | None = None


@dataclass(frozen=True, slots=True)
class ShownSave:
    row: ImageSaveRow
    step: Text = EMPTY
    environment: str = ""  # its name


class Saves:
    def __init__(self, controller: Controller, found: Found, link: Link, person: Person) -> None:
        self._controller = controller
        self._context = controller.context
        self._found = found
        self._link = link
        self._going: dict[str, _Going] = {}
        self._left: dict[str, tuple[SaveImage, TaskRef]] = {}  # job -> stopped, but not saved
        self._work = Background(controller.context.deposed)
        self.person = person
        self.builds: set[str] = set()  # jobs that build images
        self.kept: Kept | None = None  # told of each saved image before it is called saved

    # -- beforehand ---------------------------------------------------------------------------

    async def estimate(self, who: Principal, ref: str, image: str, task: int = 0) -> Verdict:
        job, engine, at = await self._to_save(who, ref, task)
        where = target(who, image or job.name.lower(), self._link())
        return await self._verdict(engine, at, where)

    async def begin(
        self,
        asks: Asker,
        ref: str,
        image: str,
        *,
        task: int = 0,
        stop: bool = False,
        description: str = "",
        id: str | None = None,
    ) -> ShownSave:
        """Refused at once if there is no room. Returns while it is being saved."""
        if id is not None:
            known = await self._context.store.read(lambda tx: store.get(tx, id))
            if known is not None:
                return await self.show(asks.who, id)
        job, engine, at = await self._to_save(asks.who, ref, task)
        where = target(asks.who, image, self._link())
        self._check_others(asks.name, job)
        verdict = await self._verdict(engine, at, where)
        if verdict.problem:
            raise Clash("no_room", verdict.problem)
        environment = await self._environment_of(job)
        row = ImageSaveRow(
            id or uuid7(), job.id, job.ref, at.attempt_id, at.task, asks.name, where.reference,
            time.time(), environment, description, stop, total=verdict.estimate.changed,
        )  # fmt: skip
        self._check_others(asks.name, job)
        going = self._going[row.id] = _Going(row, asks.who, verdict.room)
        try:
            await self._context.store.write(lambda tx: _begin(tx, asks, row))
        except BaseException:
            del self._going[row.id]
            raise
        going.work = self._work.spawn(self._run(going, engine, at, where))
        return await self.show(asks.who, row.id)

    async def begin_held(
        self,
        asks: Asker,
        job: JobRow,
        engine: SaveImage,
        at: TaskRef,
        image: str,
        description: str,
    ) -> None:
        """What has ended and is held; it is let go of when it is saved."""
        self._left[job.id] = (engine, at)
        try:
            await self.begin(asks, job.id, image, task=at.task, description=description)
        except BaseException:
            del self._left[job.id]
            raise

    # -- meanwhile and afterwards -------------------------------------------------------------

    async def listed(self, who: Principal, everybody: bool = False) -> list[ShownSave]:
        owner = None if everybody and who.admin else who.name
        rows = await self._context.store.read(lambda tx: store.latest(tx, owner, _SHOWN))
        return [await self._shown(row) for row in rows]

    async def show(self, who: Principal, id: str) -> ShownSave:
        row = await self._context.store.read(lambda tx: store.get(tx, id))
        if row is None or not (who.admin or row.owner == who.name):
            raise NotThere(Text(f"save {id[:40]}", f"保存 {id[:40]}"))
        return await self._shown(row)

    async def cancel(self, asks: Asker, id: str) -> ShownSave:
        """Nothing is left of it. Has no effect on one that has ended."""
        await self.show(asks.who, id)
        if not rules.may_change(asks.who):
            raise NotAllowed(Text("This token may only read", "此令牌只能读取"))
        going = self._going.get(id)
        if going is not None and going.work is not None:
            going.work.cancel()
            await asyncio.wait((going.work,))
        return await self.show(asks.who, id)

    async def recover(self) -> None:
        """After a restart. What was stopped to be saved is saved now, as its container is still
        there; the others go on, and whoever asked is told that it has to be done again."""
        for row in await self._context.store.read(store.going):
            at = TaskRef(row.attempt_id, row.task, row.job_id)
            engine = self._holder()
            if row.stop and engine is not None:
                with contextlib.suppress(CannotSave, Unreachable):
                    await engine.hold_files(at)
                    who = await self.person(row.owner)
                    if who is None:
                        raise CannotSave(refusals.INTERRUPTED)
                    going = self._going[row.id] = _Going(row, who)
                    where = _written(row.image)
                    going.work = self._work.spawn(self._run(going, engine, at, where))
                    continue
            await self._end(row, "interrupted", refusals.INTERRUPTED)

    async def close(self) -> None:
        """They are said to be interrupted when the server starts again."""
        for going in self._going.values():
            going.row.state = "interrupted"
        await self._work.close()

    # -- details ------------------------------------------------------------------------------

    async def _to_save(
        self, who: Principal, ref: str, task: int
    ) -> tuple[JobRow, SaveImage, TaskRef]:
        job = (await self._found.to_change(who, ref))[0]
        live = self._context.jobs.get(job.id)
        if live is None and job.id in self._left and self._left[job.id][1].task == task:
            return job, *self._left[job.id]
        attempt = None if live is None else live.attempt
        if live is None or attempt is None or attempt.started_at is None:
            raise refusals.not_running(job)
        roles = [role for role in live.spec.roles for _ in range(role.count)]
        if not 0 <= task < len(roles):
            raise refusals.no_task(job, task, len(roles))
        engine = self._context.engine_of(live)
        if roles[task].image is None or not isinstance(engine, SaveImage):
            raise refusals.no_image(job)
        return job, engine, TaskRef(attempt.id, task, job.id, attempt.handle)

    async def _verdict(self, engine: SaveImage, at: TaskRef, where: OwnImage) -> Verdict:
        try:
            found = await engine.save_estimate(at)
        except CannotSave as no:
            raise Clash("cannot_save", no.text) from None
        except Unreachable as no:
            raise Clash("cannot_save", Text(str(no), str(no))) from None
        link = self._link()
        limits = self._context.settings.limits
        copies = found.copies if link is not None else max(1, found.copies)
        spare: list[tuple[int, Text]] = []
        if copies and found.free is not None:
            kept = required(Disk(found.free, found.where, found.size), limits.free)
            spare.append(((found.free - kept) // copies, refusals.on_node(found.where)))
        if link is not None:
            room = await link.room(where.owner)
            if room.quota is not None:
                spare.append((room.quota, refusals.QUOTA))
            if room.disk is not None:
                spare.append((room.disk, refusals.REGISTRY_DISK))
        least = min(spare, key=lambda each: each[0], default=None)
        verdict = Verdict(found, None if least is None else max(0, least[0]), link is not None)
        if least is not None and found.changed > least[0]:
            verdict.problem = refusals.no_room(found.changed, max(0, least[0]), least[1])
        return verdict

    def _check_others(self, name: str, job: JobRow) -> None:
        rows = [going.row for going in self._going.values()]
        if any(row.job_id == job.id for row in rows):
            raise Clash(
                "saving",
                Text(
                    f"{job.ref} is already being saved; see danlu image saves",
                    f"{job.ref} 正在保存中；用 danlu image saves 查看",
                ),
            )
        if sum(row.owner == name for row in rows) >= MOST_GOING:
            raise Crowded(MOST_GOING, Text("containers being saved", "正在保存的容器"))

    async def _image_of(self, row: ImageSaveRow) -> str | None:
        """What the task was started from."""
        found = await self._context.store.read(lambda tx: get_job(tx, row.job_id))
        if found is None:
            return None
        roles = [role for role in from_values(found.spec).roles for _ in range(role.count)]
        return roles[row.task].image

    async def _environment_of(self, job: JobRow) -> str:
        found = await self._context.store.read(lambda tx: environment_store.of_job(tx, job.id))
        return "" if found is None else found.id

    async def _run(self, going: _Going, engine: SaveImage, at: TaskRef, where: OwnImage) -> None:
        row = going.row
        try:
            if row.stop:
                going.step = refusals.ENDING
                await engine.hold_files(at)
                await self._stop(row)
            saved = await self._save(going, engine, at, where)
            if self.kept is not None:
                await self.kept(row, saved, where)
            await self._context.persist(lambda tx: _saved(tx, row, saved, where))
            row.state = "saved"
        except asyncio.CancelledError:
            if row.state != "interrupted":  # otherwise the server stops
                await self._end(row, "cancelled", EMPTY)
            raise
        except CannotSave as no:
            await self._fail(row, engine, at, no.text)
        except Unreachable as no:
            await self._fail(row, engine, at, Text(str(no), str(no)))
        except Exception:
            log.exception("%s could not be saved", row.job)
            await self._fail(row, engine, at, refusals.UNEXPECTED)
        finally:
            self._going.pop(row.id, None)
            live = self._context.jobs.get(row.job_id)
            if live is not None:
                live.doing = EMPTY
            self._context.notifier.post(row.job_id)
            if row.state in ("saved", "cancelled"):
                await self._let_go(row, engine, at)

    async def _save(self, going: _Going, engine: SaveImage, at: TaskRef, where: OwnImage) -> Saved:
        row, story = going.row, _Story()
        store_of = await self._store_for(going.who, where, await self._image_of(row))
        row.state = "saving"
        await self._context.persist(lambda tx: _saving(tx, row))

        def progress(now: SaveProgress) -> None:
            row.done, row.total = now.done, now.total
            going.step = refusals.words_of(row.image, now)
            live = self._context.jobs.get(row.job_id)
            if live is not None:
                live.doing = going.step
            if story.posts():
                self._context.notifier.post(row.job_id)
            if story.tells():
                self._work.spawn(self._context.persist(_progress(row)))

        with_accounts = row.job_id in self.builds  # which has added none of its own
        name = where.reference
        order = SaveOrder(name, store_of, going.who.name, with_accounts, going.room)
        return await engine.save_image(at, order, progress)

    async def _store_for(
        self, who: Principal, where: OwnImage, image: str | None
    ) -> ImageStore | None:
        link = self._link()
        if link is None:
            return None
        places = await self._context.store.read(store.places)
        from_job = link.repository(image or "")
        near = [*places, *([from_job] if from_job is not None else [])]
        also = await link.readable(who, dict.fromkeys(near))
        loop = asyncio.get_running_loop()

        def known(chain: str) -> tuple[str, str] | None:
            """Called from the thread that saves."""
            read = self._context.store.read(lambda tx: store.place_of(tx, chain))
            found = asyncio.run_coroutine_threadsafe(_awaited(read), loop).result()
            return found if found is not None and found[0] in also else None

        return await link.store(who, where, also, known)

    async def _stop(self, row: ImageSaveRow) -> None:
        """Returns when its command has ended."""
        live = self._context.jobs.get(row.job_id)
        if live is not None:
            await self._controller.stop(live, row.owner)
        until = time.monotonic() + _END_PATIENCE
        while row.job_id in self._context.jobs:
            if time.monotonic() > until:
                raise CannotSave(refusals.DOES_NOT_END)
            waiter = self._context.notifier.subscribe(row.job_id)
            await self._context.notifier.wait(row.job_id, waiter, 1.0)

    async def _fail(self, row: ImageSaveRow, engine: SaveImage, at: TaskRef, why: Text) -> None:
        """What was stopped for it is not lost at once: it can be saved again."""
        stopped = row.job_id not in self._context.jobs and (row.stop or row.job_id in self._left)
        if stopped:
            self._left[row.job_id] = (engine, at)
            self._work.spawn(self._let_go_later(row, engine, at))
            why = why + refusals.KEPT
        elif row.stop:
            await engine.let_go(at)
        await self._end(row, "failed", why)

    async def _let_go_later(self, row: ImageSaveRow, engine: SaveImage, at: TaskRef) -> None:
        await asyncio.sleep(_KEPT_SECONDS)
        while any(each.row.job_id == row.job_id for each in self._going.values()):  # noqa: ASYNC110
            await asyncio.sleep(1.0)
        await self._let_go(row, engine, at)

    async def _let_go(self, row: ImageSaveRow, engine: SaveImage, at: TaskRef) -> None:
        if self._left.pop(row.job_id, None) is not None or row.stop:
            await engine.let_go(at)

    async def _end(self, row: ImageSaveRow, state: str, why: Text) -> None:
        row.state = state
        await self._context.persist(lambda tx: _ended(tx, row, state, why))

    async def _shown(self, row: ImageSaveRow) -> ShownSave:
        going = self._going.get(row.id)
        if going is not None and row.state in ("waiting", "saving"):
            row = replace(row, done=going.row.done, total=going.row.total)
        name = ""
        if row.environment:
            id = row.environment
            found = await self._context.store.read(lambda tx: environment_store.get(tx, id))
            name = "" if found is None else found.name
        return ShownSave(row, EMPTY if going is None else going.step, name)

    def _holder(self) -> SaveImage | None:
        for status in self._context.engines:
            if isinstance(status.engine, SaveImage):
                return status.engine
        return None


class _Story:
    """How often progress is told."""

    def __init__(self) -> None:
        self._posted = 0.0
        self._told = time.monotonic()

    def posts(self) -> bool:
        if time.monotonic() < self._posted + _POST_EVERY:
            return False
        self._posted = time.monotonic()
        return True

    def tells(self) -> bool:
        if time.monotonic() < self._told + _EVENT_EVERY:
            return False
        self._told = time.monotonic()
        return True


async def _awaited(read: Awaitable[tuple[str, str] | None]) -> tuple[str, str] | None:
    return await read


def _written(reference: str) -> OwnImage:
    host, _, rest = reference.partition("/")
    repository, _, tag = rest.rpartition(":")
    return OwnImage(host, repository, tag)


def _begin(tx: Tx, asks: Asker, row: ImageSaveRow) -> None:
    store.add(tx, row)
    data = {"image": row.image, "done": 0, "total": row.total}
    records.noted(row.job_id, "saving", data, row.created_at)(tx)
    note(tx, asks, "image.saving", row.image, job=row.job, size=format_size(row.total))


def _saving(tx: Tx, row: ImageSaveRow) -> None:
    store.update(tx, row.id, state="saving")


def _progress(row: ImageSaveRow) -> records.Op:
    data = {"image": row.image, "done": row.done, "total": row.total}
    done, total = row.done, row.total

    def op(tx: Tx) -> None:
        store.update(tx, row.id, done=done, total=total)
        records.noted(row.job_id, "saving", data, time.time())(tx)

    return op


def _saved(tx: Tx, row: ImageSaveRow, saved: Saved, where: OwnImage) -> None:
    at = time.time()
    store.update(
        tx, row.id, state="saved", ended_at=at, digest=saved.digest, size=saved.size,
        done=row.total, total=row.total,
    )  # fmt: skip
    for chain, digest in saved.chains.items():
        store.set_place(tx, chain, where.repository, digest, at)
    if row.environment:
        found = environment_store.get(tx, row.environment)
        if found is not None and found.job_id == row.job_id and found.owner == row.owner:
            environment_store.update(tx, row.environment, saved_image=row.image)
    seconds = round(at - row.created_at, 1)
    data = {"image": row.image, "size": saved.size, "seconds": seconds}
    records.noted(row.job_id, "saved", data, at)(tx)


def _ended(tx: Tx, row: ImageSaveRow, state: str, why: Text) -> None:
    at = time.time()
    store.update(
        tx, row.id, state=state, ended_at=at, error_en=why.en, error_zh=why.zh, done=row.done
    )
    data = {"image": row.image, "state": state, **why.values("why")}
    records.noted(row.job_id, "not_saved", data, at)(tx)


__all__ = ["MOST_GOING", "RegistryLink", "Saves", "ShownSave", "Verdict"]
