"""The rows of jobs that are about to be queued."""

from __future__ import annotations

from dataclasses import replace

from danlu.spec.codec import to_values
from danlu.spec.job import JobSpec
from danlu.spec.states import State
from danlu.store.rows import JobRow


def new_row(spec: JobSpec, job_id: str, owner: str, at: float) -> JobRow:
    """Without its spec."""
    return JobRow(
        id=job_id,
        owner=owner,
        name=spec.name,
        number=0,
        kind=spec.kind,
        state=State.QUEUED,
        spec={},
        queue=spec.queue,
        group=spec.group,
        priority=spec.priority,
        submitted_at=at,
        held=spec.held,
    )


def new_rows(spec: JobSpec, job_id: str, owner: str, at: float) -> list[JobRow]:
    """All elements of an array, or the one job."""
    base = replace(new_row(spec, job_id, owner, at), spec=to_values(spec))
    if spec.array is None:
        return [base]
    return [
        replace(
            base,
            id=job_id if place == 0 else element_id(job_id, place),
            array_id=job_id,
            array_index=index,
        )
        for place, index in enumerate(spec.array.indexes)
    ]


def element_id(first: str, place: int) -> str:
    """Derives element ids from the first one, so that a repeated submission yields the same."""
    head, tail = first[:-12], int(first[-12:], 16)
    return f"{head}{(tail + place) % (1 << 48):012x}"
