"""Memory and CPU limits by cgroup v1 or v2, one group per task."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

from danlu.engines.local.keeper import device_rules, linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTROLLERS = ("memory", "cpu", "pids", "devices")
_PERIOD = 100_000
KEEPERS = "keepers"  # a group without limits, for the keepers themselves
SPARE = "spare"  # name prefix of the groups of idle keepers
_ROOMY = 64 << 20  # bytes; a smaller group has no room for the keeper
_LAST_TO_KILL = b"-999"


class Groups:
    """For each controller, the folder in which groups are created."""

    def __init__(self, version: int, bases: dict[str, str]) -> None:
        self.version = version
        self.bases = bases
        self._usual: tuple[device_rules.Rule, ...] | None = None  # None: no limit
        self._program = -1  # cgroup v2: BPF program for the default devices

    def limit_devices(self, nodes: list[str]) -> None:
        """Limits tasks to the default devices, these nodes and their own."""
        usual = (*device_rules.USUAL, *device_rules.of(nodes))
        if self.version == 2:
            with contextlib.suppress(OSError):  # without root
                self._program = device_rules.load(usual)
                self._usual = usual
        elif "devices" in self.bases:
            self._usual = usual

    def folders(self, name: str) -> list[str]:
        """The folders of one group; controllers mounted together share one."""
        return [f"{base}/{name}" for base in dict.fromkeys(self.bases.values())]

    def sit_down(self, host_pid: int) -> Seat | None:
        """Creates and enters a group before the task is known.

        Entering waits for an RCU grace period, longer than the rest of a launch takes. Only
        cgroup v1 groups can be renamed later.
        """
        if self.version != 1:
            return None
        try:
            name = spare(host_pid)
            for folder in self.folders(name):
                _make_folder(folder)
                put(folder, "cgroup.procs", 0)
            self._limit_devices(name)
            return Seat(name, list(dict.fromkeys(self.bases.values())))
        except OSError:
            return None

    def make(self, name: str, task: dict[str, Any], seat: Seat | None = None) -> Group:
        memory = int(task["memory"])
        apart = 0 < memory < _ROOMY
        keeper = seat
        if seat is not None and (apart or not seat.take(name)):
            seat = None
        if seat is None:
            for folder in self.folders(name):
                _make_folder(folder)
            self._limit_devices(name)
        if seat is None or not seat.limited:  # a keeper's next task has the same limits
            self._limit(name, memory, float(task["cpus"]))
            self._limit_pids(name, int(task["pids"]))
            self._add_devices(name, list(task["devices"]))
        if seat is not None:
            seat.limited = True
        return Group(self.folders(name), seat, keeper, apart)

    def _limit_devices(self, name: str) -> None:
        if self._usual is None or self.version == 2:
            return
        folder = f"{self.bases['devices']}/{name}"
        put(folder, "devices.deny", "a")
        put(folder, "devices.allow", *map(device_rules.line, self._usual))

    def _add_devices(self, name: str, nodes: list[str]) -> None:
        if self._usual is None:
            return
        own = device_rules.of(nodes)
        if self.version == 1:
            folder = f"{self.bases['devices']}/{name}"
            if own:
                put(folder, "devices.allow", *map(device_rules.line, own))
            return
        program = device_rules.load((*self._usual, *own)) if own else self._program
        tree = os.open(f"{self.bases['tree']}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            device_rules.attach(program, tree)
        finally:
            os.close(tree)

    def _limit_pids(self, name: str, most: int) -> None:
        if most and "pids" in self.bases:
            put(f"{self.bases['pids']}/{name}", "pids.max", most)

    def _limit(self, name: str, memory: int, cpus: float) -> None:
        if memory and "memory" in self.bases:
            folder = f"{self.bases['memory']}/{name}"
            if self.version == 1:
                put(folder, "memory.limit_in_bytes", memory)
            else:
                put(folder, "memory.max", memory)
                put(folder, "memory.oom.group", 1)
        if cpus and "cpu" in self.bases:
            folder = f"{self.bases['cpu']}/{name}"
            quota = max(1000, int(cpus * _PERIOD))
            if self.version == 1:
                if cpus != 1:  # the default share is one CPU
                    put(folder, "cpu.shares", max(2, int(cpus * 1024)))
                put(folder, "cpu.cfs_quota_us", quota)
            else:
                put(folder, "cpu.weight", min(10_000, max(1, int(cpus * 100))))
                put(folder, "cpu.max", f"{quota} {_PERIOD}")


class Seat:
    """A keeper's membership in a group. The OOM killer takes it last."""

    def __init__(self, name: str, bases: list[str]) -> None:
        self.name = name
        self.limited = False
        self._taken = ""
        # By descriptors: cgroups are read-only in the task's root.
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        self._bases = [os.open(base, flags) for base in bases]
        self.opened = [os.open(name, flags, dir_fd=base) for base in self._bases]
        self._pid = os.getpid()
        self._usual = b"0"
        self._score = -1
        with contextlib.suppress(OSError):
            score = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
            self._usual = os.read(score, 16).strip()
            os.pwrite(score, _LAST_TO_KILL, 0)
            self._score = score

    def take(self, name: str) -> bool:
        """Renames the group after a task."""
        self._taken = name
        return self._rename(self.name, name)

    def give_back(self) -> bool:
        """For when the task has ended and none of its processes are left."""
        return self._rename(self._taken, self.name)

    def _rename(self, old: str, new: str) -> bool:
        try:
            for base in self._bases:
                os.rename(old, new, src_dir_fd=base, dst_dir_fd=base)
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def as_usual(self) -> Iterator[None]:
        """Children started meanwhile get the normal OOM score."""
        if self._score < 0 or os.getpid() != self._pid:
            yield
            return
        os.pwrite(self._score, self._usual, 0)
        try:
            yield
        finally:
            if os.getpid() == self._pid:
                os.pwrite(self._score, _LAST_TO_KILL, 0)


