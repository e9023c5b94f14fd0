"""Before a launch: the images of a job are brought to where it will run.

This may take long, so it happens beside the loop, says how far it is, and ends when the job is
stopped. A server that is killed meanwhile begins it again: what was fetched is not fetched twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from danlu.control import records
from danlu.control.active import Active
from danlu.control.outcome import Outcome
from danlu.control.rooms import Rooms, log, now
from danlu.control.words import pull_words
from danlu.engines.api import ImageProgress, Images, NoImage, Unreachable
from danlu.spec.states import Reason
from danlu.store.rows import AttemptRow

EVENT_EVERY = 10.0  # seconds
POST_EVERY = 0.5


async def prepare(rooms: Rooms, job: Active, attempt: AttemptRow) -> Outcome | None:
    """None: it can be launched, or it was told to stop. An outcome: it never can."""
    engine = rooms.engine
    images = dict.fromkeys(role.image for role in job.spec.roles if role.image is not None)
    if not images or not isinstance(engine, Images):
        return None
    try:
        for image in images:
            refusal = await _have(rooms, engine, job, attempt, image)
            if refusal is not None or attempt.stop is not None:
                return refusal
    finally:
        job.doing = ("", "")
    return None


async def _have(
    rooms: Rooms, engine: Images, job: Active, attempt: AttemptRow, image: str
) -> Outcome | None:
    pause = 0.5
    while attempt.stop is None:
        story = _Story(rooms, job)
        try:
            work = asyncio.ensure_future(engine.prepare_image(image, story.take))
            await _done_or_stopped(job, attempt, work)
            await story.end()
            return None
        except NoImage as trouble:
            await story.end(failed=True)
            return Outcome(Reason(trouble.reason), {"detail": str(trouble)})
        except Unreachable as trouble:
            log.warning("%s waits for its image: %s", job.row.ref, trouble)
            job.doing = (
                f"Waiting for the container runtime: {trouble}",
                f"等待容器运行时：{trouble}",
            )
            await asyncio.sleep(pause)
            pause = min(pause * 2, 10.0)
    return None


async def _done_or_stopped(job: Active, attempt: AttemptRow, work: asyncio.Future[None]) -> None:
    try:
        while not work.done() and attempt.stop is None:
            job.news.clear()
            news = asyncio.ensure_future(job.news.wait())
            await asyncio.wait((work, news), return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
        if work.done():
            work.result()
    finally:
        if not work.done():
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError, NoImage, Unreachable):
                await work


class _Story:
    """What people see of one pull: now and then an event, more often a number."""

    def __init__(self, rooms: Rooms, job: Active) -> None:
        self._rooms = rooms
        self._job = job
        self._begun = time.monotonic()
        self._told = self._posted = 0.0
        self._last: ImageProgress | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def take(self, progress: ImageProgress) -> None:
        at = time.monotonic()
        self._last = progress
        self._job.doing = pull_words(progress)
        if at >= self._posted + POST_EVERY:
            self._posted = at
            self._rooms.bulletin.post(self._job.id)
        if not self._told or at >= self._told + EVENT_EVERY:
            self._told = at
            self._write("pulling", progress)

    async def end(self, failed: bool = False) -> None:
        if self._last is not None and not failed:
            self._write("pulled", self._last)
        if self._writing:
            await asyncio.wait(self._writing)
        self._job.doing = ("", "")

    def _write(self, kind: str, progress: ImageProgress) -> None:
        data = {
            "image": progress.image,
            "done": progress.done,
            "total": progress.total,
            "layers_done": progress.layers_done,
            "layers": progress.layers,
            "seconds": round(time.monotonic() - self._begun, 1),
        }
        op = records.noted(self._job.row.id, kind, data, now())
        task = asyncio.create_task(self._rooms.persist(op))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
