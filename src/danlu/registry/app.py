"""The OCI distribution API: who asks, for what, and which part answers."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import logging
import re
import time
from collections.abc import Sequence
from typing import Any, Protocol

from danlu.registry import refusals, tokens
from danlu.registry.calls import Call, Handler
from danlu.registry.errors import Refusal
from danlu.registry.messages import (
    JSON,
    Disconnected,
    Receive,
    Request,
    Send,
    read_request,
)
from danlu.registry.names import HUB, is_repository, owner_of
from danlu.registry.routes import blob_routes, list_routes, manifest_routes, upload_routes
from danlu.registry.store import Store
from danlu.registry.tokens import DELETE, PULL, PUSH, Claims

log = logging.getLogger("danlu.registry")
_KINDS = (
    ("upload", re.compile(r"/v2/(.+)/blobs/uploads/([0-9a-f]{32})")),
    ("uploads", re.compile(r"/v2/(.+)/blobs/uploads/?()")),
    ("blob", re.compile(r"/v2/(.+)/blobs/([^/]+)")),
    ("manifest", re.compile(r"/v2/(.+)/manifests/([^/]+)")),
    ("tags", re.compile(r"/v2/(.+)/tags/list()")),
    ("referrers", re.compile(r"/v2/(.+)/referrers/([^/]+)")),
)
_NEEDS = {"GET": (PULL,), "HEAD": (PULL,), "DELETE": (DELETE,)}
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]+)?|\[[0-9a-fA-F:]+\](:[0-9]+)?")
_VERSION = ("docker-distribution-api-version", "registry/2.0")
_LOOPBACK = ("127.", "localhost", "[::1]")


class SignIn(Protocol):
    """The server, which knows people and their rights."""

    async def __call__(self, name: str, password: str, address: str, scopes: list[str]) -> str:
        """A token. Raises Refusal."""


class App:
    """`hub`: handlers for hub/..., before the others."""

    def __init__(
        self,
        store: Store,
        key: bytes,
        sign_in: SignIn,
        hub: dict[tuple[str, str], Handler] | None = None,
    ) -> None:
        self._store = store
        self._key = key
        self._sign_in = sign_in
        self._hub = hub or {}
        self._handlers: dict[tuple[str, str], Handler] = {
            **blob_routes.HANDLERS,
            **upload_routes.HANDLERS,
            **manifest_routes.HANDLERS,
            **list_routes.HANDLERS,
        }
        self._ended: dict[str, float] = {}  # user id -> tokens made before are not good
        self.busy = 0

    def forget(self, user_ids: Sequence[str]) -> None:
        """Rights of these people changed: whatever they hold, they have to ask again."""
        now = time.time()
        limit = now - tokens.LONGEST
        self._ended = {each: at for each, at in self._ended.items() if at > limit}
        for user_id in user_ids:
            self._ended[user_id] = now

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        request = read_request(scope, receive, send)
        self.busy += 1
        try:
            await self._serve(request)
        except Disconnected:
            pass
        finally:
            self.busy -= 1

    async def _serve(self, request: Request) -> None:
        begun = False
        send = request.send

        async def noted(message: dict[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        request.send = noted
        try:
            await self._route(request)
        except Refusal as refusal:
            if begun:
                raise
            await _refuse(request, refusal)
        except OSError as error:
            log.exception("%s %s", request.method, request.path)
            if begun:
                raise
            await _refuse(request, refusals.of_disk(error))

    async def _route(self, request: Request) -> None:
        if request.path == "/token":
            await self._token(request)
        elif request.path in ("/v2/", "/v2"):
            self._who(request, "", ())
            await request.answer_json({}, [_VERSION])
        elif request.path == "/v2/_catalog":
            who = self._who(request, "", (), scope="registry:catalog:*")
            await list_routes.catalogue(request, self._store, who)
        else:
            await self._repository(request)

    async def _repository(self, request: Request) -> None:
        kind, repository, reference = _find(request.path)
        owner = owner_of(repository)
        if owner is None:
            raise refusals.no_such_place(repository)
        method = request.method
        who = self._who(request, repository, _NEEDS.get(method, (PULL, PUSH)))
        call = Call(request, self._store, repository, reference, who)
        handler = self._handlers.get((kind, method))
        if handler is None:
            raise Refusal(405, "UNSUPPORTED", f"{method} is not possible here")
        if method not in ("GET", "HEAD"):
            if self._store.settings.read_only:
                raise refusals.read_only()
            if owner.kind == HUB and method != "DELETE":
                raise refusals.only_cached()
        elif owner.kind == HUB:
            handler = self._hub.get((kind, method), handler)
        await handler(call)

    # -- who asks ----------------------------------------------------------------------------

    def _who(
        self, request: Request, repository: str, actions: Sequence[str], scope: str = ""
    ) -> Claims:
        """Raises Refusal: 401 if another token may help, 403 if none will."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        who = tokens.verify(self._key, token.strip()) if kind.lower() == "bearer" else None
        if who is not None and self._is_over(who):
            who = None
        if repository:
            scope = f"repository:{repository}:{','.join(actions)}"
            source = request.first("from") if request.first("mount") else ""
            if is_repository(source):  # a token that is good for both, as the usual registry asks
                scope += f" repository:{source}:{PULL}"
        if who is None:
            raise self._challenge(request, scope)
        if repository and not all(who.may(repository, action) for action in actions):
            if repository in who.access:
                raise _not_allowed(who, repository, actions)
            raise self._challenge(request, scope)
        return who

    def _is_over(self, who: Claims) -> bool:
        return self._ended.get(who.user_id, 0.0) >= who.issued

    def _challenge(self, request: Request, scope: str) -> Refusal:
        host = request.headers.get("host", "")
        if not _HOST.fullmatch(host):
            host = "localhost"
        base = f"{request.scheme}://{host}"
        if self._store.settings.public and not host.startswith(_LOOPBACK):
            base = self._store.settings.public
        fields = f'realm="{base}/token",service="{tokens.AUDIENCE}"'
        if scope:
            fields += f',scope="{scope}"'
        headers = [("www-authenticate", f"Bearer {fields}"), _VERSION]
        return Refusal(401, "UNAUTHORIZED", "sign in first: docker login", headers)

    async def _token(self, request: Request) -> None:
        if request.method != "GET":
            raise Refusal(405, "UNSUPPORTED", "ask with GET")
        name, password = _basic(request.headers.get("authorization", ""))
        scopes = [each[:1000] for each in request.query.get("scope", [])][:20]
        # What the server gives a job to pull with needs no further question.
        own = tokens.verify(self._key, password)
        if own is not None and own.name == name and not self._is_over(own):
            token = password
        else:
            token = await self._sign_in(name, password, request.address, scopes)
        await request.answer_json(
            {
                "token": token,
                "access_token": token,
                "expires_in": tokens.SECONDS,
                "issued_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            },
            [("cache-control", "no-store")],
        )


def wrong_password(message: str) -> Refusal:
    headers = [("www-authenticate", f'Basic realm="{tokens.AUDIENCE}"')]
    return Refusal(401, "UNAUTHORIZED", message, headers)


def _find(path: str) -> tuple[str, str, str]:
    for kind, pattern in _KINDS:
        match = pattern.fullmatch(path)
        if match is not None:
            return kind, match[1], match[2]
    raise Refusal(404, "NAME_INVALID", "no such address")


def _basic(header: str) -> tuple[str, str]:
    kind, _, value = header.partition(" ")
    text = ""
    if kind.lower() == "basic":
        with contextlib.suppress(ValueError, binascii.Error):
            text = base64.b64decode(value, validate=True).decode()
    name, colon, password = text.partition(":")
    if not colon or not name or not password:
        raise wrong_password("give your name and password, or a token as the password")
    return name, password


def _not_allowed(who: Claims, repository: str, actions: Sequence[str]) -> Refusal:
    wanted = " and ".join(action for action in actions if not who.may(repository, action))
    return Refusal(403, "DENIED", f"{who.name} is not allowed to {wanted} {repository}")


_DRAIN_SECONDS = 2.0


async def _refuse(request: Request, refusal: Refusal) -> None:
    """Clients that are still sending see the answer only if the connection is not reset, so what
    they send is read for a moment before the answer ends."""
    headers = [JSON, *refusal.headers]
    if request.method in ("GET", "HEAD"):
        return await request.answer(refusal.status, headers, refusal.body)
    headers += [("connection", "close"), ("content-length", str(len(refusal.body)))]
    out = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers]
    await request.send({"type": "http.response.start", "status": refusal.status, "headers": out})
    await request.send({"type": "http.response.body", "body": refusal.body, "more_body": True})
    with contextlib.suppress(TimeoutError, Disconnected):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in request.pieces():
                pass
    await request.send({"type": "http.response.body", "body": b""})
