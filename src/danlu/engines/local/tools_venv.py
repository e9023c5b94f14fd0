"""The virtual environment with the tools for tasks without an image; made when first needed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from danlu.engines.api import NoTools, ToolsProgress
from danlu.engines.local import locks, registries
from danlu.engines.local.tool_steps import Steps, install_kernels, readable
from danlu.engines.local.tools import LAYOUT, MARK, ToolsFolder
from danlu.spec.text import Text

Progress = Callable[[ToolsProgress], None]

_NEEDS_PYTHON = Text(
    "environments need a Python that every user can start. Install Python 3.11 or newer with its "
    "venv module for the whole machine (Debian: apt install python3-venv), or the tools tree: "
    "`danlu tools install FILE`",
    "环境需要一个所有用户都能运行的 Python。请为整台机器安装 Python 3.11 或更新版本及其 venv 模块"
    "（Debian：apt install python3-venv），或安装工具目录：`danlu tools install 文件`",
)


class VenvMaker:
    """Makes it once, however many wait for it."""

    def __init__(self, folder: ToolsFolder, everybody: bool) -> None:
        """`everybody`: tasks run as their users, who must be able to start its Python."""
        self._folder = folder
        self._everybody = everybody
        self._work: asyncio.Task[None] | None = None
        self._steps: Steps | None = None
        self._listeners: list[Progress] = []
        self._last: ToolsProgress | None = None

    def problem(self) -> Text | None:
        return None if self._base() is not None else _NEEDS_PYTHON

    def _base(self) -> str | None:
        own = getattr(sys, "_base_executable", sys.executable)
        same = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
        for path in (own, same):
            if os.access(path, os.X_OK) and (not self._everybody or _is_open(path)):
                return str(path)
        return None

    async def prepare(self, progress: Progress) -> None:
        """Raises NoTools. One that nobody waits for any longer is made all the same."""
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._make())
            self._work.add_done_callback(_look_at)
        self._listeners.append(progress)
        if self._last is not None:
            progress(self._last)
        try:
            await asyncio.shield(self._work)
        finally:
            self._listeners.remove(progress)

    async def close(self) -> None:
        if self._steps is not None:
            self._steps.give_up()
        if self._work is not None:
            with contextlib.suppress(NoTools, OSError):
                await self._work

    async def _make(self) -> None:
        base = self._base()
        if base is None:
            raise NoTools(_NEEDS_PYTHON)
        loop = asyncio.get_running_loop()
        steps = Steps(
            len(locks.PYTHONS) + 4, lambda progress: _from_thread(loop, self._tell, progress)
        )
        self._steps = steps
        try:
            await asyncio.to_thread(make, self._folder, base, steps)
        except OSError as error:
            raise NoTools(
                Text(f"the tools cannot be made: {error}", f"无法创建工具：{error}")
            ) from error
        finally:
            self._steps = self._last = None

    def _tell(self, progress: ToolsProgress) -> None:
        self._last = progress
        for listener in list(self._listeners):
            listener(progress)


def make(folder: ToolsFolder, base: str, steps: Steps) -> None:
    """Built under its final name: a virtual environment cannot be moved. The mark comes last."""
    venv = folder.venv
    shutil.rmtree(venv, ignore_errors=True)
    folder.path.mkdir(mode=0o755, parents=True, exist_ok=True)
    folder.path.chmod(0o755)
    steps.step(Text("Making a virtual environment", "正在创建虚拟环境"))
    steps.run(base, "-m", "venv", venv)
    python = venv / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--no-compile")
    hashed = ("--require-hashes", "--only-binary", ":all:", "-r")
    steps.step(Text("Installing JupyterLab and TensorBoard", "正在安装 JupyterLab 和 TensorBoard"))
    steps.run(*pip, *hashed, locks.path_of(locks.TOOLS))
    builders = venv / "builders"
    steps.run(*pip, "--target", builders, *hashed, locks.path_of(locks.BUILDERS))
    env = registries.uv_env()
    for version in locks.PYTHONS:
        steps.step(
            Text(f"Installing kernels for Python {version}", f"正在安装 Python {version} 的内核")
        )
        install_kernels(steps, builders / "bin" / "uv", env, venv / "kernels", version)
    shutil.rmtree(builders)
    steps.step(Text("Compiling", "正在编译"))
    compiling = (python, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode")
    with contextlib.suppress(NoTools):  # a few packages carry files that are not meant to compile
        steps.run(*compiling, "unchecked-hash", venv / "lib")
    for name in ("inside", "steps"):
        (venv / "lib" / "danlu" / name).mkdir(parents=True)
    steps.step(Text("Finishing", "正在完成"))
    (venv / MARK).write_text(json.dumps({"layout": LAYOUT, "kind": "venv"}) + "\n")
    readable(venv)


def _is_open(path: str) -> bool:
    """Whether every user can reach and start it."""
    real = Path(os.path.realpath(path))
    return all(each.stat().st_mode & stat.S_IXOTH for each in (real, *real.parents))


def _from_thread(
    loop: asyncio.AbstractEventLoop, tell: Callable[[ToolsProgress], None], progress: ToolsProgress
) -> None:
    with contextlib.suppress(RuntimeError):  # the server is gone
        loop.call_soon_threadsafe(tell, progress)


def _look_at(work: asyncio.Task[None]) -> None:
    if not work.cancelled():
        work.exception()