class Group:
    """One task's group, by descriptors: cgroups are read-only in the task's root.

    `inside`: the keeper is in it. `keeper`: where the keeper is, in this group or another.
    `apart`: the group is so small that the keeper must not enter it, not even to start a command:
    the OOM killer would find nobody else.
    """

    def __init__(
        self,
        folders: list[str],
        inside: Seat | None = None,
        keeper: Seat | None = None,
        apart: bool = False,
    ) -> None:
        self.folders = folders
        self.inside = inside
        self.keeper = keeper
        self.apart = apart
        self._doors: list[int] = []
        self._ways_out: list[int] = []
        self._parents: list[int] = []
        self._opened = inside.opened if inside is not None else []
        if inside is None:
            self._open()

    def _open(self) -> None:
        bases = [os.path.dirname(folder) for folder in self.folders]
        flags = os.O_WRONLY | os.O_CLOEXEC
        self._doors = [os.open(f"{folder}/cgroup.procs", flags) for folder in self.folders]
        self._ways_out = [os.open(f"{base}/{KEEPERS}/cgroup.procs", flags) for base in bases]
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        self._parents = [os.open(base, flags) for base in bases]
        if not self._opened:
            self._opened = [os.open(folder, flags) for folder in self.folders]

    def enter(self) -> None:
        if self.inside is None:
            for door in self._doors:
                os.write(door, b"0")

    def leave(self) -> None:
        if self._ways_out:
            self.inside = None
        for way in self._ways_out:
            with contextlib.suppress(OSError):
                os.write(way, b"0")

    def oom_kills(self) -> int:
        for name in ("memory.oom_control", "memory.events"):
            text = self._read(name)
            if text is not None:
                pairs = [line.split() for line in text.splitlines()]
                return int(dict(pair for pair in pairs if len(pair) == 2).get(b"oom_kill", 0))
        return 0

    def is_light(self) -> bool:
        """Whether the memory charged to it is negligible for its next task."""
        charged = self._read("memory.usage_in_bytes")
        return charged is None or int(charged) < _ROOMY

    def _read(self, name: str) -> bytes | None:
        for folder in self._opened:
            with contextlib.suppress(OSError):
                return linux.read(name, dir_fd=folder)
        return None

    def remove(self) -> None:
        """If the keeper stays in it, the server does this."""
        for folder, parent in zip(self.folders, self._parents, strict=False):
            with contextlib.suppress(OSError):
                os.rmdir(os.path.basename(folder), dir_fd=parent)


def _make_folder(folder: str) -> None:
    with contextlib.suppress(FileExistsError):
        try:
            os.mkdir(folder)
        except FileNotFoundError:  # removed while nothing was running
            os.makedirs(f"{os.path.dirname(folder)}/{KEEPERS}", exist_ok=True)
            os.mkdir(folder)


def put(folder: str, name: str, *values: object) -> None:
    """One write for each value, as the kernel wants it."""
    fd = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
    try:
        for value in values:
            os.write(fd, str(value).encode())
    finally:
        os.close(fd)


def members(folders: list[str]) -> list[int]:
    pids: set[int] = set()
    for folder in folders:
        try:
            with open(f"{folder}/cgroup.procs", encoding="ascii") as file:
                pids.update(int(line) for line in file)
        except OSError:
            pass
    return sorted(pids)


