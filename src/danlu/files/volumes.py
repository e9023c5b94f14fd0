"""Volumes: which folders of the machine tasks may see, who may use them, and where they exist.

Jobs name volumes, never folders. Three kinds: built in (homes and group folders), declared in
danlu.toml, and declared by an admin while the server runs.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from danlu.access.identities import Person
from danlu.engines.api import HostMount, Refused
from danlu.files.links import lead
from danlu.files.settings import FileSettings, VolumeConfig
from danlu.spec.errors import Finding
from danlu.spec.job import JobSpec, Mount, Role
from danlu.spec.text import Text
from danlu.store.rows import VolumeRow

HOME = "userhome"
USER = "user"
SHARE = "share"
BUILT_IN = (HOME, USER, SHARE)
SHARE_OF = f"{SHARE}."  # share.GROUP is the volume of a group
MOST_PEOPLE = 1000  # whose volumes are remembered
AREA = "volumes"  # the part of the data folder that may hold volumes


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume as one person sees it."""

    config: VolumeConfig
    source: str  # links resolved when it was declared
    target: str

    @property
    def name(self) -> str:
        return self.config.name


class Volumes:
    def __init__(self, settings: FileSettings) -> None:
        self._settings = settings
        self._data = real_path(settings.data)
        self._files = {name: v for name, v in settings.volumes.items() if name not in BUILT_IN}
        self._roots = {name: v for name, v in settings.volumes.items() if name in BUILT_IN}
        share, user = self._roots.get(SHARE), self._roots.get(USER)
        own = f"{self._data}/{AREA}/share"
        self.share_root = own if share is None else real_path(share.source)
        self.user_root = None if user is None else real_path(user.source)
        self._made: dict[str, VolumeConfig] = {}
        self._real: dict[str, str] = {}
        self._seen_by: dict[tuple[str, ...], Mapping[str, Volume]] = {}  # a person and their groups
        self._find_folders()

    # -- the catalogue ------------------------------------------------------------------------

    def take_over(self, rows: Iterable[VolumeRow]) -> None:
        """Volumes declared by command. danlu.toml wins where a name is in both."""
        self._made = {row.name: config_of(row) for row in rows if row.name not in self._files}
        self._find_folders()

    def put(self, row: VolumeRow) -> None:
        self._made[row.name] = config_of(row)
        self._find_folders()

    def remove(self, name: str) -> None:
        self._made.pop(name, None)
        self._seen_by.clear()

    def _find_folders(self) -> None:
        """Links are resolved here and never again, so a link planted later has no effect."""
        self._seen_by.clear()
        for volume in self.catalogue().values():
            self._real[volume.name] = real_path(volume.source)

    def catalogue(self) -> dict[str, VolumeConfig]:
        return {**self._made, **self._files}

    @property
    def limited(self) -> frozenset[str]:
        """Volumes that exist on some nodes only."""
        return frozenset(v.name for v in self.catalogue().values() if v.nodes)

    def by_node(self, nodes: Iterable[str]) -> dict[str, frozenset[str]]:
        limited = [v for v in self.catalogue().values() if v.nodes]
        return {
            node: frozenset(volume.name for volume in limited if node in volume.nodes)
            for node in nodes
        }

    # -- for a person -------------------------------------------------------------------------

    def usable(self, person: Person) -> Mapping[str, Volume]:
        """Everything a person may mount, by name."""
        key = (person.name, *person.groups)
        found = self._seen_by.get(key)
        if found is None:
            if len(self._seen_by) >= MOST_PEOPLE:
                self._seen_by.clear()
            found = self._seen_by[key] = MappingProxyType(self._usable(person))
        return found

    def _usable(self, person: Person) -> dict[str, Volume]:
        found = {volume.name: volume for volume in self._own(person)}
        for config in self.catalogue().values():
            if may_use(config, person):
                found[config.name] = Volume(config, self._real[config.name], config.target)
        return found

    def find(self, name: str, person: Person) -> Volume | None:
        config = self.catalogue().get(name)
        if config is not None:
            real = self._real[name]
            return Volume(config, real, config.target) if may_use(config, person) else None
        return self.usable(person).get(name)

    def _own(self, person: Person) -> Iterable[Volume]:
        home = f"{self._data}/home/{person.name}"
        me = person.name
        yield self._built_in(HOME, home, "/userhome", HOME, me)
        root = self.user_root
        source = home if root is None else f"{root}/{me}"
        yield self._built_in(USER, source, f"/mnt/user/{me}", USER, me)
        for group in person.groups:
            source, target = f"{self.share_root}/{group}", f"/mnt/share/{group}"
            yield self._built_in(SHARE_OF + group, source, target, SHARE, group)

    def _built_in(self, name: str, source: str, target: str, root: str, owner: str) -> Volume:
        given = self._roots.get(root)
        config = VolumeConfig(
            name,
            Path(source),
            target,
            everywhere=True,
            groups=(owner,) if root == SHARE else (),
            users=(owner,) if root != SHARE else (),
            declared="built-in",
        )
        if given is not None:
            config = replace(
                config,
                read_only=given.read_only,
                everywhere=given.everywhere,
                tier=given.tier,
                note=given.note,
            )
        return Volume(config, source, target)

    # -- for a task ---------------------------------------------------------------------------

    def nodes_with(self, names: Iterable[str]) -> frozenset[str] | None:
        """The nodes that have all of these; None: they are on every node."""
        found: frozenset[str] | None = None
        for name in set(names):
            volume = self.catalogue().get(name)
            if volume is not None and volume.nodes:
                nodes = frozenset(volume.nodes)
                found = nodes if found is None else found & nodes
        return found

    def mounts(
        self, role: Role, person: Person, node: str, among: frozenset[str] | None = None
    ) -> tuple[HostMount, ...]:
        """What a task sees: the volumes mounted everywhere, then the job's own.

        Without a node it may be any `among` these.
        """
        places = {node} if node else among
        asked = {mount.volume for mount in role.mounts}
        mounts = []
        for volume in self.usable(person).values():
            here = not volume.config.nodes or bool(places and places <= set(volume.config.nodes))
            if volume.name == HOME or (
                volume.config.everywhere and here and volume.name not in asked
            ):
                mounts.append(_mount(volume, volume.target))
        for mount in role.mounts:
            found = self.find(mount.volume, person)
            if found is None:
                raise Refused(f"volume {mount.volume} is not available to {person.name} (any more)")
            if found.name == HOME and mount.path == found.target:
                continue  # already mounted
            mounts.append(_mount(found, mount.path, mount.read_only, mount.folder))
        return tuple(mounts)

    def findings(self, spec: JobSpec, person: Person, nodes: Collection[str]) -> list[Finding]:
        """Problems with the mounts of a job, before it is accepted."""
        found: list[Finding] = []
        for role in spec.roles:
            common = set(nodes)
            for index, mount in enumerate(role.mounts):
                volume = self.find(mount.volume, person)
                problem = self._problem(mount, volume, person, nodes)
                if problem is None and volume is not None and volume.config.nodes:
                    common &= set(volume.config.nodes)
                    if not common:
                        problem = Text(
                            f"exists on {', '.join(volume.config.nodes)} only, and no node has all "
                            "the volumes the job needs",
                            f"只在 {'、'.join(volume.config.nodes)} 上存在，"
                            "没有节点同时拥有任务要求的所有存储卷",
                        )
                if problem is not None:
                    found.append(Finding(("mounts", index, "volume"), mount.volume, problem))
        return found

    def _problem(
        self, mount: Mount, volume: Volume | None, person: Person, nodes: Collection[str]
    ) -> Text | None:
        if volume is None:
            # The same message for someone else's volume and for one that does not exist.
            known = sorted(self.usable(person))
            return Text(
                f"is not a volume you may use; available: {', '.join(known)}",
                f"不是你可用的存储卷；可用的有：{'、'.join(known)}",
            )
        if mount.path == "/userhome" and volume.name != HOME:
            return Text(
                "cannot be mounted at /userhome, which is every task's home; choose another path",
                "不能挂载到 /userhome：那是每个任务的用户目录；请换一个路径",
            )
        if volume.config.nodes and not set(nodes) & set(volume.config.nodes):
            there = ", ".join(volume.config.nodes)
            return Text(
                f"exists on {there} only, and no such node is present; ask the admin",
                f"只在 {there} 上存在，这里没有这样的节点；请联系管理员",
            )
        if mount.folder and _folder(volume, mount.folder) is None:
            return Text(
                f"folder {mount.folder} leads out of the volume",
                f"其中的目录 {mount.folder} 指向存储卷之外",
            )
        return None

    def hides(self, role: Role, person: Person) -> bool:
        """Whether the job starts in a folder its tasks cannot see: the server's own, or another
        user's.
        """
        if role.workdir is None:
            return False
        seen = self.seen(role, person)
        path = os.path.normpath(role.workdir)
        return self.is_hidden(path, seen) or self.is_hidden(lead(path, seen), seen)

    def seen(self, role: Role, person: Person) -> dict[str, str]:
        """Where a task can have volumes, and their folders on the host."""
        seen = {volume.target: volume.source for volume in self.usable(person).values()}
        for mount in role.mounts:
            volume = self.find(mount.volume, person)
            if volume is not None:
                seen[mount.path] = _folder(volume, mount.folder) or volume.source
        return seen

    def is_hidden(self, path: str, seen: Mapping[str, str]) -> bool:
        places = [self._data, str(self._settings.data), "/mnt/user", "/mnt/share"]
        places += [volume.target for volume in self.catalogue().values()]
        if not any(below(path, place) for place in places):
            return False
        return not any(below(path, own) for pair in seen.items() for own in pair)


def may_use(volume: VolumeConfig, person: Person) -> bool:
    if not volume.groups and not volume.users:
        return True
    return person.name in volume.users or any(group in person.groups for group in volume.groups)


def real_path(path: str | Path) -> str:
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.normpath(path)


def below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _mount(volume: Volume, target: str, read_only: bool = False, folder: str = "") -> HostMount:
    read_only = read_only or volume.config.read_only
    source = _folder(volume, folder)
    if source is None:
        raise Refused(f"folder {folder} of volume {volume.name} leads out of the volume")
    return HostMount(volume.name, source, target, read_only)


def _folder(volume: Volume, folder: str) -> str | None:
    """None: it leads out of the volume."""
    if not folder:
        return volume.source
    source = real_path(f"{volume.source}/{folder}")
    return source if below(source, real_path(volume.source)) else None


def config_of(row: VolumeRow) -> VolumeConfig:
    return VolumeConfig(
        row.name,
        Path(row.source),
        row.target,
        row.read_only,
        row.everywhere,
        tuple(row.groups),
        tuple(row.users),
        tuple(row.nodes),
        row.tier,
        row.note,
        "command",
    )
