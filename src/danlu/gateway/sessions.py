"""One session of an SSH client: a shell, a command or a file transfer inside the task."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

import asyncssh

from danlu.engines.api import Duplex, Endpoint, Listener, Reach, Refused, Run, TaskRef, Tty
from danlu.gateway.flow import Flow
from danlu.gateway.tunnels import relay
from danlu.wire import Rejected

if TYPE_CHECKING:
    from danlu.gateway.ssh import Connection

_SAME_SHELL = 'exec "$0"'
_PASSED_ON = ("LANG", "LANGUAGE", "TZ", "COLORTERM", "TERM_PROGRAM", "GIT_PROTOCOL")
_NAMED = {int(each): each.name[3:] for each in signal.Signals}
_CANNOT = 255  # as the ssh client itself for what is not the command's fault


class TaskSession(Flow, asyncssh.SSHServerSession[bytes]):
    def __init__(self, door: Connection, conn: asyncssh.SSHServerConnection) -> None:
        super().__init__()
        self._door = door
        self._conn = conn
        self._tty: Tty | None = None
        self._text: str | None = None
        self._files = False
        self._duplex: Duplex | None = None
        self._running: asyncio.Task[None] | None = None

    # -- what the client wants ----------------------------------------------------------------

    def pty_requested(
        self, term_type: str, term_size: tuple[int, int, int, int], term_modes: object
    ) -> bool:
        cols, rows = term_size[:2]
        term = term_type if term_type.isascii() and term_type.isprintable() else "xterm"
        self._tty = Tty(rows or 24, cols or 80, term[:64] or "xterm")
        return True

    def shell_requested(self) -> bool:
        self._text = _SAME_SHELL
        return True

    def exec_requested(self, command: str | bytes) -> bool:
        self._text = command if isinstance(command, str) else command.decode("utf-8", "replace")
        return True

    def subsystem_requested(self, subsystem: str) -> bool:
        self._files = subsystem == "sftp"
        return self._files

    def session_started(self) -> None:
        self._running = self._door.spawn(self._run())

    # -- while it runs ------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            reach, task, _ = await self._door.way()
            agent = await self._agent(reach, task)
        except Rejected as no:
            self._end(f"danlu: {no.text.en}. {no.text.zh}\r\n")
            return
        except Refused as no:
            self._end(f"danlu: {no}\r\n")
            return
        feeding: asyncio.Task[None] | None = None
        try:
            run = Run(
                (self._text or "",),
                self._tty,
                self._env(agent),
                cwd="~",
                shell=not self._files,
                files=self._files,
            )
            self._duplex = await reach.exec(task, run)
            feeding = self._door.spawn(self._feed(self._duplex))
            await self._carry(self._duplex)
            code = await self._duplex.exit_code()
            number = self._duplex.exit_signal
            if number is not None and number in _NAMED:
                self._chan.exit_with_signal(_NAMED[number])
            else:
                self._chan.exit(_CANNOT if code is None else code)
        except Refused as no:
            self._end(f"danlu: {no}\r\n")
        finally:
            if feeding is not None:
                feeding.cancel()
            if agent is not None:
                await agent.close()
            if self._duplex is not None:
                await self._duplex.close()

    def _end(self, sentence: str) -> None:
        self.tell(sentence)
        self._chan.exit(_CANNOT)

    def tell(self, sentence: str) -> None:
        with contextlib.suppress(OSError):  # it is closing
            self._chan.write(sentence.encode(), asyncssh.EXTENDED_DATA_STDERR)

    async def _carry(self, duplex: Duplex) -> None:
        while (piece := await duplex.receive()) is not None:
            stream, data = piece
            await self._writable.wait()
            error = stream == 2 and self._tty is None
            self._chan.write(data, asyncssh.EXTENDED_DATA_STDERR if error else None)

    def _env(self, agent: Listener | None) -> dict[str, str]:
        env = dict(self._door.env)
        for name, value in self._chan.get_environment().items():
            if name in _PASSED_ON or name.startswith("LC_"):
                env[name] = value
        peer, here = (self._conn.get_extra_info(which) for which in ("peername", "sockname"))
        if peer and here:
            env["SSH_CONNECTION"] = f"{peer[0]} {peer[1]} {here[0]} {here[1]}"
        if agent is not None and agent.endpoint.path:
            env["SSH_AUTH_SOCK"] = agent.endpoint.path
        return env

    async def _agent(self, reach: Reach, task: TaskRef) -> Listener | None:
        """A socket inside the task that leads to the client's agent, if they forward it."""
        if self._conn.get_agent_path() is None:
            return None
        listening = await reach.listen(task, Endpoint())

        async def serve() -> None:
            while (asked := await listening.accept()) is not None:
                self._door.spawn(self._to_agent(asked))

        self._door.spawn(serve())
        return listening

    async def _to_agent(self, asked: Duplex) -> None:
        with contextlib.suppress(OSError, asyncssh.Error):
            reader, writer = await self._conn.open_agent_connection()
            await relay(asked, reader, writer)

    # -- callbacks ----------------------------------------------------------------------------

    def terminal_size_changed(self, width: int, height: int, *_: int) -> None:
        if self._duplex is not None:
            self._door.spawn(self._duplex.resize(height, width))

    def signal_received(self, signal_name: str) -> None:
        number = getattr(signal, f"SIG{signal_name}", None)
        if self._duplex is not None and isinstance(number, signal.Signals):
            self._door.spawn(self._duplex.signal(int(number)))

    def break_received(self, msec: int) -> bool:
        if self._duplex is not None:
            self._door.spawn(self._duplex.signal(int(signal.SIGINT)))
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        self._door.free_channel()
        self._door.sessions.discard(self)
        if self._running is not None:
            self._running.cancel()
