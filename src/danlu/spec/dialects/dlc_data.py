"""Data, code and libraries of a DLC job, needed before its command runs."""

from __future__ import annotations

import re
import shlex
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.language import Site
from danlu.spec.refs import NAME_PATTERN
from danlu.spec.text import Text

_NAME = re.compile(NAME_PATTERN, re.ASCII)
_GIT = re.compile(r"(?:https?|ssh|git)://|git@", re.ASCII)


class Data:
    def __init__(self, draft: Draft, keys: Keys, site: Site) -> None:
        self._draft = draft
        self._keys = keys
        self._site = site

    def add_mounts(self) -> None:
        mounts: dict[str, dict[str, Any]] = {}
        for part in _parts(self._keys.text("data_sources")):
            self._source(part, mounts)
        for part in _parts(self._keys.text("data_source_uris")):
            self._uri(part, mounts)
        if mounts:
            key = "data_sources" if self._keys.has("data_sources") else "data_source_uris"
            self._draft.put(("mounts",), list(mounts.values()), (key,))

    def _source(self, text: str, mounts: dict[str, dict[str, Any]]) -> None:
        """`id`, `id:/mount` or `id:version:/mount`."""
        draft, key = self._draft, ("data_sources",)
        name, *rest = [part.strip() for part in text.split(":")]
        where = next((part for part in rest if part.startswith("/")), None)
        if not _NAME.fullmatch(name):
            draft.refuse(key, text, Text("is not a dataset", "不是数据集"))
            return
        if where is None:
            known = {volume.name: volume.target for volume in self._site.volumes}
            where = known.get(name, f"/mnt/{name}")
        draft.note(
            key,
            Text(
                f"the dataset {name} is the volume {name} here, mounted at {where}",
                f"数据集 {name} 在这里是存储卷 {name}，位于 {where}",
            ),
        )
        mounts[where] = {"volume": name, "path": where}

    def _uri(self, text: str, mounts: dict[str, dict[str, Any]]) -> None:
        """`nas://host/path::/mount:{options}`; known if the admin declared that folder as a
        volume.
        """
        draft, key = self._draft, ("data_source_uris",)
        address, _, where = text.partition("::")
        scheme, separator, rest = address.partition("://")
        path = "/" + rest.partition("/")[2]
        where, brace, _ = where.partition(":{")
        if brace:
            draft.note(key, Text("mount options are set by the platform", "挂载方式由平台决定"))
        target = where.split("::")[0].strip()
        guess = self._site.guess(rest) if separator and target else None
        if guess is not None:
            mounts[target] = {"volume": guess[0], "path": target}
            draft.note(key, guess[1])
            return
        found = self._site.volume_of(path) if separator else None
        if found is None:
            draft.refuse(
                key,
                text,
                Text(
                    f"{scheme or 'it'} is cloud storage, which does not exist here; ask the admin "
                    "for a volume and use it in data_sources",
                    "是云上的存储，这里没有；请管理员登记存储卷，再写进 data_sources",
                ),
            )
            return
        volume, below = found
        target = target or volume.target
        mounts[target] = {"volume": volume.name, "path": target}
        if below.strip("/"):
            mounts[target]["folder"] = below.strip("/")
        draft.note(key, Text(f"is the volume {volume.name} here", f"在这里是存储卷 {volume.name}"))

    def before(self) -> list[str]:
        """Shell lines to run before the command."""
        return [*self._code(), *self._libraries()]

    def _code(self) -> list[str]:
        draft, keys = self._draft, self._keys
        source = (keys.text("code_source") or "").strip()
        branch = (keys.text("code_branch") or "").strip()
        commit = (keys.text("code_commit") or "").strip()
        if not source:
            for key, value in (("code_branch", branch), ("code_commit", commit)):
                if value:
                    draft.note(
                        (key,),
                        Text("has no effect without code_source", "没有 code_source，不起作用"),
                    )
            return []
        if not _GIT.match(source):
            draft.refuse(
                ("code_source",),
                source,
                Text(
                    "is the id of a cloud code source; use the repository's address, or put the "
                    "code into a volume",
                    "是云上代码配置的 id；请写仓库地址，或把代码放到存储卷",
                ),
            )
            return []
        words = ["git", "clone", *(["--branch", branch] if branch else []), source, "code"]
        lines = [f"[ -d code ] || {shlex.join(words)} || exit $?", "cd code"]
        if commit:
            lines.append(f"git checkout {shlex.quote(commit)} || exit $?")
        draft.note(
            ("code_source",),
            Text(
                "is cloned into the folder code of the working directory at startup",
                "启动时克隆到工作目录的 code 文件夹",
            ),
        )
        return lines

    def _libraries(self) -> list[str]:
        draft, keys = self._draft, self._keys
        lines = []
        libraries = _parts(keys.text("thirdparty_libs"))
        if libraries:
            lines.append(f"pip install {shlex.join(libraries)} || exit $?")
            draft.note(
                ("thirdparty_libs",),
                Text("is installed with pip at startup", "启动时用 pip 安装"),
            )
        folder = (keys.text("thirdparty_lib_dir") or "").strip()
        if folder:
            path = shlex.quote(f"{folder.rstrip('/')}/requirements.txt")
            lines.append(f"pip install -r {path} || exit $?")
            draft.note(
                ("thirdparty_lib_dir",),
                Text(
                    "its requirements.txt is installed with pip at startup",
                    "启动时用 pip 安装其中的 requirements.txt",
                ),
            )
        return lines


def _parts(text: str | None) -> list[str]:
    """Separated by commas; those in braces are mount options."""
    parts = re.findall(r"(?:\{[^{}]*\}|[^,])+", text or "")
    return [part.strip() for part in parts if part.strip()]
