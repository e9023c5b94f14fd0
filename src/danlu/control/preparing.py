"""Pulls the images of a job to its nodes before the launch.

This may take long, so it runs outside the loop, reports progress and ends when the job is stopped.
A restarted server starts over, but layers that were already pulled are not pulled again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from danlu.control import records
from danlu.control.backoff import Backoff
from danlu.control.context import Context, log, now
from danlu.control.live_job import LiveJob
from danlu.control.outcome import Outcome
from danlu.control.words import pull_words
from danlu.engines.api import ImageProgress, Images, NoImage, Unreachable
from danlu.spec.states import Reason
from danlu.spec.text import EMPTY, Text
from danlu.store.rows import AttemptRow

EVENT_EVERY = 10.0  # seconds
POST_EVERY = 0.5


async def prepare(context: Context, job: LiveJob, attempt: AttemptRow) -> Outcome | None:
    """Returns None if it can be launched or was stopped, or the outcome if it never can be."""
    engine = context.engine_of(job)
    images = _images(job, attempt)
    if not images or not isinstance(engine, Images):
        return None
    try:
        for node, image in images:
            refusal = await _have(context, engine, job, attempt, node, image)
            if refusal is not None or attempt.stop is not None:
                return refusal
    finally:
        job.doing = EMPTY
    return None


def _images(job: LiveJob, attempt: AttemptRow) -> list[tuple[str, str]]:
    """Each image with the nodes that need it; no node if the engine places the job."""
    roles = [role for role in job.spec.roles for _ in range(role.count)]
    nodes = [place.node for place in attempt.places] or [""] * len(roles)
    wanted = [(node, role.image) for node, role in zip(nodes, roles, strict=True) if role.image]
    return list(dict.fromkeys(wanted))


async def _have(
    context: Context,
    engine: Images,
    job: LiveJob,
    attempt: AttemptRow,
    node: str,
    image: str,
) -> Outcome | None:
    backoff = Backoff(0.5, 10.0)
    while attempt.stop is None:
        story = _Story(context, job)
        try:
            work = asyncio.ensure_future(engine.prepare_image(node, image, story.take))
            await _done_or_stopped(job, attempt, work)
            await story.end()
            return None
        except NoImage as trouble:
            await story.end(failed=True)
            return Outcome(Reason(trouble.reason), {"detail": str(trouble)})
        except Unreachable as trouble:
            log.warning("%s waits for its image: %s", job.row.ref, trouble)
            job.doing = Text(
                f"Waiting for the container runtime: {trouble}",
                f"等待容器运行时：{trouble}",
            )
            await backoff.wait()
    return None


async def _done_or_stopped(job: LiveJob, attempt: AttemptRow, work: asyncio.Future[None]) -> None:
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
    """The visible progress of one pull: frequent updates and occasional events."""

    def __init__(self, context: Context, job: LiveJob) -> None:
        self._context = context
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
            self._context.notifier.post(self._job.id)
        if not self._told or at >= self._told + EVENT_EVERY:
            self._told = at
            self._write("pulling", progress)

    async def end(self, failed: bool = False) -> None:
        if self._last is not None and not failed:
            self._write("pulled", self._last)
        if self._writing:
            await asyncio.wait(self._writing)
        self._job.doing = EMPTY

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
        task = asyncio.create_task(self._context.persist(op))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
