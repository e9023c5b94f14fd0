"""Job files in any dialect: detection, conversion and notes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.datastructures import QueryParams

from danlu.api.answers import Note
from danlu.api.dependencies import Our, Who
from danlu.api.problems import ApiProblem, error_responses
from danlu.services.submitting import PLAIN, File, Language
from danlu.spec.dialects import Converted, Dialect
from danlu.spec.native import to_native
from danlu.spec.text import Text

router = APIRouter(prefix="/jobs", tags=["jobs"])
Values = dict[str, Any]
MOST_WORDS = 200


_LIST = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_WORDS}
PARAMETERS: list[Values] = [
    {"name": name, "in": "query", "required": False, "description": text, "schema": schema}
    for name, text, schema in (
        (
            "dialect",
            "language of the body; default: detected",
            {"type": "string", "enum": [each.value for each in Dialect]},
        ),
        (
            "as",
            "Determined: shell, notebook, command, tensorboard or experiment",
            {"type": "string"},
        ),
        ("set", "Determined: a.b.c=value", _LIST),
        ("argument", "sbatch: words after the script", _LIST),
        ("option", "sbatch: additional options", _LIST),
        ("keys", "native keys that override the file's, as JSON", {"type": "string"}),
        ("offers", "defaults for keys the file does not set, as JSON", {"type": "string"}),
    )
]


async def file_of(request: Request) -> File:
    """The job file in a request."""
    body = await request.body()
    return File(body, request.headers.get("content-type"), _language_of(request))


def _language_of(request: Request) -> Language:
    """Parsed by hand and only if there is a query, since this is the hot path."""
    if not request.scope["query_string"]:
        return PLAIN
    query = request.query_params
    name = query.get("dialect")
    if name is not None and name not in list(Dialect):
        known = ", ".join(Dialect)
        raise ApiProblem(
            422,
            "invalid_request",
            Text(
                f"dialect: {name[:100]!r} is not a supported language; available: {known}",
                f"dialect：{name[:100]!r} 不是支持的语言；可用：{known}",
            ),
        )
    return Language(
        dialect=None if name is None else Dialect(name),
        run_as=query.get("as"),
        overrides=_words(query, "set"),
        arguments=_words(query, "argument"),
        words=_words(query, "option"),
        keys=query.get("keys"),
        offers=query.get("offers"),
    )


def _words(query: QueryParams, key: str) -> tuple[str, ...]:
    found = query.getlist(key)
    if len(found) > MOST_WORDS:
        raise ApiProblem(
            422,
            "invalid_request",
            Text(
                f"{key}: {len(found)} is too many; the limit is {MOST_WORDS}",
                f"{key}：{len(found)} 个，超过上限 {MOST_WORDS}",
            ),
        )
    return tuple(found)


class ConvertedJob(BaseModel):
    native: dict[str, Any] = Field(description="the job in Danlu's own language")
    yaml: str


class Conversion(BaseModel):
    dialect: Dialect
    jobs: list[ConvertedJob]
    notes: list[Note]


_BODY = {
    "parameters": PARAMETERS,
    "requestBody": {
        "required": True,
        "content": {
            "text/plain": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
            "application/yaml": {"schema": {"type": "string"}},
        },
    },
}


@router.post(
    "/convert", response_model=Conversion, openapi_extra=_BODY, responses=error_responses(413)
)
async def converted(request: Request, our: Our, who: Who) -> Values:
    """Converts a job file of another platform to a native job, without submitting it."""
    return conversion_view(await our.submitting.convert(who, await file_of(request)))


def conversion_view(found: Converted) -> Values:
    from danlu.spec.native_yaml import to_yaml

    return {
        "dialect": found.dialect,
        "jobs": [{"native": to_native(j.spec), "yaml": to_yaml(j.spec)} for j in found.jobs],
        "notes": [note.values() for note in found.notes],
    }
