"""The server's side of the image registry: its port, its process, its questions.

The server listens for the first client and then starts the registry with the sockets. Whoever
pushes no images pays nothing for it, and a restarted server finds the registry still serving.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import pwd
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import danlu
from danlu.access.errors import AccessError, Clash
from danlu.registry.settings import CONTENT, LOCK, PORT, SOCKET, RegistrySettings
from danlu.server.registry_table import RegistryConfig
from danlu.server.settings import Address, ConfigError, ServerConfig
from danlu.server.sockets import listen_on
from danlu.spec.text import Text
from danlu.wire import LONGEST, Gone, Peer, Rejected, Values

log = logging.getLogger("danlu.server")
_AGAIN = 0.5
_SPAWN_AGAIN = 3.0
_PATIENCE = 30.0
_PORT, _KEY, _LOG = "port", "key", "log"
_LARGEST_LOG = 1 << 20
_ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, not bound
TokenMaker = Callable[[str, str, str, list[str]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Where:
    """What [registry] and [server] say together."""

    host: str
    port: int | None
    cert: str
    cert_key: str


def where_of(config: ServerConfig) -> Where:
    own = config.registry
    cert, key = own.tls_cert or config.tls_cert, own.tls_key or config.tls_key
    if own.tls is False or cert is None:
        return Where(own.host or config.listen[0].host, own.port, "", "")
    return Where(
        own.host or config.listen[0].host, own.port, str(cert.absolute()), str(key or cert)
    )


class RegistryProcess:
    def __init__(
        self, data: Path, config: RegistryConfig, where: Where, user: int | None, tokens: TokenMaker
    ) -> None:
        """`user`: whom it runs as; None: as the server. `tokens`: name, password, address and
        scopes become a token, or an AccessError."""
        self._run = data / "registry"
        self._folder = config.folder or self._run
        self._config = config
        self._where = where
        self._user = user
        self._tokens = tokens
        self.changed: Callable[[list[Values]], Awaitable[None]] | None = None
        self.linked: Callable[[], Awaitable[None]] | None = None
        told = [config.settings.text(), where.host, str(where.port), where.cert, str(user)]
        self._version = " ".join([danlu.__version__, str(self._folder), *told])
        self._listeners: list[socket.socket] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._peer: Peer | None = None
        self._there = asyncio.Event()
        self._last_spawn = -_SPAWN_AGAIN
        self._waiting = False  # for the first client
        self._complained = False
        self._run.mkdir(mode=0o700, exist_ok=True)
        self.key = _key(self._run / _KEY)
        self.port: int | None = None  # None: it cannot be had

    async def start(self) -> None:
        await asyncio.to_thread(self._make_folders)
        if self._is_running():
            self.port = self.last_port(self._run)
        else:
            self._listen()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """The registry goes on for those whose tokens are still good."""
        if self._watching is not None:
            self._watching.cancel()
        self._stop_waiting()
        for listener in self._listeners:
            listener.close()
        if self._peer is not None:
            self._peer.close()

    @staticmethod
    def last_port(run: Path) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            return int((run / _PORT).read_text())
        return None

    def _make_folders(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = self._folder / CONTENT
        content.mkdir(mode=0o700, exist_ok=True)
        user = os.geteuid() if self._user is None else self._user
        if content.stat().st_uid != user:
            _hand_over(content, user)

    async def _watch(self) -> None:
        while True:
            try:
                if self._process is not None and self._process.poll() is not None:
                    self._process = None
                if self._is_running():
                    await self._link()
                elif self._process is None:
                    self._listen()
            except Exception:
                log.exception("the registry")
            await asyncio.sleep(_AGAIN if self._waiting else 0.05)

    def _is_running(self) -> bool:
        """Also one that an earlier server has started."""
        fd = os.open(self._run / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    # -- the port ----------------------------------------------------------------------------

    def _listen(self) -> None:
        """For the first client. Those who come while no registry runs wait for the next."""
        if not self._listeners:
            self._bind()
        if self._listeners and not self._waiting and self._may_spawn():
            self._waiting = True
            for listener in self._listeners:
                asyncio.get_running_loop().add_reader(listener, self._spawn)

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting = False
            for listener in self._listeners:
                asyncio.get_running_loop().remove_reader(listener)

    def _bind(self) -> None:
        where = self._where
        usual = PORT if where.port is not None else self.last_port(self._run) or PORT
        try:
            found = [listen_on(Address(where.host, where.port), usual)]
            self.port = int(found[0].getsockname()[1])
            if where.host not in (*_ANYWHERE, "127.0.0.1", "localhost"):
                found.append(listen_on(Address("127.0.0.1", self.port)))  # for this machine's jobs
        except ConfigError as error:
            if not self._complained:
                log.warning("image registry: %s; see [registry] port", error)
            self._complained = True
            return
        for listener in found:
            listener.setblocking(False)
        self._listeners, self._complained = found, False
        (self._run / _PORT).write_text(f"{self.port}\n")

    def _spawn(self) -> None:
        """Somebody knocks, or the server itself has a question."""
        self._stop_waiting()
        self._last_spawn = time.monotonic()
        numbers = [listener.fileno() for listener in self._listeners]
        orders = {
            "run": str(self._run),
            "folder": str(self._folder),
            "listeners": numbers,
            "version": self._version,
            "key": self.key.hex(),
            "user": self._user,
            "cert": self._where.cert,
            "cert_key": self._where.cert_key,
            "settings": _with_passwords(self._config.settings).secret_text(),
        }
        with _open_log(self._run / _LOG) as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "danlu.server.registry_process"],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=numbers,
                start_new_session=True,
                cwd="/",
            )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # small enough for the pipe
            process.stdin.write(json.dumps(orders).encode())
            process.stdin.close()
        self._process = process

    # -- questions ---------------------------------------------------------------------------

    async def ask(self, what: str, **values: Any) -> Values:
        """Starts it if need be. Raises Clash."""
        try:
            async with asyncio.timeout(_PATIENCE):
                while True:
                    if self._peer is None and self._process is None and not self._is_running():
                        self._spawn_again()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._there.wait(), _AGAIN)
                    if self._peer is not None:
                        with contextlib.suppress(Gone):
                            return await self._peer.ask(what, **values)
        except Rejected as no:
            raise Clash(no.code or "registry", no.text) from None
        except TimeoutError:
            raise Clash(
                "no_registry",
                Text(
                    "The image registry does not answer; try again. Its log is registry/log in "
                    "the data folder",
                    "镜像仓库没有响应，请重试。日志在数据目录的 registry/log",
                ),
            ) from None

    async def tell(self, what: str, **values: Any) -> None:
        """If it runs; otherwise there is nobody to tell."""
        if self._peer is not None:
            with contextlib.suppress(Gone, Rejected):
                await self._peer.ask(what, **values)

    def _spawn_again(self) -> None:
        if self._listeners and self._may_spawn():
            self._spawn()

    def _may_spawn(self) -> bool:
        """One that ends at once is not started in a loop."""
        return time.monotonic() - self._last_spawn > _SPAWN_AGAIN

    async def _link(self) -> None:
        """Until the connection is lost."""
        with _short(self._run / SOCKET) as path:
            try:
                reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST)
            except OSError:
                return  # it is still starting
        peer = Peer(reader, writer, {"token": self._answer, "changed": self._hear})
        running = asyncio.create_task(peer.run())
        try:
            if (await peer.ask("hello"))["version"] != self._version:
                log.info("stopping the registry that runs with other settings")
                await peer.ask("leave")
            else:
                self._peer = peer
                self._there.set()
                if self.linked is not None:
                    await self.linked()
            await running
        except (Gone, Rejected):
            pass
        finally:
            self._peer = None
            self._there.clear()
            running.cancel()
            peer.close()

    async def _hear(self, ask: Values) -> Values:
        if self.changed is not None:
            await self.changed(ask["changes"])
        return {}

    async def _answer(self, ask: Values) -> Values:
        try:
            token = await self._tokens(ask["name"], ask["password"], ask["address"], ask["scopes"])
        except AccessError as error:
            raise Rejected(error.message, error.code) from None
        return {"token": token}


def user_for(number: int | None) -> int | None:
    """Whom the registry runs as: not root. `number`: of the range for people and services."""
    if os.geteuid() != 0:
        return None
    if number is not None:
        return number
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("nobody").pw_uid
    return None


def _key(path: Path) -> bytes:
    """Made once: tokens stay good over a restart."""
    with contextlib.suppress(FileNotFoundError):
        found = path.read_bytes()
        if len(found) == 32:
            return found
    key, draft = secrets.token_bytes(32), path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, path)
    return key


def _with_passwords(settings: RegistrySettings) -> RegistrySettings:
    """The registry's own user cannot read the admin's files."""
    mirrors = []
    for mirror in settings.mirrors:
        password = mirror.password
        if mirror.password_file:
            try:
                password = Path(mirror.password_file).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                log.warning("registry.mirrors.%s: password_file: %s", mirror.name, error)
        mirrors.append(replace(mirror, password=password))
    return replace(settings, mirrors=tuple(mirrors))


def _hand_over(folder: Path, user: int) -> None:
    """What another user of ours has put there; nothing in it is followed."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(os.path.join(place, name), user, user, follow_symlinks=False)
    os.chown(folder, user, user)


def _open_log(path: Path) -> Any:
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > _LARGEST_LOG:
            os.replace(path, path.with_suffix(".1"))
    return open(path, "ab")


@contextlib.contextmanager
def _short(path: Path) -> Any:
    """A name for a socket whose path may be longer than the 108 bytes of an address."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


__all__ = ["RegistryProcess", "Where", "user_for", "where_of"]
