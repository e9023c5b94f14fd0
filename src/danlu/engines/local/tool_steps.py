"""Steps by which tools are made, shared by the virtual environment and the tree."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from danlu.engines.api import NoTools, ToolsProgress
from danlu.engines.local import locks
from danlu.spec.text import Text

_NEWER = ("3.14",)  # has no packages for older systems
_TAIL = 12  # lines of a failed program's output that are shown

Tell = Callable[[ToolsProgress], None]


class Steps:
    """Runs one program after the other, tells how far it is, and can be ended from elsewhere."""

    def __init__(self, total: int, tell: Tell) -> None:
        self._total = total
        self._tell = tell
        self._done = 0
        self._running: subprocess.Popen[str] | None = None
        self._given_up = threading.Event()

    def step(self, text: Text) -> None:
        self._text = text
        self._tell(ToolsProgress(text, self._done, self._total))
        self._done += 1

    def run(self, *words: str | Path, env: Mapping[str, str] | None = None) -> str:
        """Its output. Raises NoTools."""
        if self._given_up.is_set():
            raise NoTools(Text("the server is stopping", "服务器正在停止"))
        lines: deque[str] = deque(maxlen=2000)
        try:
            with subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=env,
                umask=0o022,  # read by every user's tasks
                start_new_session=True,
            ) as process:
                self._running = process
                if process.stdout is not None:
                    for line in process.stdout:
                        lines.append(line.rstrip())
        except OSError as error:
            raise _failed(self._text, f"{words[0]}: {error.strerror}") from error
        finally:
            self._running = None
        if process.returncode:
            raise _failed(self._text, "\n".join(list(lines)[-_TAIL:]))
        return "\n".join(lines)

    def give_up(self) -> None:
        self._given_up.set()
        process = self._running
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)


def install_kernels(
    steps: Steps, uv: Path, env: Mapping[str, str], kernels: Path, version: str, libc: str = "gnu"
) -> None:
    """ipykernel for one version of Python, for launch.py to append."""
    machine = os.uname().machine
    oldest = "manylinux_2_28" if version in _NEWER else "manylinux2014"
    wheels = f"{machine}-{oldest if libc == 'gnu' else 'unknown-linux-musl'}"
    steps.run(
        *(uv, "pip", "install", "--quiet", "--no-deps", "--require-hashes"),
        *("--only-binary", ":all:", "--python-version", version, "--python-platform", wheels),
        *("--target", kernels / f"cp{version.replace('.', '')}-{libc}"),
        *("-r", locks.path_of(locks.KERNELS)),
        env=env,
    )


def readable(folder: Path) -> None:
    """Everybody can read it, and nobody but its owner write."""
    for base, names, files in os.walk(folder):
        for path in (base, *(os.path.join(base, name) for name in (*names, *files))):
            if not os.path.islink(path):
                mode = os.stat(path).st_mode
                runs = 0o111 if mode & 0o100 else 0
                os.chmod(path, (mode | 0o444 | runs) & 0o755)


def _failed(step: Text, why: str) -> NoTools:
    return NoTools(
        Text(
            f"{step.en} failed. Check that this machine reaches its package registries (pip's "
            f"configuration counts); without them: danlu tools install FILE\n{why}",
            f"{step.zh}失败。请检查本机能否访问软件包仓库（遵循 pip 的配置）；"
            f"没有仓库时：danlu tools install 文件\n{why}",
        )
    )
