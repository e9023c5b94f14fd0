"""Enters a container: its namespaces, cgroups, identity and seccomp filter."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import time
from collections.abc import Iterator

from danlu.engines.local.container import confine, holder
from danlu.engines.local.keeper import linux

_KINDS = ("user", "ipc", "uts", "net", "cgroup", "pid", "mnt")  # mnt last: it hides the others
_HOLDER_PATIENCE = 5.0  # seconds
_OOM_FILES = ("memory.oom_control", "memory.events")

_libc = ctypes.PyDLL(None, use_errno=True)


class Container:
    """A running container, by descriptors that remain valid after changing the root."""

    def __init__(self, pid: int, name: str) -> None:
        self._ended = os.pidfd_open(pid)
        _wait_for_holder(pid, name)
        self._spaces = [
            os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
            for kind in _KINDS
            if _another(pid, kind)
        ]
        self.own_users = _another(pid, "user")
        self._uids = _read_map(pid, "uid_map")
        self._gids = _read_map(pid, "gid_map")
        places = _cgroups(pid)
        folders = list(dict.fromkeys(places.values()))
        # cgroup v1 limits devices in a hierarchy of its own, v2 in the only one.
        limiting = "devices" if "devices" in places else ""
        limits = places.get(limiting, "")
        own = _cgroups("self").get(limiting, "")
        self._devices = DeviceGroup(limits, own, must=_opens_any_device())
        others = [f"{folder}/cgroup.procs" for folder in folders if folder != limits]
        self._doors = _open_all(others, os.O_WRONLY)
        memory = [f"{folder}/{name}" for folder in folders for name in _OOM_FILES]
        self._ooms = _open_all(memory, os.O_RDONLY)
        self.memory_folder = next((f for f in folders if _has_memory(f)), "")
        self._filters = confine.filters_of(pid)
        # The interface Starter expects of a cgroup.
        self.folders: list[str] = []
        self.inside = None
        self.keeper = None
        self.apart = False

    def join(self) -> None:
        """Enters everything but the pid namespace, which applies to its children."""
        for space in self._spaces:
            if _libc.setns(space, 0) < 0:
                number = ctypes.get_errno()
                raise OSError(number, f"cannot enter the container: {os.strerror(number)}")
            os.close(space)
        os.chdir("/")

    @contextlib.contextmanager
    def devices_limited(self) -> Iterator[None]:
        """Limits the keeper to the container's devices while it handles the image's files. It
        leaves again: the runtime kills every process left in the group."""
        self._devices.enter()
        try:
            yield
        finally:
            self._devices.leave()

    def user(self, uid: int) -> int:
        return _inside(self._uids, uid, "user")

    def group(self, gid: int) -> int:
        return _inside(self._gids, gid, "group")

    # -- what a cgroup does for processes that are started -------------------------------------

    def enter(self) -> None:
        """In a new child: confines it like the container."""
        self._devices.enter()
        for door in self._doors:
            with contextlib.suppress(OSError):
                os.write(door, b"0")
        confine.install(self._filters)

    def leave(self) -> None:
        """Nothing to do: the keeper itself never joined."""

    def remove(self) -> None:
        """Nothing to do: the runtime removes it."""

    # -- its end ------------------------------------------------------------------------------

    def takes_processes(self) -> bool:
        """False: its first process is exiting, which ended all others."""
        try:
            pid = os.fork()
        except OSError:  # a pid namespace without its first process refuses new ones
            return False
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return True

    def end(self) -> None:
        """The kernel kills every process in it. Works without the daemon."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._ended, signal.SIGKILL)

    def wait(self, patience: float) -> bool:
        poll = select.poll()
        poll.register(self._ended, select.POLLIN)
        return bool(poll.poll(patience * 1000))

    def oom_kills(self) -> int:
        for file in self._ooms:
            with contextlib.suppress(OSError, ValueError):
                lines = os.pread(file, 4096, 0).decode().splitlines()
                counters = dict(line.split() for line in lines)
                return int(counters.get("oom_kill", 0))
        return 0


