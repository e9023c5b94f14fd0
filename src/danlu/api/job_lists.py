"""Answers with many jobs: an array may have thousands of elements.

They are not validated against their model, which would take seconds; a test does that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from starlette.responses import JSONResponse, Response

from danlu.api.views import job_view
from danlu.services.values import JobRow
from danlu.spec.codec import from_values
from danlu.spec.job import JobSpec

FEW = 100
"""More are rendered in a thread, so that others need not wait."""

T = TypeVar("T")
View = dict[str, Any]


async def jobs_answer(rows: Sequence[JobRow], status: int = 200, **other: Any) -> Response:
    return await list_answer("jobs", rows, _job_views(), status, **other)


async def list_answer(
    key: str, items: Sequence[T], view: Callable[[T], View], status: int = 200, **other: Any
) -> Response:
    if len(items) <= FEW:
        return JSONResponse({key: [view(item) for item in items], **other}, status)
    body = await asyncio.to_thread(_render, key, items, view, other)
    return Response(body, status, media_type="application/json")


def _job_views() -> Callable[[JobRow], View]:
    """Elements of an array share the values of their spec, which are decoded once."""
    specs: dict[int, JobSpec] = {}

    def view(row: JobRow) -> View:
        spec = specs.get(id(row.spec))
        if spec is None:
            spec = specs[id(row.spec)] = from_values(row.spec)
        return job_view(row, spec=spec)

    return view


def _render(key: str, items: Sequence[T], view: Callable[[T], View], other: View) -> bytes:
    # Encoded one by one: the encoder of a long list would not let other threads run.
    encode = JSONResponse({}).render
    first = encode({**other, key: []})[: -len("]}")]
    return first + b",".join([encode(view(item)) for item in items]) + b"]}"
