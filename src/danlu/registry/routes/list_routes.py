"""Lists: tags of a repository, what refers to a manifest, and all repositories."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from danlu.registry.calls import Call, Handler
from danlu.registry.errors import Refusal, bad_digest
from danlu.registry.messages import Request
from danlu.registry.names import is_digest, owner_of
from danlu.registry.store import Store
from danlu.registry.tokens import Claims

_MOST = 1000
_INDEX = "application/vnd.oci.image.index.v1+json"


async def tags(call: Call) -> None:
    store, name, last = call.store, call.repository, call.request.first("last")
    most = _count(call.request)
    found = await store.metadata(lambda: store.database.tags(name, last, most + 1))
    if found is None:
        raise Refusal(404, "NAME_UNKNOWN", f"there is no repository {name}")
    headers = _next(f"/v2/{name}/tags/list", found, most)
    await call.request.answer_json({"name": name, "tags": found[:most]}, headers)


async def referrers(call: Call) -> None:
    if not is_digest(call.reference):
        raise bad_digest(call.reference)
    store, name, digest = call.store, call.repository, call.reference
    found = await store.metadata(lambda: store.database.referrers(name, digest))
    headers = [("content-type", _INDEX)]
    wanted = call.request.first("artifactType")
    if wanted:
        found = [each for each in found if each["artifactType"] == wanted]
        headers.append(("oci-filters-applied", "artifactType"))
    index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": found}
    await call.request.answer(200, headers, json.dumps(index).encode())


async def catalogue(request: Request, store: Store, who: Claims) -> None:
    """Those that this person may pull, shared ones aside."""
    most, last = _count(request), request.first("last")

    def look() -> list[str]:
        found: list[str] = []
        at = last
        while len(found) <= most:
            page = store.database.repositories(at, _MOST)
            found += [name for name in page if who.sees is None or _owner(name) in who.sees]
            if len(page) < _MOST:
                break
            at = page[-1]
        return found[: most + 1]

    names = await store.metadata(look)
    headers = _next("/v2/_catalog", names, most)
    await request.answer_json({"repositories": names[:most]}, headers)


def _owner(repository: str) -> str:
    return str(owner_of(repository))


def _count(request: Request) -> int:
    text = request.first("n") or str(_MOST)
    if not text.isdecimal() or len(text) > 18:
        raise Refusal(400, "PAGINATION_NUMBER_INVALID", "n must be a number")
    return min(int(text), _MOST)


def _next(path: str, found: list[str], most: int) -> list[tuple[str, str]]:
    if len(found) <= most or not most:
        return []
    query = urlencode({"n": most, "last": found[most - 1]})
    return [("link", f'<{path}?{query}>; rel="next"')]


HANDLERS: dict[tuple[str, str], Handler] = {
    ("tags", "GET"): tags,
    ("referrers", "GET"): referrers,
}
