"""Which folders paths of the file centre begin with: volumes, datasets, and what is above them.

Datasets are below /gdata, as tasks see them. A dataset is a folder of a volume that others may be
able to change: it is found by the user's helper beneath the volume's root, not opened here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.access.errors import Unfit
from danlu.access.identities import Person
from danlu.files.datasets import GDATA, PREFIX, Datasets
from danlu.files.helpers import RootAt
from danlu.files.settings import VolumeConfig
from danlu.files.volumes import Volume, Volumes, below
from danlu.services.file_words import FileFault
from danlu.spec.text import Text

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DatasetFolder(Volume):
    """A dataset, as if it were a volume."""

    prefix: str  # where it is, beneath its volume's root


class Places:
    def __init__(self, volumes: Volumes, datasets: Datasets | None) -> None:
        self._volumes = volumes
        self._datasets = datasets

    def of(self, person: Person) -> list[Volume]:
        """Volumes, and datasets that are not where they are seen anyway."""
        found = list(self._volumes.usable(person).values())
        for row in self._datasets.all() if self._datasets is not None else ():
            volume = self._volumes.find(row.volume, person) if row.state == "ready" else None
            if volume is None or (row.volume == GDATA and row.folder == row.name):
                continue
            target = f"/{GDATA}/{row.name}"
            name = PREFIX + row.name
            config = VolumeConfig(name, Path(volume.source), target, read_only=True)
            found.append(DatasetFolder(config, volume.source, target, row.folder))
        return found

    def find(self, person: Person, path: str) -> tuple[Volume, str]:
        """The volume a path is in, and the rest of the path."""
        plain = _plain(path)
        there = self.of(person)
        inside = [volume for volume in there if below(plain, volume.target)]
        if not inside:
            known = sorted({volume.target for volume in there})
            raise FileFault("no_volume", path, ", ".join(known[:12]))
        volume = max(inside, key=lambda each: len(each.target))
        return volume, plain[len(volume.target.rstrip("/")) :].strip("/")

    def beneath(self, person: Person, path: str) -> list[Values]:
        """Entries of a folder that are places of their own, or lead to some."""
        plain = _plain(path).rstrip("/")
        names = {
            volume.target[len(plain) + 1 :].split("/")[0]
            for volume in self.of(person)
            if volume.target.startswith(f"{plain}/")
        }
        return [_entry(name, f"{plain}/{name}") for name in sorted(names)]


def root_of(volume: Volume) -> RootAt:
    prefix = volume.prefix if isinstance(volume, DatasetFolder) else ""
    return RootAt(volume.source, volume.target, volume.name, volume.config.read_only, prefix)


def listed(path: str, entries: list[Values]) -> Values:
    """The answer for a folder that only exists because of what is below it."""
    return {
        "path": _plain(path),
        "entries": entries,
        "offset": 0,
        "next_offset": None,
        "total": len(entries),
        "complete": True,
        "reading": False,
        "sort": "name",
        "read_only": True,
    }


def merged(page: Values, more: list[Values]) -> Values:
    """A page that is the whole folder, with places that are mounted into it."""
    have = {entry["name"] for entry in page["entries"]}
    added = [entry for entry in more if entry["name"] not in have]
    if page["next_offset"] is not None or not added:
        return page
    total = int(page["total"]) + len(added)
    return {**page, "entries": [*added, *page["entries"]], "total": total}


def folder_entry(path: str) -> Values:
    plain = _plain(path)
    return _entry(plain.rpartition("/")[2] or "/", plain)


def _plain(path: str) -> str:
    if not path.startswith("/"):
        raise Unfit(
            "path",
            Text(
                f"{path[:100]!r} must begin with /, such as /userhome/x",
                f"{path[:100]!r} 必须以 / 开头，例如 /userhome/x",
            ),
        )
    if "\0" in path or ".." in path.split("/"):
        raise FileFault("bad_name", path)
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def _entry(name: str, path: str) -> Values:
    return {
        "name": name,
        "path": path,
        "kind": "folder",
        "size": 0,
        "modified_at": time.time(),
        "mode": "dr-xr-xr-x",
        "owner": "root",
        "target": None,
        "target_kind": None,
    }
