"""Containers in sbatch scripts: options of the plugin that runs jobs in container images."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.language import Site
from danlu.spec.errors import Path
from danlu.spec.text import Text

_STEP = re.compile(r"^(?!#).*(?<![\w-])--container-image(?=[ =\\]|$)", re.MULTILINE)
_FILES = (".sqsh", ".sif", ".simg", ".squashfs")


class Container:
    HANDLED: ClassVar[frozenset[str]] = frozenset(
        {"container-image", "container-mounts", "container-workdir"}
    )

    def __init__(self, draft: Draft, given: Mapping[str, str], site: Site) -> None:
        self._draft = draft
        self._given = given
        self._site = site

    def build(self) -> None:
        draft, given = self._draft, self._given
        image = given.get("container-image", "").strip()
        if image:
            self._image(image, ("--container-image",))
        mounts = [
            mount
            for part in given.get("container-mounts", "").split(",")
            if part.strip() and (mount := self._mount(part.strip())) is not None
        ]
        if mounts:
            draft.put(("mounts",), mounts, ("--container-mounts",))
        folder = given.get("container-workdir", "").strip()
        if folder:
            draft.put(("workdir",), folder, ("--container-workdir",))

    def look_at(self, script: str) -> int | None:
        """The line where a step asks for its own image, which is not supported."""
        found = _STEP.search(script)
        return None if found is None else script.count("\n", 0, found.end()) + 1

    def _image(self, text: str, key: Path) -> None:
        """`host#path:tag`, the plugin's syntax, is `host/path:tag` elsewhere."""
        if text.startswith(("/", ".", "~")) or text.endswith(_FILES):
            self._draft.refuse(
                key,
                text,
                Text(
                    "is an image file, but images come from registries here; use its name, e.g. "
                    "nvcr.io/nvidia/pytorch:24.01-py3",
                    "是镜像文件；这里的镜像来自镜像仓库，请写镜像名，例如"
                    " nvcr.io/nvidia/pytorch:24.01-py3",
                ),
            )
            return
        name = text.removeprefix("docker://").removeprefix("dockerd://")
        host, sign, path = name.partition("#")
        self._draft.put(("image",), f"{host}/{path}" if sign else name, key)

    def _mount(self, text: str) -> dict[str, Any] | None:
        source, _, rest = text.partition(":")
        target, _, flags = rest.partition(":")
        key = ("--container-mounts",)
        guess = self._site.guess(source)
        found = self._site.volume_of(source)
        if guess is not None:
            self._draft.note(key, guess[1])
            volume, below = guess[0], ""
        elif found is None:
            known = ", ".join(volume.source for volume in self._site.volumes) or "none"
            self._draft.refuse(
                key,
                source,
                Text(
                    "is a folder of the machine; only folders the admin has made a volume can be "
                    f"mounted. Known here: {known}",
                    f"是机器上的目录；只挂载管理员登记为存储卷的目录；这里已知：{known}",
                ),
            )
            return None
        else:
            volume, below = found[0].name, found[1]
            self._draft.note(
                key, Text(f"{source} is in the volume {volume}", f"{source} 在存储卷 {volume} 中")
            )
        mount: dict[str, Any] = {"volume": volume, "path": target or source}
        if below.strip("/"):
            mount["folder"] = below.strip("/")
        if "ro" in flags.split("+"):
            mount["read_only"] = True
        return mount
