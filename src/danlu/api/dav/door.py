"""Who comes through the WebDAV door, and which of its methods they ask for."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable

from fastapi import Request
from starlette.responses import Response

from danlu.access import rules
from danlu.access.errors import AccessError, TooMany, Unfit, WrongPassword
from danlu.access.principal import Asker, Principal
from danlu.api.dav import changing, locking, reading
from danlu.api.dav.visit import Refused, Visit
from danlu.api.dav.xml import Unreadable
from danlu.api.dependencies import address_of, change_first, read_only
from danlu.api.problems import ApiProblem
from danlu.services.file_words import FileFault
from danlu.services.services import Services

METHODS: dict[str, Callable[[Visit], Awaitable[Response]]] = {
    "PROPFIND": reading.propfind,
    "GET": reading.get,
    "HEAD": reading.get,
    "PUT": changing.put,
    "DELETE": changing.delete,
    "MKCOL": changing.make_folder,
    "MOVE": changing.move,
    "COPY": changing.copy,
    "PROPPATCH": changing.set_properties,
    "LOCK": locking.lock,
    "UNLOCK": locking.unlock,
}
ALLOWED = ", ".join(["OPTIONS", *METHODS])
_READS = ("GET", "HEAD", "PROPFIND")
_OPTIONS = {"DAV": "1, 2", "MS-Author-Via": "DAV", "Allow": ALLOWED}
_FULL = ("no_room", "over_quota")


async def answer(request: Request) -> Response:
    if request.method == "OPTIONS":
        return Response(status_code=200, headers=_OPTIONS)
    work = METHODS.get(request.method)
    if work is None:
        return Response(status_code=405, headers={"Allow": ALLOWED})
    try:
        who = await _who(request)
        if request.method not in _READS and not rules.may_change(who):
            raise read_only()
        visit = Visit(request, request.app.state.services, Asker(who, address_of(request)))
        return await work(visit)
    except Refused as refused:
        return _text(refused.status, refused.words, refused.headers)
    except Unreadable:
        return _text(400, "The XML of this request cannot be read")
    except FileFault as fault:
        status = 507 if fault.code in _FULL else 403 if fault.status == 422 else fault.status
        return _text(status, fault.message.en)
    except Unfit as error:
        return _text(400, error.message.en)
    except TooMany as error:
        return _text(429, error.message.en)
    except WrongPassword as error:
        return _sign_in(error.message.en)
    except (AccessError, ApiProblem) as error:
        return _text(error.status, error.message.en)


async def _who(request: Request) -> Principal:
    """Raises WrongPassword, for which a client asks its user, and other AccessErrors."""
    services: Services = request.app.state.services
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        raise WrongPassword
    try:
        name, colon, password = base64.b64decode(given, validate=True).decode().partition(":")
    except (ValueError, binascii.Error):
        raise WrongPassword from None
    if not colon or not name or len(name) > 64 or not password or len(password) > 1024:
        raise WrongPassword
    who = await services.dav_sign_in.who(name, password, address_of(request))
    if who.must_change:
        raise change_first()
    return who


def _sign_in(words: str) -> Response:
    return _text(401, words, {"WWW-Authenticate": 'Basic realm="Danlu", charset="UTF-8"'})


def _text(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    safe = {"X-Content-Type-Options": "nosniff"}
    return Response(words + "\n", status, safe | (headers or {}), "text/plain; charset=utf-8")
