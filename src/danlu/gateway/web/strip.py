"""The strip inside JupyterLab and VS Code: what their environment's own pages may ask here.

    GET  /.danlu/strip                     time left, and what this person may do
    POST /.danlu/strip  {"act": "extend"}  or "stop"
    GET  /.danlu/save                      leads to the platform's page, where it can be saved

Who asks is known by the door's cookie, never by one of the platform. A page of another origin can
send neither the header nor the Origin that an act needs. The answer does not count as use.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from danlu.gateway.web import pages, policy
from danlu.gateway.web.cookies import LANGUAGE, cookie_name, values_of
from danlu.gateway.web.heads import BadMessage, Fields, Request
from danlu.gateway.web.visits import digest_of
from danlu.spec.text import Text
from danlu.wire import Rejected, Values

if TYPE_CHECKING:
    from danlu.gateway.web.book import Door
    from danlu.gateway.web.exchange import Client
    from danlu.gateway.web.web import Web

ACTS = ("extend", "stop")
_HEADER = b"x-danlu-strip"
_LARGEST = 1024
_PATIENCE = 10.0  # seconds for a body of this size
_MOST_TRIED = 3  # cookies of one name, which other ports of the host can add to
LANGUAGES = ("en", "zh")
_BAD_ACT = Text('Write {"act": "extend"} or {"act": "stop"}', '请写 {"act": "extend"} 或 "stop"')


async def answered(web: Web, request: Request, door: Door, client: Client) -> bytes:
    """A whole answer. Raises Rejected or BadMessage."""
    act = await _act(request, client)
    found = await _found(web, request, door, client, act)
    page = _page(web, request, found)
    body = {**found, "saves": found["saves"] and bool(page), "page": page}
    return rendered(200, {**body, "language": language_of(request)}, request)


async def to_save(web: Web, request: Request, door: Door, client: Client) -> bytes:
    """Leads to the platform's page. By way of here, because VS Code takes addresses of localhost,
    as the platform's may be, for programs in the task. Raises Rejected.
    """
    page = _page(web, request, await _found(web, request, door, client, ""))
    if not page:
        raise Rejected(pages.NO_DOOR, "not_found")
    fields: Fields = [
        (b"location", f"{page}?save".encode("latin-1")),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
        (b"content-length", b"0"),
    ]
    return pages.answer(303, fields, request.stays)


def _page(web: Web, request: Request, found: Values) -> str:
    """Empty: its address is not known here."""
    link = web.settings.link(policy.host_of(request))
    return f"{link}environments/{quote(found['owner'])}~{quote(found['name'])}" if link else ""


def refused(no: Rejected, status: int, request: Request) -> bytes:
    words = {"error": {"code": no.code, **no.text.values()}}
    return rendered(status, {**words, "language": language_of(request)}, request)


def rendered(status: int, values: Values, request: Request) -> bytes:
    content = json.dumps(values, ensure_ascii=False).encode()
    fields: Fields = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    return pages.answer(status, fields, request.stays) + content


def language_of(request: Request) -> str:
    """As chosen on the platform's pages; otherwise what the browser prefers."""
    for chosen in values_of(request.all(b"cookie"), LANGUAGE):
        if chosen in LANGUAGES:
            return chosen
    wanted = b",".join(request.all(b"accept-language")).strip().lower()
    return "zh" if wanted.startswith(b"zh") else "en"


async def _act(request: Request, client: Client) -> str:
    """Empty: somebody only looks."""
    if request.method == "GET" and not request.size:
        return ""
    size = request.size
    if request.method != "POST" or not isinstance(size, int):
        raise BadMessage("the strip takes GET, and POST with a length", 405)
    if size > _LARGEST:
        raise BadMessage("the request is too large", 413)
    async with asyncio.timeout(_PATIENCE):
        body = b"".join([piece async for piece in client.source.body(size)])
    # Without an Origin it would be no browser, or one too old to be trusted with this.
    if request.one(b"origin") is None or request.one(_HEADER) != b"1":
        raise Rejected(pages.FOREIGN, "not_allowed")
    act = _read(body)
    if act not in ACTS:
        raise Rejected(_BAD_ACT, "invalid_request")
    return act


def _read(body: bytes) -> str:
    try:
        values: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    act = values.get("act") if isinstance(values, dict) else None
    return act if isinstance(act, str) else ""


async def _found(web: Web, request: Request, door: Door, client: Client, act: str) -> Values:
    cookies = values_of(request.all(b"cookie"), cookie_name(door.id, client.encrypted))
    no = Rejected(pages.NOT_SIGNED_IN, "not_signed_in")
    for each in cookies[:_MOST_TRIED]:
        try:
            return await web.link.ask(
                "strip",
                digest=digest_of(each),
                door=door.id,
                address=client.address,
                encrypted=client.encrypted,
                act=act,
            )
        except Rejected as trouble:
            if trouble.code != "not_signed_in":
                raise
    raise no
