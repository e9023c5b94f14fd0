"""One tool as a process of its own: started when wanted, started again when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time

from danlu.inside import http
from danlu.inside.words import Trouble, note

_PIECE = 64 * 1024
_LONGEST_LINE = 4096
_LOOK_EVERY = 0.05  # seconds, while it starts
_START_PATIENCE = 180.0
_LIVES_WELL = 60.0  # seconds after which an end does not count as a failed start
_MOST_DEATHS = 4
_LONGEST_PAUSE = 15.0
_END_PATIENCE = 7.0


class Program:
    """`probe`: a path that it answers once it is ready."""

    def __init__(
        self, name: str, words: list[str], env: dict[str, str], socket: str, probe: str
    ) -> None:
        self.name = name
        self.socket = socket
        self._words = words
        self._env = env
        self._probe = probe
        self._ready = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._trouble: Trouble | None = None
        self._ending = False

    @property
    def state(self) -> str:
        if self._ready.is_set():
            return "ready"
        if self._life is None:
            return "stopped"
        return "failed" if self._life.done() else "starting"

    async def start(self) -> str:
        """Its socket, once it answers. Raises Trouble."""
        if self._life is None or self._life.done():
            self._trouble = None
            self._life = asyncio.create_task(self._live())
        ready = asyncio.ensure_future(self._ready.wait())
        try:
            await asyncio.wait(
                (ready, self._life),
                timeout=_START_PATIENCE,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            ready.cancel()
        if self._ready.is_set():
            return self.socket
        raise self._trouble or Trouble(
            f"{self.name} does not answer; the job's log may say why",
            f"{self.name} 没有响应；原因可能在任务日志中",
        )

    async def end(self) -> None:
        self._ending = True
        process = self._process
        if process is not None and process.returncode is None:
            _signal(process, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _END_PATIENCE)
            _signal(process, signal.SIGKILL)
        if self._life is not None:
            self._life.cancel()

    async def _live(self) -> None:
        deaths = 0
        while not self._ending:
            begun = time.monotonic()
            code = await self._run()
            self._ready.clear()
            if self._ending:
                return
            deaths = 1 if time.monotonic() - begun > _LIVES_WELL else deaths + 1
            if deaths >= _MOST_DEATHS:
                self._trouble = Trouble(
                    f"{self.name} ended with status {code} each time it was started; the job's log "
                    "says more",
                    f"{self.name} 每次启动都以状态 {code} 结束；详见任务日志",
                )
                note(self._trouble.en, self._trouble.zh)
                return
            note(
                f"{self.name} ended with status {code} and is started again",
                f"{self.name} 以状态 {code} 结束，正在重新启动",
            )
            await asyncio.sleep(min(_LONGEST_PAUSE, 0.5 * 2**deaths))

    async def _run(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            note(f"{self.name}: {error.strerror}", f"{self.name}：{error.strerror}")
            return 127
        self._process = process
        looking = asyncio.create_task(self._look())
        try:
            if process.stdout is not None:
                await _relay(process.stdout, f"[{self.name}] ")
            return await process.wait()
        finally:
            looking.cancel()
            _signal(process, signal.SIGKILL)  # what it has left in its group

    async def _look(self) -> None:
        while True:
            with contextlib.suppress(OSError, ValueError, TimeoutError):
                await http.get(self.socket, self._probe)
                self._ready.set()
                return
            await asyncio.sleep(_LOOK_EVERY)


async def _relay(stream: asyncio.StreamReader, prefix: str) -> None:
    """Its lines, marked, to our own output; overlong ones in parts."""
    rest = b""
    while piece := await stream.read(_PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines, rest = [*lines, rest], b""
        _print(lines, prefix)
    _print([rest] if rest else [], prefix)


def _print(lines: list[bytes], prefix: str) -> None:
    text = b"".join(prefix.encode() + line + b"\n" for line in lines)
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
