"""A tree in one file, to take it to machines without registries."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from danlu.engines.api import NoTools
from danlu.engines.local.tool_steps import readable
from danlu.engines.local.tools import LAYOUT, MARK, ToolsFolder, read_mark
from danlu.spec.text import Text


def pack(tree: Path, file: Path) -> int:
    """Written under another name until it is complete. Its size."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with tarfile.open(draft, "w:gz", compresslevel=6) as archive:
            archive.add(os.path.realpath(tree), "danlu-tools", filter=_anonymous)
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    return file.stat().st_size


def install(folder: ToolsFolder, file: Path) -> Path:
    """The tree from a file. Raises NoTools, OSError."""
    folder.path.mkdir(mode=0o755, parents=True, exist_ok=True)
    work = folder.path / f".install-{os.getpid()}"
    work.mkdir(mode=0o700)
    try:
        with tarfile.open(file, "r:*") as archive:
            archive.extractall(work, _members(archive, file), numeric_owner=True)  # noqa: S202
        tree = work / "danlu-tools"
        mark = read_mark(tree)
        if mark is None or mark.get("kind") != "tree":
            raise _not_ours(file)
        machine = os.uname().machine
        if mark.get("machine") != machine:
            raise NoTools(
                Text(
                    f"{file} is for {mark.get('machine')}, and this machine is {machine}",
                    f"{file} 适用于 {mark.get('machine')}，而本机为 {machine}",
                )
            )
        readable(tree)
        place = folder.path / f"tree-{mark['hash']}"
        if place.exists():
            place.rename(work / "old")
        tree.rename(place)
        (place / MARK).write_text(json.dumps(mark) + "\n")  # the newest one is used
        return place
    except (tarfile.TarError, EOFError) as error:
        raise _not_ours(file) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _members(archive: tarfile.TarFile, file: Path) -> Iterator[tarfile.TarInfo]:
    """Only what stays below the folder it is unpacked in."""
    for member in archive:
        named = [member.name]
        if member.issym():
            named.append(f"{os.path.dirname(member.name)}/{member.linkname}")
        elif member.islnk():
            named.append(member.linkname)
        elif not (member.isreg() or member.isdir()):
            raise _not_ours(file)
        if any(not f"{os.path.normpath(name)}/".startswith("danlu-tools/") for name in named):
            raise _not_ours(file)
        member.uid, member.gid = os.geteuid(), os.getegid()
        yield member


def _not_ours(file: Path) -> NoTools:
    return NoTools(
        Text(
            f"{file} is not a tools tree of layout {LAYOUT}; `danlu tools pack` makes one",
            f"{file} 不是布局 {LAYOUT} 的工具文件；可用 `danlu tools pack` 生成",
        )
    )


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
