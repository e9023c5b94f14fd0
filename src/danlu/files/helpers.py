"""The processes that work on files, one for each user: started on demand, ended when idle.

The server opens nothing below a volume's root. It opens the root (its parents may be closed to the
user) and hands it over with each request; everything else happens in the user's process.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from danlu.access.errors import Crowded
from danlu.engines.api import Identity
from danlu.files.helper import wire
from danlu.spec.text import Text

log = logging.getLogger("danlu.files")
IDLE = 120.0  # seconds until a helper without requests ends
MOST = 64  # helpers
MOST_CALLS = 32  # of one user at a time
MOST_STUCK = 4  # requests without an answer until a helper is replaced
MOST_REPLACED = 2  # helpers of one user that were replaced and still hang
PATIENCE = 20.0  # seconds for an answer
STARTING = 15.0
OPENING = 5.0  # seconds to open a volume's root
_BUFFER = 1 << 20
_SO_SNDBUFFORCE = 32
_KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")


class Away(Exception):
    """A volume, or a helper, does not answer."""

    def __init__(self, code: str = "volume_away", path: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.path = path


@dataclass(frozen=True, slots=True)
class RootAt:
    """A volume's root, as requests name it."""

    source: str
    path: str
    volume: str
    read_only: bool
    prefix: str = ""  # a folder beneath it, which the helper takes for the root

    def values(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "volume": self.volume,
            "read_only": self.read_only,
            "prefix": self.prefix,
        }


class Call:
    """One request and its answers. Closing it cancels what is not done."""

    def __init__(self, helper: Helper, sock: socket.socket, pipe: int | None = None) -> None:
        self._helper = helper
        self._sock = sock
        self.pipe = pipe  # this end of it, for bytes in one direction
        self._loop = asyncio.get_running_loop()
        self._open = True
        helper.enter()

    async def send(self, values: wire.Values) -> None:
        await self._send(wire.pack(values))

    async def send_piece(self, data: bytes | bytearray) -> None:
        """Raw bytes; empty ones are the end."""
        await self._send(wire.HEAD.pack(len(data)) + data)

    async def send_framed(self, data: bytearray) -> None:
        """The same without a copy: it begins with as many bytes as its length takes."""
        wire.HEAD.pack_into(data, 0, len(data) - wire.HEAD.size)
        await self._send(data)

    async def _send(self, data: bytes | bytearray) -> None:
        try:
            async with asyncio.timeout(PATIENCE * 3):
                await self._loop.sock_sendall(self._sock, data)
        except TimeoutError:
            self._helper.stuck += 1
            raise Away from None
        except OSError:
            raise Away("interrupted") from None

    async def answer(self, patience: float = PATIENCE) -> wire.Values:
        """The next frame that is not about progress."""
        while "progress" in (values := await self.receive(patience)):
            pass
        return values

    async def receive(self, patience: float = PATIENCE) -> wire.Values:
        try:
            values = json.loads(await self.piece(wire.LARGEST, patience))
        except ValueError:
            raise Away("interrupted") from None
        if not isinstance(values, dict):
            raise Away("interrupted")
        return values

    async def piece(self, most: int = wire.PIECE, patience: float = PATIENCE) -> bytes:
        (size,) = wire.HEAD.unpack(await self._exactly(wire.HEAD.size, patience))
        if size > most:
            raise Away("interrupted")
        return await self._exactly(size, patience)

    async def _exactly(self, size: int, patience: float) -> bytes:
        held = bytearray()
        while len(held) < size:
            held += await self.some(size - len(held), patience)
        return bytes(held)

    async def some(self, most: int, patience: float = PATIENCE) -> bytes:
        """Some of the raw bytes that follow, at least one."""
        try:
            async with asyncio.timeout(patience):
                data = await self._loop.sock_recv(self._sock, min(most, _BUFFER))
        except TimeoutError:
            self._helper.stuck += 1
            raise Away from None
        except OSError:
            data = b""
        if not data:
            raise Away("interrupted")
        self._helper.stuck = 0
        return data

    def is_stuck(self) -> None:
        """For who passes on bytes by the pipe, and has waited for too long."""
        self._helper.stuck += 1

    def close_pipe(self) -> None:
        if self.pipe is not None:
            os.close(self.pipe)
            self.pipe = None

    def close(self) -> None:
        if self._open:
            self._open = False
            self.close_pipe()
            self._sock.close()
            self._helper.leave()

    __del__ = close