class DeviceGroup:
    """The cgroup that limits a container's devices, and the keeper's own to return to.

    `must`: whoever could open any device outside it does nothing for the container without it.
    """

    def __init__(self, theirs: str, own: str, must: bool) -> None:
        self._must = must
        self._theirs = self._own = -1
        if theirs in ("", own):  # the container has none of its own
            return
        with self._required():
            self._theirs = _open_procs(theirs)
        with contextlib.suppress(OSError):
            self._own = _open_procs(own)

    def enter(self) -> None:
        if self._theirs >= 0:
            with self._required():
                os.write(self._theirs, b"0")

    def leave(self) -> None:
        if self._own >= 0:
            with contextlib.suppress(OSError):
                os.write(self._own, b"0")

    @contextlib.contextmanager
    def _required(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._must:
                raise OSError(
                    f"cannot enter the container's device cgroup: {error.strerror}"
                ) from error


def _open_procs(folder: str) -> int:
    return os.open(f"{folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)


def _opens_any_device() -> bool:
    """Root can, except in a user namespace, where no image has device nodes."""
    return os.geteuid() == 0 and _read_map("self", "uid_map") == [(0, 0, 2**32 - 1)]


def _wait_for_holder(pid: int, name: str) -> None:
    """Runtimes answer slightly before they exec it."""
    wanted = [holder.INSIDE.encode(), name.encode()]
    limit = time.monotonic() + _HOLDER_PATIENCE
    while linux.read(f"/proc/{pid}/cmdline").split(b"\0")[:2] != wanted:
        if time.monotonic() > limit:
            raise OSError(
                f"process {pid} is not the container's first: its runtime counts processes "
                "differently; a server inside a container cannot use the runtime outside"
            )
        time.sleep(0.001)


def _another(pid: int, kind: str) -> bool:
    try:
        theirs = os.readlink(f"/proc/{pid}/ns/{kind}")
    except FileNotFoundError:  # not supported by this kernel
        return False
    return theirs != os.readlink(f"/proc/self/ns/{kind}")


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().splitlines()


def _read_map(pid: int | str, name: str) -> list[tuple[int, int, int]]:
    lines = _lines(f"/proc/{pid}/{name}")
    return [(int(a), int(b), int(c)) for a, b, c in (line.split() for line in lines)]


def _inside(ranges: list[tuple[int, int, int]], outside: int, what: str) -> int:
    for first, host, count in ranges:
        if host <= outside < host + count:
            return first + outside - host
    raise OSError(f"{what} {outside} does not exist in this container: its runtime does not map it")


def _open_all(paths: list[str], flags: int) -> list[int]:
    """Those we may join: without root, not all of them."""
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            found.append(os.open(path, flags | os.O_CLOEXEC))
    return found


def _cgroups(pid: int | str) -> dict[str, str]:
    """The cgroup folder of a process for each controller."""
    mounts = _cgroup_mounts()
    folders: dict[str, str] = {}
    for line in _lines(f"/proc/{pid}/cgroup"):
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            if name in mounts:
                root, point = mounts[name]
                relative = path[len(root) :] if root != "/" and path.startswith(root) else path
                folders[name] = f"{point}/{relative.strip('/')}".rstrip("/")
    return folders


def _cgroup_mounts() -> dict[str, tuple[str, str]]:
    """controller -> (mounted root, mount point); cgroup v2 has an empty key."""
    found: dict[str, tuple[str, str]] = {}
    for line in _lines("/proc/self/mountinfo"):
        left, _, right = line.partition(" - ")
        fields = left.split()
        kind, *_, options = right.split()
        if kind == "cgroup2":
            found.setdefault("", (fields[3], fields[4]))
        elif kind == "cgroup":
            for name in options.split(","):
                found.setdefault(name, (fields[3], fields[4]))
    return found


def _has_memory(folder: str) -> bool:
    return any(os.path.exists(f"{folder}/{name}") for name in _OOM_FILES)
