"""/v2/<name>/manifests/<tag or digest>"""

from __future__ import annotations

from danlu.registry.calls import Call, Handler
from danlu.registry.errors import Refusal, bad_digest, unknown_manifest
from danlu.registry.manifests import LARGEST
from danlu.registry.names import ALGORITHMS, is_digest, is_tag


async def get(call: Call) -> None:
    """Also HEAD."""
    check_reference(call.reference)
    found = await call.store.manifest(call.repository, call.reference)
    if found is None:
        raise unknown_manifest(call.repository, call.reference)
    headers = [("content-type", found.type), ("docker-content-digest", found.digest)]
    if call.request.method == "HEAD":
        return await call.request.answer(200, [*headers, ("content-length", str(found.size))])
    body = await call.store.read_manifest(found.digest)
    return await call.request.answer(200, headers, body)


async def put(call: Call) -> None:
    request = call.request
    check_reference(call.reference)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > LARGEST:
        raise Refusal(413, "SIZE_INVALID", f"a manifest has at most {LARGEST >> 20} MiB")
    wanted = request.first("digest")
    algorithm = wanted.partition(":")[0] or "sha256"
    if wanted and not is_digest(wanted):
        raise bad_digest(wanted)
    if algorithm not in ALGORITHMS:
        raise Refusal(400, "UNSUPPORTED", f"digests are {' or '.join(ALGORITHMS)}")
    body = await request.body(LARGEST)
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    tags = request.query.get("tag", [])[:_MOST_TAGS]
    made = await call.store.put_manifest(
        call.repository, call.reference, body, kind, tags, algorithm
    )
    named = tags if is_digest(call.reference) else [call.reference, *tags]
    if named:
        call.store.changed(call.repository, call.who.name, named)
    headers = [
        ("location", f"/v2/{call.repository}/manifests/{made.digest}"),
        ("docker-content-digest", made.digest),
        *([("oci-subject", made.subject)] if made.subject else []),
        *(("oci-tag", tag) for tag in tags),
    ]
    await request.answer(201, headers)


async def delete(call: Call) -> None:
    check_reference(call.reference)
    if not await call.store.delete_manifest(call.repository, call.reference):
        raise unknown_manifest(call.repository, call.reference)
    call.store.changed(call.repository, call.who.name, [])
    await call.request.answer(202)


def check_reference(reference: str) -> None:
    """Raises Refusal."""
    if ":" in reference:
        if not is_digest(reference):
            raise bad_digest(reference)
    elif not is_tag(reference):
        raise Refusal(400, "MANIFEST_INVALID", f"{reference[:200]!r} is not a valid tag")


_MOST_TAGS = 100
HANDLERS: dict[tuple[str, str], Handler] = {
    ("manifest", "GET"): get,
    ("manifest", "HEAD"): get,
    ("manifest", "PUT"): put,
    ("manifest", "DELETE"): delete,
}
