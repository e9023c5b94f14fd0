"""The supported languages, and the input and output of a conversion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from danlu.spec.complete import Submission
from danlu.spec.dialects.draft import Note
from danlu.spec.text import Text


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
    """A declared volume: its folder on the nodes, and its path in tasks."""

    name: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class NodeSize:
    """What a whole node has."""

    cpus: float
    memory: int  # bytes
    gpus: int = 0
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """What only the installation knows. Foreign files name folders of machines by path."""

    volumes: tuple[SiteVolume, ...] = ()
    gpus: int = 0  # of the node with the most; 0: unknown
    nodes: frozenset[str] = frozenset()  # node names; empty: unknown
    sizes: tuple[NodeSize, ...] = ()  # of its nodes, each once; empty: unknown
    labels: frozenset[str] = frozenset()  # of any node

    def volume_of(self, path: str) -> tuple[SiteVolume, str] | None:
        """The volume that contains a path of the nodes, and the rest of the path."""
        best: tuple[SiteVolume, str] | None = None
        for volume in self.volumes:
            for root in (volume.source, volume.target):
                rest = _below(path, root)
                if rest is not None and (best is None or len(rest) < len(best[1])):
                    best = volume, rest
        return best

    def guess(self, path: str) -> tuple[str, Text] | None:
        """If no volumes are known (`danlu convert` without a server): a volume name derived from
        the path, and a note. The name is checked when the job is submitted.
        """
        if self.volumes:
            return None
        name = _NOT_IN_NAMES.sub("-", path).strip("-._")[:_LONGEST].rstrip("-._") or "root"
        return (
            name,
            Text(
                f"the volume of {path[:200]} is unknown here: {name!r} is a placeholder; replace "
                "it with a name from danlu volume list, or convert with --volume "
                "NAME=/folder/on/nodes",
                f"这里不知道 {path[:200]} 在哪个存储卷中：暂写作 {name!r}；请改成"
                " danlu volume list 显示的名称，"
                "或转换时加 --volume 名称=/节点上的目录",
            ),
        )


def _below(path: str, root: str) -> str | None:
    root = root.rstrip("/")
    if path.rstrip("/") == root:
        return ""
    return path[len(root) :] if root and path.startswith(root + "/") else None


@dataclass(frozen=True, slots=True)
class Options:
    """What is given besides the file, on the command line or in the request."""

    run_as: str | None = None  # Determined: shell, notebook, command, tensorboard, experiment
    overrides: tuple[str, ...] = ()  # Determined: a.b.c=value
    arguments: tuple[str, ...] = ()  # sbatch: the words after the script
    words: tuple[str, ...] = ()  # sbatch: command-line options; they override the file's
    values: Mapping[str, Any] = field(default_factory=dict)  # native keys that override the file
    offers: Mapping[str, Any] = field(
        default_factory=dict
    )  # native keys for what the file does not set


@dataclass(frozen=True, slots=True)
class Converted:
    dialect: Dialect
    jobs: tuple[Submission, ...]
    notes: tuple[Note, ...] = ()
    # Secrets contained in the file: name -> value. The server stores them when the job is queued.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
