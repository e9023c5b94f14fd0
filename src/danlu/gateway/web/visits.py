"""Who may pass which door, as the server said. It says when that ends."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from danlu.engines.api import Reach, TaskRef
from danlu.gateway.link import Link
from danlu.gateway.web.book import Door
from danlu.gateway.web.upstream import Way
from danlu.wire import Gone, Peer, Rejected, Values

_MOST_TRIED = 8  # cookies of one request
UNUSED_SECONDS = 600.0
Key = tuple[str, str, str]  # of the cookie, the door, and where it is good
Reaches = Callable[[dict[str, str]], Reach]


@dataclass(slots=True)
class Visit:
    key: Key
    address: str
    encrypted: bool
    user: str
    way: Way
    used: float = field(default_factory=time.monotonic)
    connections: int = 0

    def values(self) -> Values:
        digest, door, _ = self.key
        return {
            "digest": digest,
            "door": door,
            "address": self.address,
            "encrypted": self.encrypted,
        }


class Visits:
    def __init__(self, link: Link, reaches: Reaches) -> None:
        self._link = link
        self._reaches = reaches
        self._known: dict[Key, Visit] = {}
        self._asking: dict[Key, asyncio.Future[Visit]] = {}
        self.on_cut: Callable[[str], None] = lambda _: None

    async def find(
        self, door: Door, cookies: list[str], address: str, encrypted: bool
    ) -> Visit | None:
        """Raises Rejected: it is theirs, but there is no way in."""
        # Without TLS a cookie is good only where it was made: others can read it on the way.
        place = "" if encrypted else address
        keys = [(digest_of(each), door.id, place) for each in cookies]
        for key in keys:
            if (visit := self._known.get(key)) is not None:
                visit.used = time.monotonic()
                return visit
        no: Rejected | None = None
        for key in keys[:_MOST_TRIED]:
            try:
                return await self._asked(key, address, encrypted)
            except Rejected as trouble:
                no = trouble if trouble.code != "not_signed_in" else no
        if no is not None:
            raise no
        return None

    async def _asked(self, key: Key, address: str, encrypted: bool) -> Visit:
        """The many requests of a page that is loaded ask once."""
        asking = self._asking.get(key)
        if asking is None:
            asking = asyncio.ensure_future(self._ask(key, address, encrypted))
            self._asking[key] = asking
            asking.add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(asking)

    async def _ask(self, key: Key, address: str, encrypted: bool) -> Visit:
        ask = {"digest": key[0], "door": key[1], "address": address, "encrypted": encrypted}
        found = await self._link.ask("door-visit", **ask)
        task = TaskRef(found["attempt"], int(found["task"]), "", found["handle"])
        way = Way(self._reaches(found["reach"]), task, str(found["control"]))
        visit = Visit(key, address, encrypted, str(found["user"]), way)
        self._known[key] = visit
        return visit

    async def again(self, peer: Peer) -> None:
        """After the server was away: is everybody still allowed?"""
        for visit in list(self._known.values()):
            try:
                found = await peer.ask("door-visit", **visit.values())
            except Rejected:
                self.cut(visit.key[0])
                continue
            if found["attempt"] != visit.way.task.attempt_id:
                self.cut(visit.key[0])

    @property
    def attempts(self) -> set[str]:
        return {visit.way.task.attempt_id for visit in self._known.values()}

    def cut(self, digest: str) -> None:
        for key in [key for key in self._known if key[0] == digest]:
            del self._known[key]
        self.on_cut(digest)

    async def tidy(self) -> None:
        """Those who have gone are asked about again when they come back."""
        limit = time.monotonic() - UNUSED_SECONDS
        gone = [v for v in self._known.values() if v.connections == 0 and v.used < limit]
        for visit in gone:
            self._known.pop(visit.key, None)
            if not any(key[0] == visit.key[0] for key in self._known):
                with contextlib.suppress(Rejected, Gone):
                    await self._link.ask("door-left", digest=visit.key[0])


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
