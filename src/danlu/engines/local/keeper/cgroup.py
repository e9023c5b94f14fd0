"""Memory and CPU limits by cgroup v1 or v2, one group per task."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from danlu.engines.local.keeper import linux

_PERIOD = 100_000
KEEPERS = "keepers"  # a group without limits, for the keepers themselves
SPARE = "spare"  # begins the names of groups that wait for a task, as their keepers do
_ROOMY = 64 << 20  # bytes: in a smaller group a keeper would take too much of it
_LAST_TO_KILL = "-999"


class Groups:
    """Where groups can be made: for each controller the folder they are made in."""

    def __init__(self, version: int, bases: dict[str, str]) -> None:
        self.version = version
        self.bases = bases

    def folders(self, name: str) -> list[str]:
        """The folders of one group; controllers mounted together share one."""
        return [f"{base}/{name}" for base in dict.fromkeys(self.bases.values())]

    def sit_down(self, host_pid: int) -> Seat | None:
        """Makes a group and enters it before the task is known.

        Entering waits for every CPU to notice, which takes longer than all the rest of a start.
        Only groups of the first version can be given their name later.
        """
        if self.version != 1:
            return None
        try:
            seat = Seat(spare(host_pid), list(dict.fromkeys(self.bases.values())))
            for folder in self.folders(seat.name):
                _make_folder(folder)
                put(folder, "cgroup.procs", 0)
        except OSError:
            return None
        return seat

    def make(self, name: str, memory: int, cpus: float, seat: Seat | None = None) -> Group:
        if seat is not None and not seat.take(name):
            seat = None
        if seat is None:
            for folder in self.folders(name):
                _make_folder(folder)
        if seat is None or not seat.limited:  # a keeper's next task has the limits of its last
            self._limit(name, memory, cpus)
        stays = not memory or memory >= _ROOMY
        if seat is not None:
            seat.limited = True
        return Group(self.folders(name), seat, stays)

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
                if cpus != 1:  # one CPU has the share that every group begins with
                    put(folder, "cpu.shares", max(2, int(cpus * 1024)))
                put(folder, "cpu.cfs_quota_us", quota)
            else:
                put(folder, "cpu.weight", min(10_000, max(1, int(cpus * 100))))
                put(folder, "cpu.max", f"{quota} {_PERIOD}")


class Seat:
    """A keeper's place in a group. When memory runs out there, it is the last to be killed."""

    def __init__(self, name: str, bases: list[str]) -> None:
        self.name = name
        self.limited = False
        self._taken = ""
        # By descriptors: in the task's own root cgroups cannot be changed.
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        self._bases = [os.open(base, flags) for base in bases]
        self._usual = "0"
        with contextlib.suppress(OSError):
            with open("/proc/self/oom_score_adj", encoding="ascii") as file:
                self._usual = file.read().strip()
            put("/proc/self", "oom_score_adj", _LAST_TO_KILL)

    def take(self, name: str) -> bool:
        """Give the group the name of a task."""
        self._taken = name
        return self._rename(self.name, name)

    def give_back(self) -> bool:
        """The task is over and nothing of it is left in the group."""
        return self._rename(self._taken, self.name)

    def _rename(self, old: str, new: str) -> bool:
        try:
            for base in self._bases:
                os.rename(old, new, src_dir_fd=base, dst_dir_fd=base)
        except OSError:
            return False
        return True

    def is_not_for(self, pid: int | str) -> None:
        """What the keeper starts is as likely to be killed as anything else."""
        with contextlib.suppress(OSError):
            put(f"/proc/{pid}", "oom_score_adj", self._usual)


class Group:
    """One task's group, by descriptors: in the task's own root cgroups cannot be written.

    `inside`: the keeper is in it already. `stays`: and has no need to leave it.
    """

    def __init__(self, folders: list[str], inside: Seat | None = None, stays: bool = False) -> None:
        self.folders = folders
        self.inside = inside
        self._doors: list[int] = []
        self._ways_out: list[int] = []
        self._parents: list[int] = []
        if inside is None or not stays:
            self._open()

    def _open(self) -> None:
        bases = [os.path.dirname(folder) for folder in self.folders]
        flags = os.O_WRONLY | os.O_CLOEXEC
        self._doors = [os.open(f"{folder}/cgroup.procs", flags) for folder in self.folders]
        self._ways_out = [os.open(f"{base}/{KEEPERS}/cgroup.procs", flags) for base in bases]
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        self._parents = [os.open(base, flags) for base in bases]

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

    def remove(self) -> None:
        """Where the keeper stays, this is left to the server."""
        for folder, parent in zip(self.folders, self._parents, strict=False):
            with contextlib.suppress(OSError):
                os.rmdir(os.path.basename(folder), dir_fd=parent)


def _make_folder(folder: str) -> None:
    with contextlib.suppress(FileExistsError):
        try:
            os.mkdir(folder)
        except FileNotFoundError:  # somebody tidied up while nothing ran
            os.makedirs(f"{os.path.dirname(folder)}/{KEEPERS}", exist_ok=True)
            os.mkdir(folder)


def put(folder: str, name: str, value: object) -> None:
    fd = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
    try:
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


def oom_kills(folders: list[str]) -> int:
    for folder in folders:
        for name in ("memory.oom_control", "memory.events"):
            try:
                with open(f"{folder}/{name}", encoding="ascii") as file:
                    counters = dict(line.split() for line in file)
            except (OSError, ValueError):
                continue
            return int(counters.get("oom_kill", 0))
    return 0


def is_light(folders: list[str]) -> bool:
    """Is too little memory charged to a group to matter to its next task?"""
    for folder in folders:
        with contextlib.suppress(OSError):
            return int(linux.read(f"{folder}/memory.usage_in_bytes")) < _ROOMY
    return True


def end(folders: list[str], patience: float = 2.0) -> bool:
    """Kill what is in a group until nothing is left, then remove it. False: some would not go."""
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
    """Where this process may make groups named after `tag`, or why it may not."""
    mounts = _mounts()
    if not mounts:
        return None, "no cgroup file system is mounted"
    own = _own_paths()
    v1 = {name: path for name, path in mounts.items() if name in ("memory", "cpu")}
    if v1:
        return _first_version(v1, own, tag)
    if "" in mounts:
        return _second_version(mounts[""], own.get("", "/"), tag)
    return None, "the memory and cpu controllers are not mounted"


def spare(pid: int) -> str:
    """The group of a keeper that waits for a task."""
    return f"{SPARE}.{pid}"


def remove_spares(bases: list[str]) -> bool:
    """Groups of keepers that are gone. False: somebody still sits in one."""
    gone = True
    for base in bases:
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(base) if name.startswith(f"{SPARE}.")]
            gone = remove([f"{base}/{name}" for name in names]) and gone
    return gone


def give_back(bases: list[str]) -> None:
    """Remove what find() made, unless tasks go on in it."""
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
                wanted = [name for name in file.read().split() if name in ("memory", "cpu", "pids")]
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
    """A group that hands controllers down must hold no process itself (the root may)."""
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
    """controller -> mount point; the key of cgroup v2 is the empty string."""
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
