"""One request of a WebDAV client: its path, its conditions, and what is there."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from fastapi import Request

from danlu.access.principal import Asker
from danlu.api.dav import conditions
from danlu.api.dav.xml import LARGEST, Unreadable
from danlu.services.dav_locks import DavLocks
from danlu.services.file_operations import Operation
from danlu.services.file_words import FileFault
from danlu.services.files import Files
from danlu.services.services import Services

BASE = "/dav"
LONGEST_WAIT = 3600.0  # seconds for a copy or a deletion
Values = dict[str, Any]


class Refused(Exception):
    def __init__(self, status: int, words: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.status, self.words, self.headers = status, words, headers or {}


class Visit:
    def __init__(self, request: Request, services: Services, asks: Asker) -> None:
        self.request = request
        self.asks = asks
        self.files: Files = services.files
        self.locks: DavLocks = services.dav_locks
        self.path = path_in(request.scope["path"])
        self.given = self._conditions()

    def header(self, name: str) -> str:
        return self.request.headers.get(name, "")

    async def body(self) -> bytes:
        """Of a request that is not a file."""
        held = b""
        async for piece in self.request.stream():
            held += piece
            if len(held) > LARGEST:
                raise Unreadable
        return held

    # -- what is there ------------------------------------------------------------------------

    async def entry(self, path: str | None = None) -> Values | None:
        """None: there is nothing."""
        try:
            return await self.files.stat(self.asks, self.path if path is None else path)
        except FileFault as fault:
            if fault.status == 404:
                return None
            raise

    async def need_parent(self, path: str) -> None:
        above = await self.entry(path.rpartition("/")[0] or "/")
        if above is None or "folder" not in (above["kind"], above["target_kind"]):
            raise Refused(409, "Its parent folder does not exist")

    async def ended(self, operation: Operation) -> None:
        """Waits for it. Raises FileFault."""
        await operation.wait(LONGEST_WAIT)
        if operation.fault is not None:
            raise operation.fault
        if operation.problems:
            raise operation.problems[0][1]
        if operation.state != "done":
            raise Refused(500, "It was not completed")

    # -- locks --------------------------------------------------------------------------------

    async def place(self, path: str) -> str:
        return await self.files.place_of(self.asks, path)

    async def check(self, *paths: str, below: bool = False) -> None:
        """Whether the conditions hold, and nobody else has locked what is to be changed."""
        await self._check_conditions()
        held = conditions.tokens(self.given)
        for path in paths:
            locks = self.locks.of(await self.place(path), below)
            if not locks:
                continue
            # Of shared locks on one thing, holding one is enough.
            mine = {lock.place for lock in locks if lock.token in held}
            if any(lock.place not in mine or lock.user != self.asks.name for lock in locks):
                raise Refused(423, "It is locked by a WebDAV client")

    async def _check_conditions(self) -> None:
        if self.given and not any([await self._holds(each) for each in self.given]):
            raise Refused(412, "A condition of the request (If) does not hold")

    async def _holds(self, each: conditions.List) -> bool:
        path = self.path if each.path is None else path_in(each.path)
        locked = {lock.token for lock in self.locks.of(await self.place(path))}
        for condition in each.conditions:
            if condition.token:
                true = condition.token in locked
            else:
                true = condition.etag.strip().strip('"') == await self.etag(path)
            if true == condition.negated:
                return False
        return True

    async def etag(self, path: str) -> str:
        try:
            transfer = await self.files.content(self.asks, path)
        except FileFault:
            return ""
        transfer.close()
        return str(transfer.about["etag"])

    def _conditions(self) -> list[conditions.List]:
        header = self.header("if")
        try:
            return conditions.parse(header) if header else []
        except conditions.Malformed:
            raise Refused(400, "The If header cannot be read") from None


def path_in(path: str) -> str:
    """Below /dav, as tasks see it."""
    if path != BASE and not path.startswith(f"{BASE}/"):
        raise Refused(403, f"Only paths below {BASE} can be used here")
    return path.removeprefix(BASE).rstrip("/") or "/"


def destination(visit: Visit) -> str:
    try:
        parts = urlsplit(visit.header("destination"))
    except ValueError:  # a host such as [::1
        raise Refused(400, "The Destination header cannot be read") from None
    if not parts.path:
        raise Refused(400, "The Destination header is missing")
    if parts.netloc and parts.netloc.rpartition("@")[2] != visit.header("host"):
        raise Refused(502, "The destination is on another server")
    return path_in(unquote(parts.path))
