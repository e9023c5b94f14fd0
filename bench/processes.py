"""Starts and ends processes, and measures their memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
MB = 1_000_000
_libc = ctypes.CDLL(None, use_errno=True)


def start(
    argv: Sequence[str | Path],
    log: Path,
    env: Mapping[str, str],
    cwd: Path,
    user: str | None = None,
) -> subprocess.Popen[bytes]:
    """A daemon in its own session (so Ctrl-C does not reach it) that ends with us."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=_end_with_parent,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )


def _end_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def stop(processes: Iterable[subprocess.Popen[bytes]], patience: float = 60) -> None:
    """Ends them, last started first, and waits for each."""
    for process in reversed(list(processes)):
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            text = Path(f"/proc/{pid}/task/{thread}/children").read_text()
            found += [int(word) for word in text.split()]
    return found


def named(name: str, among: Iterable[int]) -> list[int]:
    """Processes with this short name (up to 15 characters)."""
    found = []
    for pid in among:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == name[:15]:
                found.append(pid)
    return found


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def has_in_environment(pid: int, text: str) -> bool:
    with contextlib.suppress(OSError):
        return text.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    return False


def memory(pids: Iterable[int]) -> tuple[float, float]:
    """RSS and PSS in MB. PSS divides shared memory among processes; RSS counts it in each."""
    rss = pss = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                key, _, rest = line.partition(":")
                if key == "Rss":
                    rss += int(rest.split()[0]) * 1024
                elif key == "Pss":
                    pss += int(rest.split()[0]) * 1024
    return rss / MB, pss / MB
