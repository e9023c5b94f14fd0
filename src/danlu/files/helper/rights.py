"""Becoming the user, for good."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from dataclasses import dataclass

_SET_DUMPABLE, _SET_NO_NEW_PRIVS = 4, 38
MEMORY = 1 << 30
FILES = 16384


@dataclass(slots=True)
class Me:
    """Who this process is."""

    name: str = ""
    umask: int = 0o077
    shared: bool = False  # all users have the server's uid

    @property
    def bin(self) -> bytes:
        return self.name.encode() if self.shared else str(os.geteuid()).encode()


me = Me()


def become(name: str, uid: int | None, gid: int | None, groups: list[int], umask: int) -> None:
    """None: the server's own uid, since it is not root."""
    if uid is not None:
        if uid == 0 or gid is None or gid == 0:
            raise SystemExit("a helper is never root")
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        _make_sure(uid)
    me.name, me.umask, me.shared = name, umask, uid is None
    os.umask(umask)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Other processes of the user may not look into this one, which sees the machine as it is.
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    _bound(resource.RLIMIT_DATA, MEMORY)
    _bound(resource.RLIMIT_NOFILE, FILES)
    _bound(resource.RLIMIT_CORE, 0)


def _make_sure(uid: int) -> None:
    try:
        os.setuid(0)
    except PermissionError:
        pass
    else:
        raise SystemExit("the helper could become root again")
    if os.getresuid() != (uid, uid, uid):
        raise SystemExit("the helper is not who it should be")


def _bound(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (most, most))
