"""Runs Slurm's commands: each with a deadline, on a thread, and with its failures told apart."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

from danlu.engines.api import InDoubt, Refused, Unreachable
from danlu.engines.slurm.config import SlurmConfig

_LONGEST_MESSAGE = 500

# What commands say when the controller, or what they need to reach it, does not answer.
_AWAY = (
    "unable to contact slurm controller",
    "socket timed out",
    "zero bytes were transmitted",
    "connection refused",
    "connection reset",
    "connection timed out",
    "transport endpoint",
    "slurm backup controller in standby",
    "slurm temporarily unable to accept job",
    "resource temporarily unavailable",
    "communication connection failure",
    "protocol authentication error",
    "munge",
    "unable to establish configuration source",
    "unable to resolve",
    "no route to host",
    "network is unreachable",
    "could not load partition information",
)
# Of those, what is said only before anything was sent.
_NEVER_SENT = (
    "unable to contact slurm controller",
    "connection refused",
    "slurm backup controller in standby",
    "slurm temporarily unable to accept job",
    "munge encode failed",
    "unable to establish configuration source",
    "unable to resolve",
    "no route to host",
    "network is unreachable",
)


@dataclass(slots=True)
class Count:
    """How often each command was run: the queue is asked once per cycle for all jobs."""

    runs: dict[str, int] = field(default_factory=dict)

    def add(self, program: str) -> None:
        self.runs[program] = self.runs.get(program, 0) + 1


class Commands:
    def __init__(self, config: SlurmConfig) -> None:
        self._config = config
        self.count = Count()

    def argv(self, program: str, *words: str) -> list[str]:
        folder = self._config.bin
        return [f"{folder}/{program}" if folder else program, *words]

    @property
    def env(self) -> dict[str, str]:
        """Its own only: SQUEUE_FORMAT and others would change what commands print."""
        return environment(self._config)

    async def run(self, program: str, *words: str) -> str:
        """Its output. Raises Unreachable, or Refused with what it said."""
        return await asyncio.to_thread(self.run_now, program, *words)

    def run_now(self, program: str, *words: str) -> str:
        self.count.add(program)
        try:
            done = self._finish(self.argv(program, *words))
        except FileNotFoundError as error:
            where = self._config.bin or "PATH"
            raise Unreachable(f"{program} was not found in {where}") from error
        except subprocess.TimeoutExpired as error:
            late = f"{program} did not answer within {self._config.deadline:g} s"
            raise Unreachable(late) from error
        said = done.stderr.decode(errors="replace")
        if done.returncode == 0 and not (said and not done.stdout and is_away(said)):
            return done.stdout.decode(errors="replace")
        if is_away(said) or done.returncode < 0:
            raise Unreachable(brief(program, said))
        raise Refused(brief(program, said))

    def _finish(self, argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        with subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            start_new_session=True,
            cwd="/",
        ) as process:
            try:
                out, err = process.communicate(timeout=self._config.deadline)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(argv, process.returncode, out, err)


def environment(config: SlurmConfig) -> dict[str, str]:
    env = {"PATH": f"{config.bin}:{config.path}" if config.bin else config.path, "LC_ALL": "C"}
    conf = config.conf or os.environ.get("SLURM_CONF", "")
    return env | {"SLURM_CONF": conf} if conf else env


def is_away(said: str) -> bool:
    text = said.lower()
    return any(words in text for words in _AWAY)


def submission_error(code: int | None, said: str) -> Exception:
    """Why sbatch failed. `code` is None if it did not answer in time."""
    text = brief("sbatch", said)
    if code is None or code < 0:
        return InDoubt(text if said else "sbatch did not answer in time")
    if not is_away(said):
        return Refused(text)
    if any(words in said.lower() for words in _NEVER_SENT):
        return Unreachable(text)
    return InDoubt(text)


def brief(program: str, said: str) -> str:
    """What a command said, in one line and without its own prefixes."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    plain = [line.removeprefix(f"{program}: ").removeprefix("error: ") for line in lines]
    text = "; ".join(dict.fromkeys(plain)) or "failed without a message"
    return f"{program}: {text}"[:_LONGEST_MESSAGE]
