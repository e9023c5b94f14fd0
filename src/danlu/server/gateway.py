"""The server's side of the gateway: its port, its process, its questions.

The server listens for the first SSH client and then starts the gateway with the socket. Whoever
uses no SSH pays nothing for it, and a restarted server finds the gateway still serving.
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
from collections.abc import Iterator
from pathlib import Path

import danlu
from danlu.gateway.answers import Answers
from danlu.gateway.wire import LONGEST, Gone, Peer, Rejected, Values
from danlu.server.settings import SSH_PORT, Address, ConfigError
from danlu.server.sockets import listen_on
from danlu.services.doors import Doors

log = logging.getLogger("danlu.server")
_AGAIN = 0.5
_LOCK, _SOCKET, _PORT = "lock", "server.sock", "port"


class Gateway:
    def __init__(self, data: Path, address: Address, doors: Doors) -> None:
        self._folder = data / "gateway"
        self._address = address
        self._doors = doors
        self._version = f"{danlu.__version__} {address.host} {address.port or ''}".strip()
        self._listener: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._peers: set[Peer] = set()
        self._asking: set[asyncio.Task[None]] = set()
        self._knocked = False  # the gateway has our listener
        self._closing = False
        self._complained = False
        self.port: int | None = None  # None: it cannot be had

    async def start(self) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
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
        if self._listener is None:
            self._bind()
        if self._listener is not None and self._knocked:
            self._knocked = False
            asyncio.get_running_loop().add_reader(self._listener, self._spawn)

    def _last_port(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            return int((self._folder / _PORT).read_text())
        return None

    def _bind(self) -> None:
        usual = SSH_PORT if self._address.port is not None else self._last_port() or SSH_PORT
        try:
            listener = listen_on(self._address, usual)
        except ConfigError:
            if not self._complained:
                where = f"{self._address.host}:{self._address.port or usual}"
                log.warning("SSH: cannot listen on %s; choose another with server.ssh", where)
            self._complained = True
            return
        listener.setblocking(False)
        self._listener, self._complained, self._knocked = listener, False, True
        self.port = listener.getsockname()[1]
        (self._folder / _PORT).write_text(f"{self.port}\n")

    def _spawn(self) -> None:
        """Somebody knocks."""
        assert self._listener is not None
        number = self._listener.fileno()
        words = [sys.executable, "-m", "danlu.server.gateway_process", str(self._folder)]
        asyncio.get_running_loop().remove_reader(self._listener)
        self._knocked = True
        with open(self._folder / "errors", "wb") as output:
            self._process = subprocess.Popen(
                [*words, str(number), self._version],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(number,),
                start_new_session=True,
                cwd="/",
            )

    # -- questions ----------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers = Answers(self._doors)

        async def hello(ask: Values) -> Values:
            if ask["version"] != self._version:
                log.info("another version's gateway serves those who are connected, and no others")
                asking = asyncio.ensure_future(self._ask_to_drain(peer))
                self._asking.add(asking)
                asking.add_done_callback(self._asking.discard)
            return {}

        peer = Peer(reader, writer, answers.handlers() | {"hello": hello})
        answers.peer = peer
        self._peers.add(peer)
        try:
            await peer.run()
        finally:
            self._peers.discard(peer)
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
