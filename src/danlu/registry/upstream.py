"""Another registry, asked by the cache. http.client in threads: no further dependency."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

from danlu.registry.client import MANIFESTS
from danlu.registry.settings import Mirror

T = TypeVar("T")
_PATIENCE = 30.0
_PIECE = 1 << 20
_REDIRECTS = (301, 302, 303, 307, 308)
_FIELD = re.compile(r'(\w+)="([^"]*)"')
_LARGEST_TOKEN = 1 << 16


class Away(Exception):
    """It does not answer, or not as a registry does."""


class Missing(Exception):
    """It says that there is no such thing, or not for us."""


class _Source:
    """A blob as it comes."""

    def __init__(self, name: str, answer: http.client.HTTPResponse, size: int) -> None:
        self._name = name
        self._answer = answer
        self.size = size
        self._left = size

    async def read(self) -> bytes:
        try:
            piece = await asyncio.to_thread(self._answer.read, min(_PIECE, self._left))
        except (OSError, http.client.HTTPException) as error:
            raise Away(f"{self._name} stopped answering ({error})") from None
        self._left -= len(piece)
        if not piece and self._left:
            raise Away(f"{self._name} broke off in the middle")
        return piece


class Upstream:
    def __init__(self, mirror: Mirror) -> None:
        self.name = mirror.name
        self._mirror = mirror
        self._tokens: dict[str, tuple[str, float]] = {}

    async def manifest(self, name: str, reference: str, most: int) -> tuple[bytes, str]:
        """Raises Away or Missing."""

        def ask() -> tuple[bytes, str]:
            path = f"/v2/{name}/manifests/{reference}"
            with contextlib.closing(self._ask("GET", path, name, {"accept": MANIFESTS})) as answer:
                body = answer.read(most + 1)
                if len(body) > most:
                    raise Away(f"{self.name} has a manifest that is too large")
                return body, str(answer.headers.get("content-type", ""))

        return await _in_thread(self.name, ask)

    async def size(self, name: str, digest: str) -> int:
        def ask() -> int:
            answer = self._ask("HEAD", f"/v2/{name}/blobs/{digest}", name, {})
            answer.close()
            return int(answer.headers.get("content-length", 0))

        return await _in_thread(self.name, ask)

    @asynccontextmanager
    async def blob(self, name: str, digest: str) -> AsyncIterator[_Source]:
        def ask() -> http.client.HTTPResponse:
            return self._ask("GET", f"/v2/{name}/blobs/{digest}", name, {})

        answer = await _in_thread(self.name, ask)
        try:
            length = str(answer.headers.get("content-length", ""))
            if not length.isdecimal():
                raise Away(f"{self.name} does not say how large {digest} is")
            yield _Source(self.name, answer, int(length))
        finally:
            answer.close()

    # -- blocking ----------------------------------------------------------------------------

    def _ask(
        self, method: str, path: str, name: str, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        for _ in range(2):
            token, until = self._tokens.get(name, ("", 0.0))
            own = {"authorization": token} if token and until > time.time() else {}
            answer = _request(method, self._mirror.url + path, headers | own)
            if answer.status == 401:
                challenge = str(answer.headers.get("www-authenticate", ""))
                answer.close()
                self._tokens[name] = self._sign_in(challenge, name)
                continue
            if answer.status == 200:
                return answer
            answer.close()
            if answer.status in (403, 404):
                raise Missing(f"{self.name} has no such image, or it is not public: {name}")
            raise Away(f"{self.name} answers {answer.status}")
        raise Missing(f"{self.name} has no such image, or it is not public: {name}")

    def _sign_in(self, challenge: str, name: str) -> tuple[str, float]:
        own = self._basic()
        if challenge.lower().startswith("basic"):
            if not own:
                raise Missing(f"{self.name} wants a password; the admin sets it in danlu.toml")
            return own, time.time() + 3600
        fields = dict(_FIELD.findall(challenge))
        realm = fields.get("realm", "")
        if urlsplit(realm).scheme not in ("http", "https"):
            raise Away(f"{self.name} does not say where to sign in")
        query = urlencode(
            {"service": fields.get("service", ""), "scope": f"repository:{name}:pull"}
        )
        joint = "&" if "?" in realm else "?"
        headers = {"authorization": own} if own else {}
        answer = _request("GET", f"{realm}{joint}{query}", headers)
        with contextlib.closing(answer):
            if answer.status != 200:
                raise Missing(f"{self.name} refuses our account for {name}")
            values: dict[str, Any] = json.loads(answer.read(_LARGEST_TOKEN))
        token = values.get("token") or values.get("access_token") or ""
        return f"Bearer {token}", time.time() + max(30, float(values.get("expires_in", 60)) - 10)

    def _basic(self) -> str:
        mirror = self._mirror
        if not mirror.user:
            return ""
        pair = f"{mirror.user}:{mirror.password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"


def _request(method: str, url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    """Follows redirects, as blobs of large registries have; never with our token elsewhere."""
    for _ in range(5):
        parts = urlsplit(url)
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else (http.client.HTTPConnection)
        )
        connection = kind(parts.hostname or "", parts.port, timeout=_PATIENCE)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        if answer.status not in _REDIRECTS:
            return answer
        there = urljoin(url, str(answer.headers.get("location", "")))
        answer.close()
        if urlsplit(there).scheme not in ("http", "https"):
            raise OSError("it redirects to something that is not a web address")
        if urlsplit(there).netloc != parts.netloc:
            headers = {k: v for k, v in headers.items() if k != "authorization"}
        url = there
    raise OSError("it redirects again and again")


async def _in_thread(name: str, work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Away(f"{name} does not answer ({error})") from None
