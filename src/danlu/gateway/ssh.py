"""The SSH door: `ssh -p 2222 USER+JOB@host` leads into a running task, `USER@host` into one's own.

The client's sessions, file transfers and forwarded ports are processes and sockets inside the task,
made by its keeper. The image needs nothing for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import asyncssh

from danlu.engines.api import Endpoint, Reach, Refused, TaskRef
from danlu.gateway import packets
from danlu.gateway.link import Link, Session
from danlu.gateway.sessions import TaskSession
from danlu.gateway.tunnels import Tunnel, TunnelListener
from danlu.spec.text import Text
from danlu.wire import Rejected

log = logging.getLogger("danlu.gateway")

Reaches = Callable[[dict[str, str]], Reach]

# Measured: AES-GCM is several times as fast here as ChaCha20, which is therefore left out.
CIPHERS = [
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "aes128-ctr",
    "aes192-ctr",
    "aes256-ctr",
]
_LOGIN_SECONDS = 60
_MOST_UNSIGNED = 100
_MOST_KEYS = 20  # that one client may show
_MOST_CHANNELS = 200  # of one client at a time
_PARTING_SECONDS = 5.0  # to read why one may not come in
_WINDOW = 1 << 21
_LARGEST_PACKET = 128 * 1024
_CUT_OFF = Text("You may no longer enter this task", "访问权限已被收回")


class Connection(asyncssh.SSHServer):
    """One client, who comes to one task."""

    def __init__(self, link: Link, reaches: Reaches, living: set[Connection]) -> None:
        self._link = link
        self._reaches = reaches
        self._living = living
        self.signed_in: Session | None = None
        self._fingerprint = ""
        self._keys_shown = 0
        self._wrong: set[tuple[str, bytes]] = set()  # names, and digests of passwords
        self._channels = self._listeners = 0
        self._lost = False
        self._name = self._job = ""
        self._way: asyncio.Future[tuple[Reach, TaskRef, str]] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.env: dict[str, str] = {}
        self.sessions: set[TaskSession] = set()

    # -- signing in ---------------------------------------------------------------------------

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._conn = conn
        self._living.add(self)
        peer = conn.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""
        if sum(1 for each in self._living if each.signed_in is None) > _MOST_UNSIGNED:
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._living.discard(self)
        for task in list(self._tasks):
            task.cancel()
        if self._way is not None:
            self._way.cancel()
        if self.signed_in is not None:
            self._link.left(self.signed_in)

    def begin_auth(self, username: str) -> bool:
        # USER+OWNER+JOB is OWNER/JOB, as programs take what has a / for a path.
        self._name, _, rest = username.partition("+")
        self._job = rest.replace("+", "/")
        return True

    def password_auth_supported(self) -> bool:
        return True

    async def validate_password(self, username: str, password: str) -> bool:
        """Clients that can ask nobody send an empty one, or the same one for each method and
        prompt: that is one attempt, or none, and not six guesses."""
        shown = (self._name, hashlib.sha256(password.encode("utf-8", "replace")).digest())
        if not password or shown in self._wrong:
            return False
        try:
            await self._sign_in(password=password)
        except Rejected as no:
            if no.code == "wrong_password":
                self._wrong.add(shown)
            if not self._lost:
                self._conn.send_auth_banner(_sentence(no.text))
            return False
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    async def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        self._fingerprint = key.get_fingerprint()
        self._keys_shown += 1
        if self._keys_shown > _MOST_KEYS:
            return False
        try:
            return await self._link.knows_key(self._name, self._fingerprint)
        except Rejected as no:  # the server cannot be asked: not the key's fault
            if not self._lost:
                self._conn.send_auth_banner(_sentence(no.text))
            return False

    def auth_completed(self) -> None:
        self._way = asyncio.ensure_future(self._enter())
        self._way.add_done_callback(self._entered)

    def _entered(self, way: asyncio.Future[tuple[Reach, TaskRef, str]]) -> None:
        """Whoever has no way in does not stay either."""
        if way.cancelled() or (error := way.exception()) is None:
            return
        if not isinstance(error, Rejected):
            log.error("a way into a task", exc_info=error)
        asyncio.get_running_loop().call_later(_PARTING_SECONDS, self._conn.close)

    async def _sign_in(self, **proof: str) -> Session:
        session = await self._link.sign_in(self._name, self._address, **proof)
        if self._lost:
            self._link.left(session)
            raise asyncio.CancelledError
        self.signed_in = session
        return session

    async def _enter(self) -> tuple[Reach, TaskRef, str]:
        who = self.signed_in or await self._sign_in(fingerprint=self._fingerprint)
        found = await self._link.enter(who, self._job)
        self.env = {str(name): str(value) for name, value in found["shell_env"].items()}
        task = TaskRef(found["attempt"], int(found["task"]), "", found["handle"])
        return self._reaches(found["reach"]), task, str(found["job"])

    async def way(self) -> tuple[Reach, TaskRef, str]:
        """Raises Rejected."""
        assert self._way is not None
        try:
            return await asyncio.shield(self._way)
        except (Rejected, asyncio.CancelledError):
            raise
        except Exception as error:
            raise Rejected(
                Text("The gateway cannot reach this task", "网关无法到达该任务")
            ) from error

    def cut_off(self) -> None:
        """Access has ended."""
        # Closing the channels comes first: a client may be gone before it reads the reason.
        for session in list(self.sessions):
            session.tell(f"danlu: {_sentence(_CUT_OFF)}")
        # Clients escape what is not ASCII here.
        self._conn.disconnect(asyncssh.DISC_BY_APPLICATION, _CUT_OFF.en)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- what the client asks for -------------------------------------------------------------

    def session_requested(self) -> Any:
        self._take_channel()
        channel = self._conn.create_server_channel(None, "", _WINDOW, _LARGEST_PACKET)
        session = TaskSession(self, self._conn)
        self.sessions.add(session)
        return channel, session

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Any:
        return self._tunnel(Endpoint(dest_port, dest_host))

    def unix_connection_requested(self, dest_path: str) -> Any:
        return self._tunnel(Endpoint(path=dest_path))

    def _take_channel(self) -> None:
        if self._channels >= _MOST_CHANNELS:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_RESOURCE_SHORTAGE, f"at most {_MOST_CHANNELS} channels at a time"
            )
        self._channels += 1

    def free_channel(self) -> None:
        self._channels -= 1

    async def _tunnel(self, to: Endpoint) -> Tunnel:
        self._take_channel()
        try:
            reach, task, _ = await self.way()
            return Tunnel(await reach.connect(task, to), self.spawn, self.free_channel)
        except BaseException as no:
            self.free_channel()
            if not isinstance(no, (Rejected, Refused)):
                raise
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, str(no)) from no

    def server_requested(self, listen_host: str, listen_port: int) -> Any:
        if listen_host not in ("", "localhost", "127.0.0.1", "::1"):
            return False  # only for what runs in the task, as with sshd's default
        return self._listener(Endpoint(listen_port))

    def unix_server_requested(self, listen_path: str) -> Any:
        return self._listener(Endpoint(path=listen_path))

    async def _listener(self, at: Endpoint) -> Any:
        self._listeners += 1
        if self._listeners > _MOST_CHANNELS:
            return False
        try:
            reach, task, _ = await self.way()
            listening = await reach.listen(task, at)
        except (Rejected, Refused) as no:
            log.info("forwarding refused: %s", no)
            return False
        return TunnelListener(listening, self._conn, at, self.spawn)


def _sentence(text: Text) -> str:
    return f"{text.en}. {text.zh}\r\n"


async def serve(
    listener: Any, keys: list[str], link: Link, reaches: Reaches, living: set[Connection]
) -> asyncssh.SSHAcceptor:
    def cut(session: str) -> None:
        for each in list(living):
            if each.signed_in is not None and each.signed_in.id == session:
                each.cut_off()

    link.on_cut = cut
    asyncssh.set_log_level(logging.ERROR)  # what clients do wrong is their own affair
    return await packets.listen(
        listener,
        lambda: Connection(link, reaches, living),
        server_host_keys=keys,
        encryption_algs=CIPHERS,
        compression_algs=["none"],
        agent_forwarding=True,
        keepalive_interval=30,
        keepalive_count_max=4,
        login_timeout=_LOGIN_SECONDS,
        line_editor=False,
        server_version="Danlu",
    )
