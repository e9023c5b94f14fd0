"""Accounts of this machine for tests of what only real ones can do: Slurm runs nobody else's jobs.

Each has a name that only this run uses; they go when the test is over, and those of a run that was
killed go with the next one.
"""

from __future__ import annotations

import contextlib
import grp
import itertools
import os
import pwd
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "danlu-test"  # in the comment of an account, with the pid of the run and the group
UIDS = {"UID_MIN": 20000, "UID_MAX": 29999, "GID_MIN": 20000, "GID_MAX": 29999}
_number = itertools.count(1)


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
        _remove_left_behind()
        self.suffix = f"{os.getpid():x}{next(_number)}"
        self.group = f"lab{self.suffix}"
        self._mark = f"{MARK} {os.getpid()} {self.group}"
        self._made: list[str] = []
        _tool("groupadd", *_range("GID"), self.group)
        try:
            self.people: Mapping[str, Account] = {name: self._add(name, folder) for name in people}
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        for name in self._made:
            _tool("userdel", "--force", name)
        self._made.clear()
        with contextlib.suppress(KeyError):
            grp.getgrnam(self.group)
            _tool("groupdel", self.group)

    def _add(self, who: str, folder: Path) -> Account:
        name = f"{who}{self.suffix}"
        home = folder / name
        more = ["--user-group", "--groups", self.group, "--no-create-home", "--shell", "/bin/bash"]
        place = ["--home-dir", str(home), "--comment", self._mark]
        # No subordinate ids: those of three people cover most of what Danlu would give out.
        none = ["--key", "SUB_UID_COUNT=0", "--key", "SUB_GID_COUNT=0"]
        _tool("useradd", *_range("UID"), *_range("GID"), *none, *more, *place, name)
        self._made.append(name)
        found = pwd.getpwnam(name)
        home.mkdir(mode=0o700, parents=True)
        os.chown(home, found.pw_uid, found.pw_gid)
        return Account(name, found.pw_uid, found.pw_gid, home, (grp.getgrnam(self.group).gr_gid,))


def _range(kind: str) -> list[str]:
    pairs = [f"{key}={value}" for key, value in UIDS.items() if key.startswith(kind)]
    return [word for pair in pairs for word in ("--key", pair)]


def _remove_left_behind() -> None:
    for each in pwd.getpwall():
        mark, pid, group = (*each.pw_gecos.split(" "), "", "")[:3]
        if mark == MARK and not Path(f"/proc/{pid}").exists():
            end_all_of({each.pw_uid})
            _tool("userdel", "--force", each.pw_name)
            with contextlib.suppress(KeyError):
                _tool("groupdel", grp.getgrnam(group).gr_name)


def end_all_of(uids: set[int]) -> None:
    """Processes that somebody left behind; nobody else has the uids of a test's accounts."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid in uids:
                os.kill(int(name), signal.SIGKILL)


def _tool(*argv: str) -> None:
    """Another run may be removing the same: what is gone is gone."""
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode not in (0, 6):
        raise RuntimeError(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr}")
