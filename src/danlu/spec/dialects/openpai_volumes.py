"""`volumes` of portals derived from OpenPAI v1: folders of the machines, by path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.language import Site
from danlu.spec.errors import Path
from danlu.spec.fields import read_absolute
from danlu.spec.text import Text


def read(draft: Draft, site: Site, items: list[Any], path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for index, item in enumerate(items):
        place: Path = (*path, index)
        host = item.get("hostPath") if isinstance(item, Mapping) else None
        if not isinstance(host, Mapping):
            draft.note(
                place,
                Text(
                    "has no hostPath with path and mountPath, and no effect",
                    "没有带 path 和 mountPath 的 hostPath；不起作用",
                ),
            )
            continue
        mount = _mount(draft, site, Keys(draft, host, (*place, "hostPath")))
        if mount is not None:
            found.append(mount)
    return found


def _mount(draft: Draft, site: Site, keys: Keys) -> dict[str, Any] | None:
    if not keys.required("path", Text("write the folder", "请写目录")):
        return None
    source = keys.read("path", read_absolute)
    target = keys.read("mountPath", read_absolute) or source
    read_only = bool(keys.flag("readOnly"))
    keys.note_rest()
    if source is None or target is None:
        return None
    key = (*keys.path, "path")
    guess, held = site.guess(source), site.volume_of(source)
    if guess is not None:
        draft.note(key, guess[1])
        return {"volume": guess[0], "path": target, "read_only": read_only}
    if held is None:
        known = ", ".join(volume.source for volume in site.volumes) or "none"
        draft.refuse(
            key,
            source,
            Text(
                "is a folder of the machine; only folders the admin has made a volume can be "
                f"mounted. Known here: {known}",
                f"是机器上的目录；只挂载管理员登记为存储卷的目录；这里已知：{known}",
            ),
        )
        return None
    volume, rest = held
    draft.note(key, Text(f"is in the volume {volume.name}", f"在存储卷 {volume.name} 中"))
    mount = {"volume": volume.name, "path": target, "read_only": read_only}
    return {**mount, "folder": rest.strip("/")} if rest.strip("/") else mount
