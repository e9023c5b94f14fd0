"""Jobs in whatever language they are written: recognised, converted, with notes on it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.datastructures import QueryParams

from danlu.access.audit import note
from danlu.access.principal import Asker, Principal
from danlu.api.answers import Note
from danlu.api.problems import ApiProblem, told
from danlu.api.services import Our, Services, Who
from danlu.spec.complete import Submission, read_submissions
from danlu.spec.dialects import Converted, Dialect, Options, Site, SiteVolume, convert
from danlu.spec.native import to_native, to_yaml
from danlu.store import secrets as secret_store
from danlu.store.tx import Tx

router = APIRouter(prefix="/jobs", tags=["jobs"])
Values = dict[str, Any]
MOST_WORDS = 200


@dataclass(frozen=True, slots=True)
class Language:
    """How a body is to be read, as the query says."""

    dialect: Dialect | None
    run_as: str | None
    overrides: tuple[str, ...]
    arguments: tuple[str, ...]
    words: tuple[str, ...]
    keys: str | None
    offers: str | None

    @property
    def plain(self) -> bool:
        """Nothing was said: the body decides alone."""
        given = (self.dialect, self.run_as, self.keys, self.offers)
        return not (any(given) or self.overrides or self.arguments or self.words)

    def options(self) -> Options:
        return Options(
            run_as=self.run_as,
            overrides=self.overrides,
            arguments=self.arguments,
            words=self.words,
            values=_json_object(self.keys, "keys"),
            offers=_json_object(self.offers, "offers"),
        )


PLAIN = Language(None, None, (), (), (), None, None)

_LIST = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_WORDS}
PARAMETERS: list[Values] = [
    {"name": name, "in": "query", "required": False, "description": text, "schema": schema}
    for name, text, schema in (
        (
            "dialect",
            "the language of the body; left out: recognised",
            {"type": "string", "enum": [each.value for each in Dialect]},
        ),
        (
            "as",
            "Determined: shell, notebook, command, tensorboard or experiment",
            {"type": "string"},
        ),
        ("set", "Determined: a.b.c=value", _LIST),
        ("argument", "sbatch: words after the script", _LIST),
        ("option", "sbatch: options beside the script's", _LIST),
        ("keys", "native keys that win over the file's, as JSON", {"type": "string"}),
        ("offers", "native keys where the file has none, as JSON", {"type": "string"}),
    )
]


def language_of(request: Request) -> Language:
    """By hand and only where there is a query: most submissions have none, and that path is hot."""
    if not request.scope["query_string"]:
        return PLAIN
    query = request.query_params
    name = query.get("dialect")
    if name is not None and name not in list(Dialect):
        known = ", ".join(Dialect)
        raise ApiProblem(
            422,
            "invalid_request",
            f"dialect: {name[:100]!r} is not a language; there are: {known}",
            f"dialect：{name[:100]!r} 不是语言；现有：{known}",
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
            f"{key}: {len(found)} are too many; send at most {MOST_WORDS}",
            f"{key}：{len(found)} 个，超过上限 {MOST_WORDS}",
        )
    return tuple(found)


def _json_object(text: str | None, what: str) -> Values:
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ApiProblem(
            422,
            "invalid_request",
            f"{what}: is not a JSON object of native keys",
            f"{what}：不是原生键的 JSON 对象",
        )
    return found


@dataclass(slots=True)
class Asked:
    """What a request asks for."""

    jobs: list[Submission]
    notes: list[Values] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)


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


@router.post("/convert", response_model=Conversion, openapi_extra=_BODY, responses=told(413))
async def converted(request: Request, our: Our, who: Who) -> Values:
    """The native job that a file of another language means; nothing is queued."""
    found = await _convert(request, our, who, language_of(request))
    return conversion_view(found)


def conversion_view(found: Converted) -> Values:
    return {
        "dialect": found.dialect,
        "jobs": [{"native": to_native(j.spec), "yaml": to_yaml(j.spec)} for j in found.jobs],
        "notes": [note.values() for note in found.notes],
    }


async def read_asked(request: Request, our: Services, who: Principal) -> Asked:
    """The jobs of a request, in whichever language."""
    body = await request.body()
    media_type = request.headers.get("content-type")
    written = language_of(request)
    if written.plain and _is_native(body, media_type):
        return Asked(read_submissions(body, media_type, our.controller.defaults))
    found = await _convert(request, our, who, written)
    if found.dialect is Dialect.NATIVE:
        return Asked(list(found.jobs))
    notes = [note.values() for note in found.notes]
    origin = {"dialect": found.dialect.value, "notes": notes}
    jobs = [replace(job, origin=origin) for job in found.jobs]
    return Asked(jobs, notes, dict(found.secrets))


def _is_native(body: bytes, media_type: str | None) -> bool:
    """The common case, told at a glance: most jobs are native JSON, and this path is hot."""
    native = media_type is not None and media_type.startswith("application/json")
    return native and b'"command"' in body and b'"taskRoles"' not in body


async def _convert(request: Request, our: Services, who: Principal, written: Language) -> Converted:
    return convert(
        await request.body(),
        written.dialect,
        media_type=request.headers.get("content-type"),
        options=written.options(),
        site=await _site(our, who),
        defaults=our.controller.defaults,
    )


async def _site(our: Services, who: Principal) -> Site:
    rooms = our.controller.rooms
    person = await rooms.identities.person(who.name)
    volumes = rooms.volumes.usable(person).values()
    return Site(
        tuple(SiteVolume(each.name, each.source, each.target) for each in volumes),
        max((len(node.gpus) for node in rooms.ledger.nodes()), default=0),
        frozenset(node.name for node in rooms.ledger.nodes()),
    )


async def keep_secrets(our: Services, asks: Asker, secrets: dict[str, str]) -> None:
    """Secrets that stood in a file are kept like any other of its submitter's."""
    if not secrets:
        return

    def op(tx: Tx) -> None:
        for name, value in secrets.items():
            secret_store.put_secret(tx, asks.name, name, value)
            note(tx, asks, "secret.set", name)

    await our.controller.rooms.store.write(op)
