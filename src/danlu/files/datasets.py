"""Datasets: which a person may read, and where a task on a node reads them from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from danlu.access.identities import Person
from danlu.engines.api import HostMount
from danlu.files.volumes import Volume, Volumes, below, real_path
from danlu.spec.errors import Finding
from danlu.spec.job import JobSpec
from danlu.spec.text import Text
from danlu.store.rows import CopyRow, DatasetRow

GDATA = "gdata"
PREFIX = "dataset."
"""Of the names of mounts: their variables are DANLU_VOLUME_DATASET_NAME."""
STAGE = ".stage"
"""The folder of a fast volume with copies."""
FAST = "fast"
"""The tier of volumes that get copies."""


class Datasets:
    def __init__(self, volumes: Volumes) -> None:
        self._volumes = volumes
        self._rows: dict[str, DatasetRow] = {}
        self._copies: dict[tuple[str, str], CopyRow] = {}  # by dataset and node

    def take_over(self, rows: Iterable[DatasetRow], copies: Iterable[CopyRow]) -> None:
        self._rows = {row.name: row for row in rows}
        self._copies = {(row.dataset, row.node): row for row in copies}
        for copy in self._copies.values():
            if copy.state == "copying":  # by a server that is gone
                copy.state = "failed"
                copy.detail_en = "interrupted when the server ended; stage it again"
                copy.detail_zh = "服务器停止时中断；请重新复制"

    def put(self, row: DatasetRow) -> None:
        self._rows[row.name] = row

    def put_copy(self, row: CopyRow) -> None:
        self._copies[row.dataset, row.node] = row

    def drop_copy(self, dataset: str, node: str) -> None:
        self._copies.pop((dataset, node), None)

    def remove(self, name: str) -> None:
        self._rows.pop(name, None)
        for key in [key for key in self._copies if key[0] == name]:
            del self._copies[key]

    def get(self, name: str) -> DatasetRow | None:
        return self._rows.get(name)

    def all(self) -> list[DatasetRow]:
        return [self._rows[name] for name in sorted(self._rows)]

    def copies(self, name: str = "") -> list[CopyRow]:
        return [row for row in self._copies.values() if name in ("", row.dataset)]

    # -- for a person -------------------------------------------------------------------------

    def readable(self, row: DatasetRow, person: Person) -> bool:
        """Whoever may use its volume may read it."""
        return row.state == "ready" and self._volumes.find(row.volume, person) is not None

    def nodes_of(self, row: DatasetRow) -> tuple[str, ...]:
        """None: all."""
        config = self._volumes.catalogue().get(row.volume)
        return config.nodes if config is not None else ()

    def findings(self, spec: JobSpec, person: Person) -> list[Finding]:
        """Problems with the datasets of a job, before it is accepted."""
        known = sorted(row.name for row in self.all() if self.readable(row, person))
        return [
            Finding(
                ("datasets", index),
                name,
                Text(
                    f"is not a dataset you may read; available: {', '.join(known) or 'none yet'}",
                    f"不是你可以读取的数据集；可用的有：{'、'.join(known) or '无'}",
                ),
            )
            for index, name in enumerate(spec.datasets)
            if name not in known
        ]

    # -- for the scheduler --------------------------------------------------------------------

    def needed(self, spec: JobSpec) -> frozenset[str]:
        """Volumes that hold the datasets of a job."""
        rows = (self._rows.get(name) for name in spec.datasets)
        return frozenset(row.volume for row in rows if row is not None)

    def near(self, spec: JobSpec) -> frozenset[str]:
        """Nodes with fast copies of all datasets of a job."""
        found: set[str] | None = None
        for name in spec.datasets:
            nodes = {row.node for row in self.copies(name) if self._is_current(row)}
            found = nodes if found is None else found & nodes
        return frozenset(found or ())

    # -- for a task ---------------------------------------------------------------------------

    def mounts(self, spec: JobSpec, person: Person, node: str) -> list[HostMount]:
        """Those everybody sees, and those the job asked for."""
        found = []
        for row in self.all():
            if not (row.everywhere or row.name in spec.datasets):
                continue
            mount = self._mount(row, person, node)
            if mount is not None:
                found.append(mount)
        return found

    def _mount(self, row: DatasetRow, person: Person, node: str) -> HostMount | None:
        volume = self._volumes.find(row.volume, person) if row.state == "ready" else None
        if volume is None:
            return None
        target = f"/gdata/{row.name}"
        copy = self.copy_at(row.name, node)
        if copy is not None:
            return HostMount(PREFIX + row.name, copy.folder, target, True)
        nodes = volume.config.nodes
        if nodes and node and node not in nodes:
            return None
        source = source_of(row, volume)
        if source is None or (row.volume == GDATA and row.folder == row.name):
            return None  # where it is already
        return HostMount(PREFIX + row.name, source, target, True)

    def copy_at(self, name: str, node: str) -> CopyRow | None:
        copy = self._copies.get((name, node))
        return copy if copy is not None and self._is_current(copy) else None

    def _is_current(self, copy: CopyRow) -> bool:
        row = self._rows.get(copy.dataset)
        return (
            row is not None
            and copy.state == "ready"
            and copy.folder.endswith(f"@{row.fingerprint}")
        )


def source_of(row: DatasetRow, volume: Volume) -> str | None:
    """Its folder on the machine. None: it leads out of the volume."""
    root = real_path(volume.source)
    source = real_path(f"{root}/{row.folder}") if row.folder else root
    return source if below(source, root) else None


def fast_volumes(volumes: Volumes, nodes: Iterable[str]) -> Mapping[str, Volume]:
    """Node -> its fast volume that may be written."""
    found: dict[str, Volume] = {}
    for _, config in sorted(volumes.catalogue().items()):
        if config.tier != FAST:
            continue
        for node in nodes:
            if not config.nodes or node in config.nodes:
                volume = Volume(config, real_path(config.source), config.target)
                found.setdefault(node, volume)
    return found