def end(folders: list[str], patience: float = 2.0) -> bool:
    """Kills everything in a group, then removes it. False: some processes remain."""
    limit = time.monotonic() + patience
    while pids := [pid for pid in members(folders) if pid > 0]:
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > limit:
            return False
        time.sleep(0.005)
    return remove(folders)


def remove(folders: list[str]) -> bool:
    gone = True
    for folder in folders:
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError:
            gone = False
    return gone


def find(tag: str) -> tuple[Groups | None, str]:
    """Where this process can create groups named after `tag`, or why it cannot."""
    mounts = _mounts()
    if not mounts:
        return None, "no cgroup file system is mounted"
    own = _own_paths()
    v1 = {name: path for name, path in mounts.items() if name in CONTROLLERS}
    if v1:
        return _first_version(v1, own, tag)
    if "" in mounts:
        return _second_version(mounts[""], own.get("", "/"), tag)
    return None, "the memory and cpu controllers are not mounted"


def spare(pid: int) -> str:
    """The group of an idle keeper."""
    return f"{SPARE}.{pid}"


def remove_spares(bases: list[str]) -> bool:
    """Removes the groups of idle keepers that are gone. False: one is still in use."""
    gone = True
    for base in bases:
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(base) if name.startswith(f"{SPARE}.")]
            gone = remove([f"{base}/{name}" for name in names]) and gone
    return gone


def give_back(bases: list[str]) -> None:
    """Removes what find() created, unless tasks are still running in it."""
    for base in bases:
        remove([f"{base}/{KEEPERS}", base])


def _first_version(
    mounts: dict[str, str], own: dict[str, str], tag: str
) -> tuple[Groups | None, str]:
    bases: dict[str, str] = {}
    why = ""
    for name, path in mounts.items():
        for parent in (path, path + own.get(name, "").rstrip("/")):
            base = f"{parent}/danlu/{tag}"
            try:
                os.makedirs(base, exist_ok=True)
                if name == "memory":
                    for folder in (f"{parent}/danlu", base):
                        _use_hierarchy(folder)
                _try_group(base)
            except OSError as error:
                why = str(error)
                continue
            bases[name] = base
            break
    return (Groups(1, bases), "") if bases else (None, why)


def _use_hierarchy(folder: str) -> None:
    with contextlib.suppress(OSError):
        put(folder, "memory.use_hierarchy", 1)


def _second_version(path: str, own: str, tag: str) -> tuple[Groups | None, str]:
    why = ""
    for parent in dict.fromkeys((path, path + own.rstrip("/"))):
        base = f"{parent}/danlu/{tag}"
        try:
            with open(f"{parent}/cgroup.controllers", encoding="ascii") as file:
                wanted = [name for name in file.read().split() if name in CONTROLLERS]
            os.makedirs(base, exist_ok=True)
            if wanted:
                _make_room(parent, path)
            for folder in (parent, f"{parent}/danlu", base):
                for name in wanted:
                    put(folder, "cgroup.subtree_control", f"+{name}")
            _try_group(base)
        except OSError as error:
            why = str(error)
            continue
        return Groups(2, dict.fromkeys([*wanted, "tree"], base)), ""
    return None, why


def _make_room(parent: str, root: str) -> None:
    """A cgroup v2 group that delegates controllers must not contain processes, except the root."""
    if parent == root:
        return
    server = f"{parent}/danlu-server"
    os.makedirs(server, exist_ok=True)
    for pid in (os.getppid(), os.getpid()):
        put(server, "cgroup.procs", pid)


def _try_group(base: str) -> None:
    os.makedirs(f"{base}/{KEEPERS}", exist_ok=True)
    folder = f"{base}/trial.{os.getpid()}"
    os.mkdir(folder)
    try:
        pid = os.fork()
        if pid == 0:
            try:
                put(folder, "cgroup.procs", 0)
                os._exit(0)
            except BaseException:
                os._exit(1)
        if os.waitpid(pid, 0)[1]:
            raise PermissionError(13, f"a process may not join {folder}")
    finally:
        os.rmdir(folder)


def _mounts() -> dict[str, str]:
    """controller -> mount point; cgroup v2 has an empty key."""
    found: dict[str, str] = {}
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                left, _, right = line.partition(" - ")
                kind, _, options = right.split()[:3]
                if kind == "cgroup2":
                    found[""] = left.split()[4]
                elif kind == "cgroup":
                    for name in options.split(","):
                        found[name] = left.split()[4]
    except (OSError, ValueError):
        pass
    return found


def _own_paths() -> dict[str, str]:
    paths: dict[str, str] = {}
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                _, names, path = line.rstrip("\n").split(":", 2)
                for name in names.split(","):
                    paths[name] = path
    except OSError:
        pass
    return paths