class Helper:
    """The server's side of one process."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._process = process
        self._control = control
        self.calls = 0
        self.stuck = 0
        self.used_at = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def enter(self) -> None:
        self.calls += 1

    def leave(self) -> None:
        self.calls -= 1
        self.used_at = time.monotonic()

    async def ask(self, roots: Sequence[int], values: wire.Values) -> Call:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for each in (mine, theirs):
            _widen(each)
        mine.setblocking(False)
        pipe, far = _pipe(values.get("pipe"))
        call = Call(self, mine, pipe)
        try:
            with theirs:
                await self._hand_over([theirs.fileno(), *roots, *far])
            await call.send(values)
        except BaseException:
            call.close()
            raise
        finally:
            for fd in far:
                os.close(fd)
        return call

    async def _hand_over(self, fds: list[int]) -> None:
        end = time.monotonic() + STARTING
        while True:
            try:
                socket.send_fds(self._control, [b"r"], fds)
                return
            except BlockingIOError:
                if time.monotonic() > end:
                    self.stuck += 1
                    raise Away from None
                await asyncio.sleep(0.02)
            except OSError:
                raise Away("interrupted") from None

    def close(self) -> None:
        """It ends by itself when it sees this."""
        self._control.close()

    def kill(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            self._process.kill()


def _pipe(direction: object) -> tuple[int | None, list[int]]:
    """This end and the helper's, if the request comes with one: `down` or `up`."""
    if direction not in ("down", "up"):
        return None, []
    reads, writes = os.pipe2(os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # beyond what one user may have in pipes
        fcntl.fcntl(reads, fcntl.F_SETPIPE_SZ, _BUFFER)
    mine, far = (reads, writes) if direction == "down" else (writes, reads)
    os.set_blocking(mine, False)
    return mine, [far]


def _widen(sock: socket.socket) -> None:
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _BUFFER)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)


class Helpers:
    def __init__(self) -> None:
        self._running: dict[Identity, Helper] = {}
        self._starting: dict[Identity, asyncio.Lock] = {}
        self._ending: list[tuple[str, Helper]] = []  # closed or killed, not yet gone
        self._roots = _Roots()
        self._asking: Counter[str] = Counter()
        self._cleaning: asyncio.Task[None] | None = None

    async def ask(self, who: Identity, roots: Sequence[RootAt], values: wire.Values) -> Call:
        """Begins a request. Raises Away, Crowded, or OSError if a root cannot be opened."""
        mine = sum(helper.calls for key, helper in self._running.items() if key.user == who.user)
        if mine + self._asking[who.user] >= MOST_CALLS:
            raise Crowded(
                MOST_CALLS, Text("transfers and file operations at a time", "并行的文件操作")
            )
        self._asking[who.user] += 1
        try:
            return await self._ask(who, roots, values)
        finally:
            self._asking[who.user] -= 1

    async def _ask(self, who: Identity, roots: Sequence[RootAt], values: wire.Values) -> Call:
        told = {**values, "roots": [root.values() for root in roots]}
        for attempt in range(2):
            helper = await self._helper(who)
            fds = []
            try:
                for root in roots:
                    fds.append(await self._roots.open(root))
                return await helper.ask(fds, told)
            except Away as away:
                if away.code != "interrupted" or attempt:
                    raise
                self._retire(who, helper)  # it was ended or killed meanwhile
            finally:
                for fd in fds:
                    os.close(fd)
        raise Away("interrupted")

    async def _helper(self, who: Identity) -> Helper:
        lock = self._starting.setdefault(who, asyncio.Lock())
        async with lock:
            helper = self._running.get(who)
            if helper is not None and helper.alive and helper.stuck < MOST_STUCK:
                return helper
            if helper is not None:
                self._retire(who, helper)
            self._make_room(who)
            helper = await _start(who)
            self._running[who] = helper
            if self._cleaning is None or self._cleaning.done():
                self._cleaning = asyncio.create_task(self._clean())
            return helper

    def _retire(self, who: Identity, helper: Helper) -> None:
        if self._running.get(who) is helper:
            del self._running[who]
        if helper.alive:
            self._ending.append((who.user, helper))
        helper.kill()

    def _make_room(self, who: Identity) -> None:
        self._ending = [(user, helper) for user, helper in self._ending if helper.alive]
        if sum(user == who.user for user, _ in self._ending) > MOST_REPLACED:
            raise Away
        if len(self._running) < MOST:
            return
        idle = [(helper.used_at, key) for key, helper in self._running.items() if not helper.calls]
        if not idle:
            raise Away("too_busy")
        key = min(idle, key=lambda each: each[0])[1]
        self._end(key)

    def _end(self, key: Identity) -> None:
        helper = self._running.pop(key)
        helper.close()
        self._ending.append((key.user, helper))

    async def _clean(self) -> None:
        """Ends idle helpers, and takes note of those that have ended."""
        while self._running or self._ending:
            await asyncio.sleep(5.0)
            now = time.monotonic()
            for key, helper in list(self._running.items()):
                if not helper.alive or (not helper.calls and now - helper.used_at > IDLE):
                    self._end(key)
            self._ending = [(user, helper) for user, helper in self._ending if helper.alive]
            for key in [key for key in self._starting if key not in self._running]:
                if not self._starting[key].locked():
                    del self._starting[key]

    async def open_root(self, root: RootAt) -> int:
        """Raises Away or OSError."""
        return await self._roots.open(root)

    def pids(self) -> dict[str, int]:
        """For tests: whose helper is which process."""
        return {key.user: helper.pid for key, helper in self._running.items()}

    async def close(self) -> None:
        if self._cleaning is not None:
            self._cleaning.cancel()
        for helper in self._running.values():
            helper.kill()
        self._running.clear()


