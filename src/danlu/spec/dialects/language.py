"""The languages there are, what a conversion may know of its surroundings, and what it gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from danlu.spec.complete import Submission
from danlu.spec.dialects.draft import Note


class Dialect(StrEnum):
    NATIVE = "native"
    OPENPAI_V1 = "openpai-v1"
    OPENPAI_V2 = "openpai-v2"
    DLC = "dlc"
    DETERMINED = "determined"
    SBATCH = "sbatch"

    @property
    def label(self) -> str:
        return _TITLES[self]


_TITLES = {
    Dialect.NATIVE: "Danlu",
    Dialect.OPENPAI_V1: "OpenPAI v1",
    Dialect.OPENPAI_V2: "OpenPAI v2",
    Dialect.DLC: "DLC",
    Dialect.DETERMINED: "Determined",
    Dialect.SBATCH: "sbatch",
}

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class SiteVolume:
    """A catalogued volume: where it is on the nodes, and where tasks see it."""

    name: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Site:
    """What only the installation knows. Foreign files name folders of machines by their path."""

    volumes: tuple[SiteVolume, ...] = ()
    cards: int = 0  # of the node that has most; 0: not known
    nodes: frozenset[str] = frozenset()  # their names; none: not known

    def volume_of(self, path: str) -> tuple[SiteVolume, str] | None:
        """The volume that holds a path of the nodes, and the rest of the path below it."""
        best: tuple[SiteVolume, str] | None = None
        for volume in self.volumes:
            for root in (volume.source, volume.target):
                rest = _below(path, root)
                if rest is not None and (best is None or len(rest) < len(best[1])):
                    best = volume, rest
        return best

    def guess(self, path: str) -> tuple[str, str, str] | None:
        """Where no volume is known at all (`danlu convert` without a server): a volume's name made
        of the path, and what is to be said. Whoever queues the job checks the name."""
        if self.volumes:
            return None
        name = _NOT_IN_NAMES.sub("-", path).strip("-._")[:_LONGEST].rstrip("-._") or "root"
        return (
            name,
            f"which volume holds {path[:200]} is not known here: {name!r} stands for it; put the"
            " name that danlu volume list shows, or convert with --volume NAME=/folder/on/nodes",
            f"这里不知道 {path[:200]} 在哪个存储卷中：暂写作 {name!r}；请改成"
            " danlu volume list 显示的名称，"
            "或转换时加 --volume 名称=/节点上的目录",
        )


def _below(path: str, root: str) -> str | None:
    root = root.rstrip("/")
    if path.rstrip("/") == root:
        return ""
    return path[len(root) :] if root and path.startswith(root + "/") else None


@dataclass(frozen=True, slots=True)
class Options:
    """What stands beside the file on the command line or in the request."""

    run_as: str | None = None  # Determined: shell, notebook, command, tensorboard, experiment
    overrides: tuple[str, ...] = ()  # Determined: a.b.c=value
    arguments: tuple[str, ...] = ()  # sbatch: the words after the script
    words: tuple[str, ...] = ()  # sbatch: options of the command line; they win over the file's
    values: Mapping[str, Any] = field(default_factory=dict)  # native keys that win
    offers: Mapping[str, Any] = field(default_factory=dict)  # native keys where the file has none


@dataclass(frozen=True, slots=True)
class Converted:
    dialect: Dialect
    jobs: tuple[Submission, ...]
    notes: tuple[Note, ...] = ()
    # Secrets that stood in the file itself: name -> value. Whoever queues the job keeps them.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
