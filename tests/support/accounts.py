"""Accounts for tests of what only real ones can do: Slurm runs nobody else's jobs.

They are in lists of accounts of our own: this process, and everything it starts, has a mount
namespace in which /etc/passwd and its like are copies. The machine's own lists stay as they are,
so nobody else sees these accounts, and they end with us however we end.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import random
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.parts import missing

UIDS = range(20000, 30000)
LISTS = ("passwd", "group", "subuid", "subgid")
_SUBORDINATE = 65536  # ids that a person's containers can use
_FIRST_SUBORDINATE = 600_000
_CLONE_NEWNS, _MS_BIND, _MS_REC, _MS_SLAVE, _MNT_DETACH = 0x20000, 0x1000, 0x4000, 1 << 19, 2
_libc = ctypes.CDLL(None, use_errno=True)
_own = False


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    uid: int
    gid: int
    home: Path
    groups: tuple[int, ...]  # besides its own

    def demote(self) -> dict[str, object]:
        """Keywords of subprocess.Popen: what runs with them runs as this person."""
        return {"user": self.uid, "group": self.gid, "extra_groups": list(self.groups)}


class Accounts:
    """People (`ann`, `bob`, ...) and one group they all are in; homes below `folder`."""

    def __init__(self, people: Sequence[str], folder: Path) -> None:
        _have_own_lists()
        self._gid = _unused(len(people) + 1)  # of the group; people's numbers follow
        self.suffix = f"{self._gid:x}"
        self._names = [f"{name}{self.suffix}" for name in people]
        self.group = f"lab{self.suffix}"
        self.people: Mapping[str, Account] = {
            who: self._add(name, self._gid + place, folder)
            for place, (who, name) in enumerate(zip(people, self._names, strict=True), 1)
        }
        _append("group", f"{self.group}:x:{self._gid}:{','.join(self._names)}")

    def remove(self) -> None:
        for name in LISTS:
            _remove(name, {*self._names, self.group})

    def _add(self, name: str, uid: int, folder: Path) -> Account:
        home = folder / name
        _append("passwd", f"{name}:x:{uid}:{uid}::{home}:/bin/bash")
        _append("group", f"{name}:x:{uid}:")
        home.mkdir(mode=0o700, parents=True)
        os.chown(home, uid, uid)
        return Account(name, uid, uid, home, (self._gid,))

    def allow_containers(self, who: str) -> None:
        """Subordinate ids, as useradd gives them. Not for everybody: those of three people cover
        most of what Danlu would give out.
        """
        first = _FIRST_SUBORDINATE + (self.people[who].uid - UIDS.start) * _SUBORDINATE
        for name in ("subuid", "subgid"):
            _append(name, f"{self.people[who].name}:{first}:{_SUBORDINATE}")


def _unused(count: int) -> int:
    """The first of so many numbers. Another run on this machine chooses by chance as well."""
    known = {each.pw_uid for each in pwd.getpwall()}
    while True:
        first = random.randrange(UIDS.start, UIDS.stop - count)
        if not known & set(range(first, first + count)):
            return first


def _have_own_lists() -> None:
    global _own
    if _own:
        return
    try:
        _must(_libc.unshare(_CLONE_NEWNS))
        _must(_libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None))
    except OSError as error:
        missing("accounts for tests", f"a mount namespace of our own: {error.strerror}")
    folder = Path(tempfile.mkdtemp(prefix="danlu-accounts-"))
    # In memory: nothing is left of it, and the files stay whole, so that others can be mounted
    # over them again.
    _must(_libc.mount(b"none", bytes(folder), b"tmpfs", 0, b"mode=755"))
    for name in LISTS:
        copy, real = folder / name, Path("/etc") / name
        if real.exists():
            shutil.copy(real, copy)
            _must(_libc.mount(bytes(copy), bytes(real), None, _MS_BIND, None))
    _must(_libc.umount2(bytes(folder), _MNT_DETACH))
    folder.rmdir()
    _own = True


def _must(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _append(name: str, line: str) -> None:
    path = Path("/etc") / name
    if path.exists():
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def _remove(name: str, owners: set[str]) -> None:
    """In place: nothing can be renamed over a mount."""
    path = Path("/etc") / name
    if not path.exists():
        return
    with path.open("r+", encoding="utf-8") as file:
        kept = [line for line in file if line.partition(":")[0] not in owners]
        file.seek(0)
        file.writelines(kept)
        file.truncate()


def end_all_of(uids: set[int]) -> None:
    """Processes that somebody left behind; nobody else has the uids of a test's accounts."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid in uids:
                os.kill(int(name), signal.SIGKILL)
