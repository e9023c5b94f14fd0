"""What an engine that places jobs itself would be given: the batch script, before any job."""

from __future__ import annotations

from dataclasses import replace

from danlu.access.principal import Principal
from danlu.control.context import Context, now
from danlu.control.launches import launch_of, secret_names
from danlu.control.live_job import LiveJob, shapes_of
from danlu.control.new_rows import new_row
from danlu.control.workers import Turn
from danlu.engines.api import Refused
from danlu.spec.errors import Finding, spec_error
from danlu.spec.job import JobSpec
from danlu.spec.placement import Placement
from danlu.spec.states import State
from danlu.spec.text import Text
from danlu.store.rows import AttemptRow

ATTEMPT = "ATTEMPT"  # in place of an id that nobody has yet
HIDDEN = "***"


async def script_of(context: Context, spec: JobSpec, who: Principal, turn: Turn) -> str:
    """Empty if Danlu places the job, or if the engine has not been seen yet."""
    at = now()
    row = new_row(spec, ATTEMPT, who.name, at)
    row.array_index = spec.array.indexes[0] if spec.array is not None else None
    job = LiveJob(row, spec, shapes_of(spec, context.volumes.limited, context.datasets))
    engine = context.engine_of(job)
    status = context.engines.status(engine.name)
    if not status.places or not status.met:
        return ""
    places = tuple(Placement("", share=shape.share) for shape in job.shapes)
    attempt = AttemptRow(ATTEMPT, ATTEMPT, 1, State.QUEUED, context.epoch, places, at)
    attempt.installation = context.installation
    person = await context.identities.person(who.name)
    try:
        launch = launch_of(
            job,
            attempt,
            context.settings,
            context.volumes,
            person,
            dict.fromkeys(secret_names(spec), HIDDEN),
            True,
            context.datasets,
            status.queue_nodes(spec.queue),
        )
        plan = await turn.run(engine.plan, replace(launch, epoch=context.epoch))
    except Refused as refusal:
        words = Text(f"- {refusal}", f"- {refusal}")
        raise spec_error([Finding(("queue",), spec.queue, words)]) from None
    return plan.text
