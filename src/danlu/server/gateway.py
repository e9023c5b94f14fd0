"""The server's side of the gateway: its port, its process, its questions.

The server listens for the first SSH client and then starts the gateway with the socket, or when the
first web door is opened. Whoever uses neither pays nothing for it, and a restarted server finds the
gateway still serving.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import danlu
from danlu.access.errors import Clash
from danlu.gateway import host_key
from danlu.gateway.answers import Answers
from danlu.gateway.web.book import has_doors
from danlu.gateway.web.settings import WebSettings
from danlu.server.settings import SSH_PORT, Address, ConfigError
from danlu.server.sockets import listen_on
from danlu.services.services import Services
from danlu.spec.text import Text
from danlu.wire import LONGEST, Gone, Peer, Rejected, Values

log = logging.getLogger("danlu.server")
_AGAIN = 0.5
_SPAWN_AGAIN = 3.0
_PATIENCE = 30.0  # for a gateway that starts
_LOCK, _SOCKET, _PORT = "lock", "server.sock", "port"


class Gateway:
    def __init__(
        self,
        data: Path,
        address: Address | None,
        ours: Services,
        web: WebSettings | None = None,
    ) -> None:
        """`address`: for SSH clients. `web`: for browsers."""
        self._folder = data / "gateway"
        self._address = address
        self._ours = ours
        self._web = "" if web is None else web.text()
        ssh = "" if address is None else f" {address.host} {address.port or ''}".rstrip()
        self._version = f"{danlu.__version__}{ssh} {self._web}".strip()
        self._listener: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._peers: set[Peer] = set()
        self._current: Peer | None = None  # the gateway of this version
        self._there = asyncio.Event()
        self._last_spawn = -_SPAWN_AGAIN
        self._asking: set[asyncio.Task[None]] = set()
        self._knocked = False  # the gateway has our listener
        self._closing = False
        self._complained = False
        self.port: int | None = None  # None: it cannot be had
        self.host_key: str | None = None  # its fingerprint; None: not known

    async def start(self) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if self._address is not None:
            # What is wrong is said by the gateway.
            with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
                self.host_key = await asyncio.to_thread(host_key.fingerprint, self._folder)
        path = self._folder / _SOCKET
        path.unlink(missing_ok=True)
        with _short(path) as short:
            self._server = await asyncio.start_unix_server(self._serve, short, limit=LONGEST)
        path.chmod(0o600)
        if self._is_running():
            self.port = self._last_port()
        else:
            self._listen()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """The gateway goes on as long as somebody is connected."""
        self._closing = True
        if self._watching is not None:
            self._watching.cancel()
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
        if self._server is not None:
            self._server.close()
        for peer in list(self._peers):
            peer.close()

    async def _watch(self) -> None:
        while True:
            if self._process is not None and self._process.poll() is not None:
                self._process = None
            if self._process is None and not self._is_running():
                self._listen()
                if self._web and has_doors(self._folder):
                    self._spawn_again()  # for those who come back to doors of one that was killed
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _AGAIN)
            self._wake.clear()

    def _is_running(self) -> bool:
        """Also one that an earlier server has started."""
        fd = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    # -- the port -----------------------------------------------------------------------------

    def _listen(self) -> None:
        """For the first client. Those who come while no gateway runs wait for the next."""
        if self._listener is None and self._address is not None:
            self._bind(self._address)
        if self._listener is not None and self._knocked:
            self._knocked = False
            asyncio.get_running_loop().add_reader(self._listener, self._spawn)

    def _last_port(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            return int((self._folder / _PORT).read_text())
        return None

    def _bind(self, address: Address) -> None:
        usual = SSH_PORT if address.port is not None else self._last_port() or SSH_PORT
        try:
            listener = listen_on(address, usual)
        except ConfigError:
            if not self._complained:
                where = f"{address.host}:{address.port or usual}"
                log.warning("SSH: cannot listen on %s; choose another with server.ssh", where)
            self._complained = True
            return
        listener.setblocking(False)
        self._listener, self._complained, self._knocked = listener, False, True
        self.port = listener.getsockname()[1]
        (self._folder / _PORT).write_text(f"{self.port}\n")

    def _spawn(self) -> None:
        """Somebody knocks."""
        words = [sys.executable, "-m", "danlu.server.gateway_process", str(self._folder)]
        number = "" if self._listener is None else str(self._listener.fileno())
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._knocked = True
        self._last_spawn = time.monotonic()
        with open(self._folder / "errors", "wb") as output:
            self._process = subprocess.Popen(
                [*words, number, self._version, self._web],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(int(number),) if number else (),
                start_new_session=True,
                cwd="/",
            )

    def _spawn_again(self) -> None:
        """One that ends at once is not started in a loop."""
        if self._process is None and time.monotonic() - self._last_spawn > _SPAWN_AGAIN:
            self._spawn()

    def expect_visitors(self) -> None:
        """So that whoever opens a door soon does not wait for the gateway's start."""
        if self._web and self._current is None and not self._is_running():
            self._spawn_again()

    # -- questions ----------------------------------------------------------------------------

    async def open_door(self, door: Mapping[str, Any]) -> int:
        """Has the gateway listen, which is started if need be. Raises Clash."""
        try:
            async with asyncio.timeout(_PATIENCE):
                while True:
                    if self._current is None and not self._is_running():
                        self._spawn_again()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._there.wait(), _AGAIN)
                    if self._current is not None:
                        with contextlib.suppress(Gone):
                            return int((await self._current.ask("door-open", **door))["port"])
        except Rejected as no:
            raise Clash(no.code or "no_door", no.text) from no
        except TimeoutError:
            raise Clash(
                "no_gateway",
                Text(
                    "The gateway does not answer; try again. Its log is in gateway/errors of the "
                    "data folder",
                    "网关没有响应，请重试。日志在数据目录的 gateway/errors",
                ),
            ) from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers = Answers(self._ours.doors, self._ours.web_doors, self._ours.strips)

        async def hello(ask: Values) -> Values:
            if ask["version"] != self._version:
                log.info("a gateway of another version keeps serving its connections; no new ones")
                asking = asyncio.ensure_future(self._ask_to_drain(peer))
                self._asking.add(asking)
                asking.add_done_callback(self._asking.discard)
            else:
                self._current = peer
                self._there.set()
            return {}

        peer = Peer(reader, writer, answers.handlers() | {"hello": hello})
        answers.serve(peer)
        self._peers.add(peer)
        try:
            await peer.run()
        finally:
            self._peers.discard(peer)
            if self._current is peer:
                self._current = None
                self._there.clear()
            await answers.close(gone=not self._closing)
            self._wake.set()

    async def _ask_to_drain(self, peer: Peer) -> None:
        with contextlib.suppress(Gone, Rejected):
            await peer.ask("drain")
        self._wake.set()


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name for a socket whose path may be longer than the 108 bytes of an address."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