async def _start(who: Identity) -> Helper:
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = await asyncio.to_thread(_spawn, who, theirs)
    mine.setblocking(False)
    helper = Helper(process, mine)
    try:
        async with asyncio.timeout(STARTING):
            greeting = await asyncio.get_running_loop().sock_recv(mine, 16)
    except (OSError, TimeoutError):
        greeting = b""
    if greeting != b"ready":
        helper.kill()
        log.warning("the file helper of %s does not start", who.user)
        raise Away("too_busy")
    return helper


def _spawn(who: Identity, control: socket.socket) -> subprocess.Popen[bytes]:
    # It begins as root to read its own code, and becomes the user before its first request.
    uid = "" if who.uid is None else str(who.uid)
    gid = "" if who.gid is None else str(who.gid)
    words = [str(control.fileno()), who.user, uid, gid, ",".join(map(str, who.groups))]
    environment = {key: os.environ[key] for key in _KEPT if key in os.environ}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "danlu.files.helper", *words, f"{who.umask:03o}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(control.fileno(),),
        start_new_session=True,
        cwd="/",
        env=environment | {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )


class _Roots:
    """Opens volumes' roots in threads: a file server that does not answer holds one of them."""

    def __init__(self) -> None:
        self._hanging: set[str] = set()

    async def open(self, root: RootAt) -> int:
        if root.source in self._hanging:
            raise Away("volume_away", root.path)
        opening = _in_a_thread(root.source)
        done, _ = await asyncio.wait([opening], timeout=OPENING)
        if done:
            return opening.result()
        self._hanging.add(root.source)
        opening.add_done_callback(lambda late: self._late(root.source, late))
        raise Away("volume_away", root.path)

    def _late(self, source: str, late: asyncio.Future[int]) -> None:
        self._hanging.discard(source)
        if not late.cancelled() and late.exception() is None:
            os.close(late.result())


def _in_a_thread(source: str) -> asyncio.Future[int]:
    """A daemon, unlike those of a pool: one that hangs does not keep the server from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()

    def work() -> None:
        try:
            fd = os.open(source, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            found: int | OSError = error
        else:
            found = fd
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_settle, future, found)

    threading.Thread(target=work, name="danlu-root", daemon=True).start()
    return future


def _settle(future: asyncio.Future[int], found: int | OSError) -> None:
    if future.cancelled():
        if isinstance(found, int):
            os.close(found)
    elif isinstance(found, int):
        future.set_result(found)
    else:
        future.set_exception(found)
