"""The web doors of a gateway: their ports, and everybody who is connected."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections import OrderedDict
from pathlib import Path

from danlu.gateway.link import Link
from danlu.gateway.web.book import STAYS_SECONDS, Book, Door
from danlu.gateway.web.certificate import Certificates
from danlu.gateway.web.connection import Connection
from danlu.gateway.web.settings import WebSettings
from danlu.gateway.web.upstream import Tools
from danlu.gateway.web.visits import Reaches, Visit, Visits
from danlu.spec.hosts import bare
from danlu.spec.text import Text
from danlu.wire import Peer, Rejected, Values

_MOST_GUESTS = 256  # connections of those who have shown no cookie
_MOST_OF_ONE = 256  # connections of one person
_HANDSHAKE_SECONDS = 20.0
_PAUSE_SECONDS = 0.1  # if no connection can be accepted, usually for lack of descriptors
_BACKLOG = 1024
_TLS = b"\x16"  # how a handshake begins


class Web:
    def __init__(self, folder: Path, settings: WebSettings, link: Link, reaches: Reaches) -> None:
        self.settings = settings
        self.link = link
        self.visits = Visits(link, reaches)
        self.tools = Tools()
        self.draining = False
        self._book = Book(folder, settings.first, settings.last)
        self._certificates = Certificates(folder, settings)
        self._listening: dict[int, tuple[socket.socket, asyncio.Task[None]]] = {}
        self._arriving: set[asyncio.Task[None]] = set()
        self._guests: OrderedDict[Connection, None] = OrderedDict()
        self._inside: dict[Connection, str] = {}  # whose
        self.visits.on_cut = self._cut
        link.handlers |= {
            "door-open": self._open,
            "door-cut": self._on_cut,
            "door-over": self._on_over,
        }
        link.on_connected.append(self._connected)

    # -- doors ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Opens the doors that an earlier gateway had open."""
        for door in list(self._book.doors.values()):
            if not self._listen(self._port_of(door)):
                self._book.drop(door)

    def _port_of(self, door: Door) -> int:
        return door.port or self.settings.first

    async def _open(self, values: Values) -> Values:
        id = str(values["door"])
        known = self._book.doors.get(id)
        door = known or Door(
            id,
            str(values["job"]),
            str(values["ref"]),
            str(values["owner"]),
            int(values["task"]),
            str(values["target"]),
        )
        door.used, door.over_since = time.time(), None
        if known is None:
            self._place(door)
        elif not self._listen(self._port_of(door)):
            raise _no_port(self.settings)
        self.link.spawn(self._watched(door))
        return {"port": self._port_of(door)}

    def _place(self, door: Door) -> None:
        if self.settings.domain:
            full = self._book.is_full(door.owner)
            before = self._book.gives_way(door.owner, self._is_busy) if full else None
            if (full and before is None) or not self._listen(self.settings.first):
                raise _no_port(self.settings)
            if before is not None:
                self._book.drop(before)
            self._book.put(door)
            return
        for port in self._book.choices(door, self._is_busy):
            if self._listen(port):
                door.port = port
                if (before := self._book.put(door)) is not None:
                    self._empty(before)
                return
        raise _no_port(self.settings)

    def _is_busy(self, door: Door) -> bool:
        return any(each.door == door.id for each in self._inside)

    def door_at(self, port: int, host: str) -> Door | None:
        if not self.settings.domain:
            return self._book.at(port)
        label, _, rest = bare(host).partition(".")
        door = self._book.doors.get(label)
        return door if door is not None and rest == self.settings.domain else None

    def _listen(self, port: int) -> bool:
        if port in self._listening:
            return True
        try:
            listener = _bound(self.settings.host, port)
        except OSError:
            return False
        accepting = asyncio.create_task(self._accept(listener, port))
        self._listening[port] = (listener, accepting)
        return True

    def _stop_listening(self, port: int) -> None:
        listener, accepting = self._listening.pop(port)
        accepting.cancel()
        listener.close()

    @property
    def connected(self) -> bool:
        return bool(self._inside or self._guests)

    @property
    def open(self) -> bool:
        """Somebody could come, or come back."""
        return any(not door.over for door in self._book.doors.values())

    def drain(self) -> None:
        """The next gateway takes the ports; what is being answered is answered to its end."""
        self.draining = True
        for port in list(self._listening):
            self._stop_listening(port)
        for each in [*self._inside, *self._guests]:
            if each.idle:
                each.abort()

    async def tidy(self) -> None:
        await self.visits.tidy()
        self.tools.forget_all_but(self.visits.attempts)
        if self.draining:
            return
        limit = time.time() - STAYS_SECONDS
        for door in list(self._book.doors.values()):
            if door.over_since is not None and door.over_since < limit:
                self._book.drop(door)
                if door.port in self._listening:
                    self._stop_listening(door.port)

    # -- what the server says ---------------------------------------------------------------------

    async def _connected(self, peer: Peer) -> None:
        await self.visits.again(peer)
        doors = [door for door in self._book.doors.values() if not door.over]
        found = await peer.ask("door-list", doors=[{"id": d.id, "job": d.job} for d in doors])
        for door in found["over"]:
            self._end(str(door))

    async def _watched(self, door: Door) -> None:
        with contextlib.suppress(Rejected):
            found = await self.link.ask("door-list", doors=[{"id": door.id, "job": door.job}])
            for each in found["over"]:
                self._end(str(each))

    async def _on_cut(self, values: Values) -> Values:
        self.visits.cut(str(values["digest"]))
        return {}

    async def _on_over(self, values: Values) -> Values:
        self._end(str(values["door"]))
        return {}

    def _end(self, id: str) -> None:
        door = self._book.doors.get(id)
        if door is not None and not door.over:
            door.over_since = time.time()
            if not self.draining:
                self._book.save()
            self._empty(door)

    def _cut(self, digest: str) -> None:
        for each in [each for each in self._inside if each.digest == digest]:
            each.abort()

    def _empty(self, door: Door) -> None:
        for each in [each for each in self._inside if each.door == door.id]:
            each.abort()

    # -- connections ------------------------------------------------------------------------------

    async def _accept(self, listener: socket.socket, port: int) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                link, address = await loop.sock_accept(listener)
            except OSError:
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            arriving = asyncio.create_task(self._welcome(link, port, str(address[0])))
            self._arriving.add(arriving)
            arriving.add_done_callback(self._arriving.discard)
            if len(self._arriving) > _MOST_GUESTS:
                next(iter(self._arriving)).cancel()

    async def _welcome(self, link: socket.socket, port: int, address: str) -> None:
        """TLS or not: the first byte says."""
        loop = asyncio.get_running_loop()
        link.setblocking(False)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                first = await _first_byte(link)
            context = self._certificates.context() if first == _TLS else None
            patience = _HANDSHAKE_SECONDS if context is not None else None
            await loop.connect_accepted_socket(
                lambda: Connection(self, port, address),
                link,
                ssl=context,
                ssl_handshake_timeout=patience,
            )
        except (OSError, ssl.SSLError):
            link.close()
        except asyncio.CancelledError:
            link.close()
            raise

    def enter(self, connection: Connection) -> bool:
        if self.draining:
            return False
        self._guests[connection] = None
        if len(self._guests) > _MOST_GUESTS:
            oldest, _ = self._guests.popitem(last=False)
            oldest.abort()
        return True

    def known(self, connection: Connection, before: Visit | None) -> bool:
        """Somebody has shown who they are. False: they have too many connections already."""
        visit = connection.visit
        assert visit is not None
        if before is not None:
            before.connections -= 1
        visit.connections += 1
        self._guests.pop(connection, None)
        self._inside[connection] = visit.user
        return sum(user == visit.user for user in self._inside.values()) <= _MOST_OF_ONE

    def leave(self, connection: Connection) -> None:
        self._guests.pop(connection, None)
        if self._inside.pop(connection, None) is not None and connection.visit is not None:
            connection.visit.connections -= 1


def _bound(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


async def _first_byte(link: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(link, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(link)
    return link.recv(1, socket.MSG_PEEK)


def _no_port(settings: WebSettings) -> Rejected:
    where = f"{settings.host}:{settings.first}-{settings.last}"
    return Rejected(
        Text(
            f"No port is free for another door ({where}); close some, or ask an admin about "
            "server.web",
            f"没有空闲端口可用（{where}）；请先关闭一些，或向管理员询问 server.web",
        ),
        "no_port",
    )
