"""/v2/<name>/blobs/uploads/: in one request, in chunks, or by mounting what is there already."""

from __future__ import annotations

import re

from danlu.registry.calls import Call, Handler
from danlu.registry.errors import Refusal, bad_digest
from danlu.registry.messages import Disconnected
from danlu.registry.names import ALGORITHMS, is_digest, is_repository, owner_of
from danlu.registry.store import Upload
from danlu.registry.tokens import PULL

_RANGE = re.compile(r"(?:bytes )?(\d{1,19})-(\d{1,19})(?:/.*)?")


async def begin(call: Call) -> None:
    request, store = call.request, call.store
    digest, source = request.first("mount"), request.first("from")
    if digest and is_digest(digest):
        source = await _source(call, digest, source)
        if source and await store.mount(call.repository, digest, source):
            return await _created(call, digest)
    whole = request.first("digest")
    if whole and not is_digest(whole):
        raise bad_digest(whole)
    algorithm = request.first("digest-algorithm") or whole.partition(":")[0] or "sha256"
    if algorithm not in ALGORITHMS:
        raise Refusal(400, "UNSUPPORTED", f"digests are {' or '.join(ALGORITHMS)}")
    upload = await store.begin(call.repository, algorithm, call.who.name)
    if not whole:
        headers = [*_at(upload), ("oci-chunk-min-length", "0")]
        return await request.answer(202, headers)
    try:
        await store.append(upload, request.pieces())
        await store.commit(upload, whole)
    except Disconnected:
        store.cancel(upload)  # nobody knows its address
        raise
    return await _created(call, whole)


async def _source(call: Call, digest: str, named: str) -> str:
    """From where the blob may be taken; empty: from nowhere.

    Who pushes for an owner may pull all that is the owner's, so a token for one of the repositories
    is enough. What somebody may not pull is not there for them."""
    owner = owner_of(call.repository)
    if not named:
        store = call.store
        return await store.metadata(lambda: store.database.holder(str(owner), digest)) or ""
    if not is_repository(named):
        return ""
    return named if owner_of(named) == owner or call.who.may(named, PULL) else ""


async def status(call: Call) -> None:
    upload = call.store.upload(call.repository, call.reference)
    await call.request.answer(204, _at(upload))


async def append(call: Call) -> None:
    upload = call.store.upload(call.repository, call.reference)
    _check_place(call, upload)
    await call.store.append(upload, call.request.pieces())
    await call.request.answer(202, _at(upload))


async def finish(call: Call) -> None:
    upload = call.store.upload(call.repository, call.reference)
    digest = call.request.first("digest")
    if not is_digest(digest):
        raise bad_digest(digest)
    _check_place(call, upload)
    await call.store.append(upload, call.request.pieces())
    await call.store.commit(upload, digest)
    await _created(call, digest)


async def cancel(call: Call) -> None:
    upload = call.store.upload(call.repository, call.reference)
    if upload.busy:
        raise Refusal(409, "BLOB_UPLOAD_INVALID", "another request is writing this upload")
    call.store.cancel(upload)
    await call.request.answer(204)


async def _created(call: Call, digest: str) -> None:
    where = ("location", f"/v2/{call.repository}/blobs/{digest}")
    await call.request.answer(201, [where, ("docker-content-digest", digest)])


def _at(upload: Upload) -> list[tuple[str, str]]:
    return [
        ("location", f"/v2/{upload.repository}/blobs/uploads/{upload.id}"),
        ("docker-upload-uuid", upload.id),
        ("range", f"0-{max(0, upload.size - 1)}"),
    ]


def _check_place(call: Call, upload: Upload) -> None:
    """A chunk has to begin where the last one ended. Raises Refusal."""
    given = call.request.headers.get("content-range")
    if given is None:
        return
    match = _RANGE.fullmatch(given)
    length = call.request.headers.get("content-length", "")
    good = match is not None and int(match[1]) == upload.size
    if good and match is not None and length.isdecimal():
        good = int(match[2]) - int(match[1]) + 1 == int(length)
    if not good:
        message = f"the next chunk begins at {upload.size}"
        raise Refusal(416, "BLOB_UPLOAD_INVALID", message, _at(upload))


HANDLERS: dict[tuple[str, str], Handler] = {
    ("uploads", "POST"): begin,
    ("upload", "GET"): status,
    ("upload", "PATCH"): append,
    ("upload", "PUT"): finish,
    ("upload", "DELETE"): cancel,
}
