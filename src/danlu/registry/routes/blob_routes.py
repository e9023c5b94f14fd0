"""/v2/<name>/blobs/<digest>"""

from __future__ import annotations

from danlu.registry.calls import Call, Handler
from danlu.registry.errors import bad_digest, unknown_blob
from danlu.registry.messages import OCTETS, send_file
from danlu.registry.names import is_digest


async def head(call: Call) -> None:
    _check(call.reference)
    size = await call.store.has_blob(call.repository, call.reference)
    if size is None:
        raise unknown_blob(call.reference)
    length = [("content-length", str(size)), ("accept-ranges", "bytes")]
    await call.request.answer(200, [*_digest(call), OCTETS, *length])


async def get(call: Call) -> None:
    _check(call.reference)
    fd, size = await call.store.open_blob(call.repository, call.reference)
    await send_file(call.request, call.store, fd, size, [*_digest(call), OCTETS])


async def delete(call: Call) -> None:
    _check(call.reference)
    await call.store.delete_blob(call.repository, call.reference)
    await call.request.answer(202)


def _check(digest: str) -> None:
    if not is_digest(digest):
        raise bad_digest(digest)


def _digest(call: Call) -> list[tuple[str, str]]:
    return [("docker-content-digest", call.reference)]


HANDLERS: dict[tuple[str, str], Handler] = {
    ("blob", "HEAD"): head,
    ("blob", "GET"): get,
    ("blob", "DELETE"): delete,
}
