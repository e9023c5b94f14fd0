"""Workers: small processes that have become a job's user, with their groups, for good."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
import secrets
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from danlu.engines.api import Identity, Unreachable
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.node.worker import HEAD

_LARGEST_ANSWER = 32 << 20
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); " \
    "from danlu.engines.slurm.node.worker import main; main()"  # fmt: skip


class Silent(Exception):
    """A worker died or did not answer: what it was asked may have been done."""


@dataclass(frozen=True, slots=True)
class User:
    """Whose worker. `uid` is None for the server's own user."""

    name: str
    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] = ()

    @classmethod
    def of(cls, identity: Identity) -> User:
        if identity.uid is None or identity.uid == os.geteuid():
            return cls(identity.user)
        gid = identity.gid if identity.gid is not None else identity.uid
        groups = identity.groups or _usual_groups(identity.user, gid)
        return cls(identity.user, identity.uid, gid, tuple(dict.fromkeys((gid, *groups))))

    def values(self) -> dict[str, Any]:
        return {"user": self.name, "uid": self.uid, "gid": self.gid, "groups": list(self.groups)}

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> User:
        return cls(str(values["user"]), values["uid"], values["gid"], tuple(values["groups"]))

    @property
    def number(self) -> int:
        return os.geteuid() if self.uid is None else self.uid

    @property
    def folder(self) -> str:
        """By number where there is one: names may be given to somebody else later."""
        return self.name if self.uid is None else f"{self.name}-{self.uid}"

    @property
    def home(self) -> str:
        try:
            return pwd.getpwuid(self.number).pw_dir
        except KeyError:
            return "/"


def _usual_groups(name: str, gid: int) -> tuple[int, ...]:
    try:
        return tuple(os.getgrouplist(name, gid))
    except (KeyError, OSError):
        return (gid,)


class Link:
    """One worker: one request after the other."""

    def __init__(self, config: SlurmConfig, agent: str, user: User) -> None:
        self._config = config
        self._agent = agent
        self._user = user
        self._busy = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, head: Mapping[str, Any], body: bytes = b"", patience: float = 60.0
    ) -> tuple[dict[str, Any], bytes]:
        """Raises Unreachable if the folder cannot be used, Silent if nobody answers."""
        async with self._busy:
            for last in (False, True):
                fresh = self._streams is None
                reader, writer = self._streams or await self._start()
                try:
                    async with asyncio.timeout(patience):
                        return await _exchange(reader, writer, head, body)
                except (OSError, EOFError, ValueError, TimeoutError) as error:
                    self.end()
                    # A worker that was idle for long has ended: that is no failure.
                    if last or fresh or isinstance(error, TimeoutError):
                        raise Silent(f"the worker of {self._user.name}: {error!r}") from error
                except BaseException:
                    self.end()  # its answer would be taken for the next one's
                    raise
        raise AssertionError

    async def _start(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        ours, theirs = socket.socketpair()
        try:
            self._process = await asyncio.to_thread(self._spawn, theirs)
        except (OSError, subprocess.SubprocessError) as error:
            ours.close()
            raise Unreachable(f"cannot become {self._user.name}: {error}") from error
        finally:
            theirs.close()
        self._streams = await asyncio.open_unix_connection(sock=ours)
        return self._streams

    def _spawn(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        user = self._user
        become: dict[str, Any] = {}
        if user.uid is not None:
            become = {"user": user.uid, "group": user.gid, "extra_groups": list(user.groups)}
        python = self._config.python if os.path.exists(self._config.python) else sys.executable
        fd = theirs.fileno()
        home = f"{self._config.shared}/{user.folder}"
        if user.uid is not None and os.geteuid() == 0:
            _offer(home, user)
        return subprocess.Popen(
            [python, "-I", "-S", "-c", _START, self._agent, str(fd), home],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(fd,),
            env={"PATH": self._config.path},
            cwd="/",
            **become,
        )

    def end(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                process.send_signal(signal.SIGKILL)
            process.wait()


def _offer(home: str, user: User) -> None:
    """Makes the user's folder where root may; elsewhere the user must be able to. What somebody
    else has put in its place goes aside: anybody may make folders there.
    """
    with contextlib.suppress(OSError):
        try:
            os.mkdir(home, 0o700)
        except FileExistsError:
            found = os.lstat(home)
            if stat.S_ISDIR(found.st_mode) and found.st_uid == user.uid:
                return
            parent, name = os.path.split(home)
            os.rename(home, f"{parent}/.not-{name}.{secrets.token_hex(8)}")
            os.mkdir(home, 0o700)
        os.chown(home, user.uid or 0, user.gid or 0, follow_symlinks=False)


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    head: Mapping[str, Any],
    body: bytes,
) -> tuple[dict[str, Any], bytes]:
    text = json.dumps(head).encode()
    writer.write(HEAD.pack(len(text), len(body)) + text + body)
    await writer.drain()
    size, rest = HEAD.unpack(await reader.readexactly(HEAD.size))
    if size + rest > _LARGEST_ANSWER:
        raise ValueError("the answer is too large")
    answer = json.loads(await reader.readexactly(size))
    data = await reader.readexactly(rest)
    if not isinstance(answer, dict):
        raise ValueError("not an answer")
    if answer.get("error"):
        raise Unreachable(str(answer["error"])[:500])
    return answer, data


class Users:
    """The workers of all users: some to submit, one for files, one for logs."""

    def __init__(self, config: SlurmConfig, lanes: int = 4) -> None:
        self._config = config
        self._lanes = lanes
        self._links: dict[tuple[User, str], Link] = {}
        self._turn = 0
        self.agent = ""  # where the programs are, once they are

    async def ask(
        self,
        user: User,
        op: str,
        values: Mapping[str, Any] | None = None,
        body: bytes = b"",
        lane: str = "files",
        patience: float = 60.0,
    ) -> tuple[dict[str, Any], bytes]:
        if not self.agent:
            raise Unreachable("the Slurm engine has not been started")
        link = self._links.get((user, lane))
        if link is None:
            link = self._links[(user, lane)] = Link(self._config, self.agent, user)
        return await link.ask({"op": op, **(values or {})}, body, patience)

    def submit_lane(self) -> str:
        self._turn = (self._turn + 1) % self._lanes
        return f"submit-{self._turn}"

    def close(self) -> None:
        for link in self._links.values():
            link.end()
        self._links.clear()
