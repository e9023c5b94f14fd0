"""Danlu's own tools (JupyterLab, VS Code, TensorBoard) on this machine, and how tasks get them.

The tools tree works in every image, and wherever a task has a view of its own. Without a tree,
tasks that have no image use a virtual environment, which this machine makes for itself. Either is
mounted read-only at /opt/danlu, with danlu/inside, which starts them.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import danlu
from danlu.engines.api import HostMount, Launch, Refused, TaskLaunch
from danlu.engines.local import locks
from danlu.spec.job import Command, RunAs
from danlu.spec.text import Text

AT = "/opt/danlu"
PROGRAMS = f"{AT}/path"
"""Added to the end of PATH in containers: a shell, git and others, for images without them."""
_LOADER = {"aarch64": "ld-linux-aarch64.so.1"}.get(os.uname().machine, "ld-linux-x86-64.so.2")
REMOTE_SSH = {
    "VSCODE_SERVER_CUSTOM_GLIBC_LINKER": f"{AT}/lib/{_LOADER}",
    "VSCODE_SERVER_CUSTOM_GLIBC_PATH": f"{AT}/lib",
    "VSCODE_SERVER_PATCHELF_PATH": f"{PROGRAMS}/patchelf",
}
"""Makes the server that VS Code's Remote-SSH brings along run on the tree's C library."""
LAYOUT = 1
"""Trees and virtual environments of another layout are not used."""
MARK = "danlu-tools.json"
"""Written last: a folder without it is not complete."""
OWN_MOUNTS = ("danlu tools", "danlu inside")  # no volume can have these names
_INSIDE = f"{AT}/lib/danlu/inside"
_SOURCE = os.path.join(os.path.dirname(os.path.abspath(danlu.__file__)), "inside")

NO_TREE = Text(
    "environments with an image need the tools tree, which is not installed here. The admin gets "
    "it with `danlu tools build`, or from a file: `danlu tools install FILE`",
    "使用镜像的环境需要工具目录，这里尚未安装。管理员可用 `danlu tools build` 构建，"
    "或从文件安装：`danlu tools install 文件`",
)


class ToolsFolder:
    """The folder `tools` of the data folder."""

    def __init__(self, data: Path) -> None:
        self.path = data / "tools"

    def tree(self) -> Path | None:
        """The tree of this version's recipe, or else the newest one."""
        found = [path for path in self.path.glob("tree-*") if read_mark(path) is not None]
        mine = self.path / f"tree-{locks.tree_hash()}"
        if mine in found:
            return mine
        return max(found, key=lambda path: (path / MARK).stat().st_mtime, default=None)

    @property
    def venv(self) -> Path:
        return self.path / f"venv-{locks.venv_hash()}"

    def place(self, image: bool, boxed: bool) -> Path | None:
        """Where a task's tools come from. `boxed`: it has a view of its own."""
        tree = self.tree() if image or boxed else None
        return tree or (None if image else self.venv)

    def is_ready(self, image: bool, boxed: bool) -> bool:
        place = self.place(image, boxed)
        return place is not None and read_mark(place) is not None


def read_mark(folder: Path) -> dict[str, Any] | None:
    """What is known of a complete tree or virtual environment; None: it is not, or too old."""
    try:
        values = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) and values.get("layout") == LAYOUT else None


def with_tools(launch: Launch, folder: ToolsFolder | None, namespaces: bool) -> Launch:
    """Adds the mounts and turns the name of a tool into the command that starts it."""
    if folder is None or not any(task.tools for task in launch.tasks):
        return launch
    tasks = (_with_tools(task, folder, namespaces) for task in launch.tasks)
    return replace(launch, tasks=tuple(tasks))


def tools_env(task: TaskLaunch, boxed: bool) -> dict[str, str]:
    if not task.tools:
        return {}
    places = {mount.name: mount.target if boxed else mount.source for mount in task.mounts}
    return {"DANLU_TOOLS": places[OWN_MOUNTS[0]]}


def _with_tools(task: TaskLaunch, folder: ToolsFolder, namespaces: bool) -> TaskLaunch:
    if not task.tools:
        return task
    boxed = namespaces or task.image is not None
    place = folder.place(task.image is not None, boxed)
    if place is None:
        raise Refused(NO_TREE.en)
    source = os.path.realpath(place)
    mounts = (
        HostMount(OWN_MOUNTS[0], source, AT, read_only=True),
        HostMount(OWN_MOUNTS[1], _SOURCE, _INSIDE, read_only=True),
    )
    tools, inside = (AT, _INSIDE) if boxed else (source, _SOURCE)
    command = task.command
    if command.run_as is RunAs.TOOL:
        given = command.words if boxed else tuple(_on_disk(task, each) for each in command.words)
        words = (f"{tools}/bin/python", "-I", f"{inside}/run.py", *given)
        command = Command(RunAs.ARGV, words)
    return replace(task, mounts=(*task.mounts, *mounts), command=command)


def _on_disk(task: TaskLaunch, word: str) -> str:
    """A folder in a volume, for a task that sees the machine as it is."""
    for mount in sorted(task.mounts, key=lambda mount: -len(mount.target)):
        if f"{word}/".startswith(f"{mount.target}/"):
            return mount.source + word[len(mount.target) :]
    return word
