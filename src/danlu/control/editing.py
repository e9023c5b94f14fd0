"""Changes waiting jobs in place, and the limits of running ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from danlu.control import records
from danlu.control.context import now
from danlu.control.controller import Controller
from danlu.control.live_job import LiveJob, shapes_of
from danlu.spec.edit import differences
from danlu.spec.job import JobSpec


async def edit(controller: Controller, jobs: Sequence[tuple[LiveJob, JobSpec]], by: str) -> None:
    """All or none. They keep their turn, unless it is their priority that changes; none of them
    starts while the change is written.
    """
    context = controller.context
    for job, _ in jobs:
        job.editing = True
        context.queue.refresh(job)
    known: dict[tuple[int, int], dict[str, list[Any]]] = {}  # elements of an array share specs
    told = []
    for job, spec in jobs:
        pair = (id(job.spec), id(spec))
        if pair not in known:
            known[pair] = differences(job.spec, spec)
        told.append((job.row, spec, known[pair]))
    try:
        await context.store.write(records.edited(told, by, now()))
        for job, spec in jobs:
            shapes = shapes_of(spec, context.volumes.limited)
            job.spec, job.shapes = spec, shapes
            job.row.queue, job.row.priority = spec.queue, spec.priority
        controller.planner.edited({job.id for job, _ in jobs})
    finally:
        for job, _ in jobs:
            job.editing = False
            context.queue.refresh(job)
            context.notifier.post(job.id)
        context.wake.set()


async def set_limits(
    controller: Controller, job: LiveJob, spec: JobSpec, write: records.Op
) -> None:
    """Changes the time limit and the idle limit of a running job. It counts as used now."""
    context = controller.context
    await context.store.write(write)
    job.spec = spec
    controller.attempts.limit_changed(job)
    controller.idle.used(job.id)
    context.notifier.post(job.id)
    context.wake.set()  # its end counts for those who wait for it
