"""Gets the images of a job, and Danlu's tools if it needs them, to its nodes before the launch.

This may take long, so it runs outside the loop, reports progress and ends when the job is stopped.
A restarted server starts over, but layers that were already pulled are not pulled again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from danlu.control import records
from danlu.control.backoff import Backoff
from danlu.control.bundles import bring
from danlu.control.context import Context, log, now
from danlu.control.images import ImageTrouble, try_elsewhere
from danlu.control.live_job import LiveJob
from danlu.control.outcome import Outcome
from danlu.control.own_images import refusal
from danlu.control.staging import note_reading
from danlu.control.words import pull_words, tools_words
from danlu.engines.api import (
    ImageProgress,
    Images,
    NoImage,
    NoTools,
    OwnRegistryImages,
    Tools,
    ToolsProgress,
    Unreachable,
)
from danlu.spec.job import Role, RunAs
from danlu.spec.states import Reason
from danlu.spec.text import EMPTY, Text
from danlu.store import disks
from danlu.store.rows import AttemptRow

EVENT_EVERY = 10.0  # seconds
POST_EVERY = 0.5
USE_NOTED_EVERY = 3600.0

P = TypeVar("P")


async def prepare(context: Context, job: LiveJob, attempt: AttemptRow) -> Outcome | None:
    """Returns None if it can be launched or was stopped, or the outcome if it never can be."""
    engine = context.engine_of(job)
    try:
        if job.spec.bundle is not None:
            refusal = await bring(context, job, attempt)
            if refusal is not None or attempt.stop is not None:
                return refusal
        if job.spec.datasets:
            await note_reading(context, job, attempt)
        # Most jobs need neither; a protocol check is slow.
        if (images := _images(job, attempt)) and isinstance(engine, Images):
            for node, image in images:
                refusal = await _have(context, engine, job, attempt, node, image)
                if refusal is not None or attempt.stop is not None:
                    return refusal
        if (tools := _tools(job, attempt)) and isinstance(engine, Tools):
            for node, with_image in tools:
                refusal = await _have_tools(context, engine, job, attempt, node, with_image)
                if refusal is not None or attempt.stop is not None:
                    return refusal
    finally:
        job.doing = EMPTY
    return None


def _images(job: LiveJob, attempt: AttemptRow) -> list[tuple[str, str]]:
    """Each image with the nodes that need it; no node if the engine places the job."""
    wanted = [(node, role.image) for node, role in _placed(job, attempt) if role.image]
    return list(dict.fromkeys(wanted))


def _tools(job: LiveJob, attempt: AttemptRow) -> list[tuple[str, bool]]:
    """The nodes that need tools, and whether for tasks with an image."""
    wanted = [
        (node, role.image is not None)
        for node, role in _placed(job, attempt)
        if role.command.run_as is RunAs.TOOL
    ]
    return list(dict.fromkeys(wanted))


def _placed(job: LiveJob, attempt: AttemptRow) -> list[tuple[str, Role]]:
    roles = [role for role in job.spec.roles for _ in range(role.count)]
    nodes = [place.node for place in attempt.places] or [""] * len(roles)
    return list(zip(nodes, roles, strict=True))


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
        story = _Story(context, job, _PULL)
        try:
            work = asyncio.ensure_future(_pull(context, engine, job, node, image, story.take))
            await _done_or_stopped(job, attempt, work)
            await story.end()
            await _note_use(context, context.engine_of(job).name, image)
            context.image_trouble.pop((node, image), None)
            return None
        except NoImage as trouble:
            await story.end(failed=True)
            reason, words = Reason(trouble.reason), str(trouble)
            if node:
                told = ImageTrouble(Text(words, words), now())
                context.image_trouble[node, image] = told
            try_elsewhere(job, node, reason, [each.name for each in context.ledger.nodes()])
            detail = f"{node}: {words}" if job.avoided else words
            return Outcome(reason, {"detail": detail})
        except Unreachable as trouble:
            log.warning("%s waits for its image: %s", job.row.ref, trouble)
            job.doing = Text(
                f"Waiting for the container runtime: {trouble}",
                f"等待容器运行时：{trouble}",
            )
            await backoff.wait()
    return None


async def _pull(
    context: Context,
    engine: Images,
    job: LiveJob,
    node: str,
    image: str,
    progress: Callable[[ImageProgress], None],
) -> None:
    """The right to an image of our own registry is checked also where the node has it already."""
    own = context.own_images
    repository = None if own is None else own.repository(image)
    if own is None or repository is None:
        return await engine.prepare_image(node, image, progress)
    if not await own.may_run(job.row.owner, repository):
        raise NoImage("image_denied", refusal(image))
    if not isinstance(engine, OwnRegistryImages):
        return await engine.prepare_image(node, image, progress)
    access = await own.access(job.row.owner, repository)
    return await engine.prepare_own_image(node, own.here(image), access, progress)


async def _note_use(context: Context, engine: str, image: str) -> None:
    """To the hour, so that starting many jobs with one image costs one write."""
    at = now()
    if context.image_uses.get((engine, image), 0.0) + USE_NOTED_EVERY < at:
        context.image_uses[engine, image] = at
        await context.persist(partial(disks.image_used, engine=engine, image=image, at=at))


async def _have_tools(
    context: Context, engine: Tools, job: LiveJob, attempt: AttemptRow, node: str, with_image: bool
) -> Outcome | None:
    story = _Story(context, job, _TOOLS)
    try:
        work = asyncio.ensure_future(engine.prepare_tools(node, with_image, story.take))
        await _done_or_stopped(job, attempt, work)
        await story.end()
        return None
    except NoTools as trouble:
        await story.end(failed=True)
        return Outcome(
            Reason.TOOLS_MISSING, {"detail": trouble.text.en, "detail_zh": trouble.text.zh}
        )


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
            with contextlib.suppress(asyncio.CancelledError, NoImage, NoTools, Unreachable):
                await work


@dataclass(frozen=True, slots=True)
class _Kind(Generic[P]):
    """What is told of one kind of progress."""

    during: str  # events
    after: str
    words: Callable[[P], Text]
    data: Callable[[P], dict[str, Any]]


_PULL: _Kind[ImageProgress] = _Kind(
    "pulling",
    "pulled",
    pull_words,
    lambda progress: {
        "image": progress.image,
        "done": progress.done,
        "total": progress.total,
        "layers_done": progress.layers_done,
        "layers": progress.layers,
    },
)
_TOOLS: _Kind[ToolsProgress] = _Kind(
    "making_tools",
    "made_tools",
    tools_words,
    lambda progress: {
        "step": progress.step.en,
        "step_zh": progress.step.zh,
        "done": progress.done,
        "total": progress.total,
    },
)


class _Story(Generic[P]):
    """The visible progress of one step: frequent updates and occasional events."""

    def __init__(self, context: Context, job: LiveJob, kind: _Kind[P]) -> None:
        self._context = context
        self._job = job
        self._kind = kind
        self._begun = time.monotonic()
        self._told = self._posted = 0.0
        self._last: P | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def take(self, progress: P) -> None:
        at = time.monotonic()
        self._last = progress
        self._job.doing = self._kind.words(progress)
        if at >= self._posted + POST_EVERY:
            self._posted = at
            self._context.notifier.post(self._job.id)
        if not self._told or at >= self._told + EVENT_EVERY:
            self._told = at
            self._write(self._kind.during, progress)

    async def end(self, failed: bool = False) -> None:
        if self._last is not None and not failed:
            self._write(self._kind.after, self._last)
        if self._writing:
            await asyncio.wait(self._writing)
        self._job.doing = EMPTY

    def _write(self, kind: str, progress: P) -> None:
        seconds = round(time.monotonic() - self._begun, 1)
        data = {**self._kind.data(progress), "seconds": seconds}
        op = records.noted(self._job.row.id, kind, data, now())
        task = asyncio.create_task(self._context.persist(op))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
