"""`python -m danlu.server.tools`: what `danlu tools` runs, on the server's own machine."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from danlu.engines.api import NoTools, ToolsProgress
from danlu.engines.local import locks
from danlu.engines.local.tools import ToolsFolder, read_mark
from danlu.server.settings import ConfigError, find_file, load
from danlu.server.tools import archive
from danlu.server.tools.build import build
from danlu.server.words import say
from danlu.spec.text import Text
from danlu.spec.units import format_size


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    try:
        folder = ToolsFolder(_data(options))
        if options.what == "build":
            return _build(folder, options)
        if options.what == "status":
            return _status(folder, options.json)
        if options.file is None:
            return _fail(Text(f"{options.what}: name a file", f"{options.what}：请给出文件"))
        return (_pack if options.what == "pack" else _install)(folder, Path(options.file))
    except ConfigError as error:
        return _fail(error.message)
    except NoTools as trouble:
        return _fail(trouble.text, 1)
    except OSError as error:
        return _fail(Text(str(error), str(error)), 1)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="danlu tools", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--data", help="data folder")
    parser.add_argument("--config", help="danlu.toml")
    parser.add_argument("--force", action="store_true", help="build again")
    parser.add_argument("what", choices=["build", "install", "pack", "status"])
    parser.add_argument("file", nargs="?")
    return parser.parse_args(argv)


def _data(options: argparse.Namespace) -> Path:
    data = Path(options.data) if options.data else load(find_file(options.config)).data
    return Path(os.path.abspath(data))


def _build(folder: ToolsFolder, options: argparse.Namespace) -> int:
    place = folder.path / f"tree-{locks.tree_hash()}"
    if read_mark(place) is not None and not options.force:
        print(say(Text(f"{place} already exists; --force builds it again",
                       f"{place} 已存在；--force 可重新构建")))  # fmt: skip
        return 0
    begun = time.monotonic()

    def tell(progress: ToolsProgress) -> None:
        minutes, seconds = divmod(int(time.monotonic() - begun), 60)
        number = f"{progress.done + 1}/{progress.total}"
        print(f"{minutes:3}:{seconds:02}  {number}  {say(progress.step)}", flush=True)

    place = build(folder, tell)
    print(say(Text(f"Built {place} ({_size(place)})", f"已构建 {place}（{_size(place)}）")))
    return 0


def _pack(folder: ToolsFolder, file: Path) -> int:
    tree = folder.tree()
    if tree is None:
        return _fail(Text("there is no tree; build it first", "还没有工具目录；请先构建"), 1)
    size = format_size(archive.pack(tree, file))
    print(say(Text(f"Packed {tree.name} into {file} ({size})",
                   f"已将 {tree.name} 打包为 {file}（{size}）")))  # fmt: skip
    return 0


def _install(folder: ToolsFolder, file: Path) -> int:
    place = archive.install(folder, file)
    print(say(Text(f"Installed {place}", f"已安装 {place}")))
    return 0


def _status(folder: ToolsFolder, as_json: bool) -> int:
    found = [
        (path, mark)
        for path in sorted(folder.path.glob("[tv][re][ne][ev]-*"))
        if (mark := read_mark(path)) is not None
    ]
    if as_json:
        used = folder.tree()
        print(json.dumps([{**mark, "path": str(path), "used": path == used or path == folder.venv}
                          for path, mark in found]))  # fmt: skip
        return 0
    for path, mark in found:
        print(f"{path}  {_words(path, mark, folder)}")
    if folder.tree() is None:
        print(say(Text(
            "No tools tree: environments can use neither images nor VS Code. Get it with `danlu "
            "tools build` or `danlu tools install FILE`",
            "没有工具目录：环境不能使用镜像，也没有 VS Code。"
            "可用 `danlu tools build` 构建，或 `danlu tools install 文件` 安装",
        )))  # fmt: skip
    return 0


def _words(path: Path, mark: dict[str, object], folder: ToolsFolder) -> str:
    if mark["kind"] == "venv":
        used = path == folder.venv
        return say(Text("JupyterLab and TensorBoard for tasks without an image",
                        "JupyterLab 和 TensorBoard，用于不带镜像的任务")
                   if used else Text("of another version", "属于其他版本"))  # fmt: skip
    if path != folder.tree():
        return say(Text("not used", "未使用"))
    recipe = mark["hash"] == locks.tree_hash()
    return say(Text(f"in use, Python {mark['python']}, VS Code {mark['editor'] or '-'}",
                    f"使用中，Python {mark['python']}，VS Code {mark['editor'] or '-'}")) + (
        "" if recipe else say(Text("; of another version: `danlu tools build` renews it",
                                   "；属于其他版本：可用 `danlu tools build` 更新")))  # fmt: skip


def _size(path: Path) -> str:
    total = sum(each.lstat().st_size for each in path.rglob("*"))
    return format_size(total)


def _fail(message: Text, code: int = 2) -> int:
    print(f"danlu: {say(message)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
