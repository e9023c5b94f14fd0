"""Sees files with a person's permissions: folders are in their owners' hands, and the server may be
root.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence

from danlu.access.identities import Person

_UNCHANGED = -1
_SETGROUPS = {"x86_64": 116, "aarch64": 159, "riscv64": 159}


@contextlib.contextmanager
def as_person(person: Person) -> Iterator[None]:
    """This thread, and no other, sees files as this person does. Raises PermissionError."""
    if person.uid is None or person.uid == os.geteuid():
        yield
        return
    calls = ctypes.CDLL(None)
    gid = person.uid if person.gid is None else person.gid
    before = os.getgroups()
    # By the system call: the C library's function would change every thread.
    _set_groups(calls, person.identity(None).groups)
    calls.setfsgid(gid)
    calls.setfsuid(person.uid)
    try:
        if (calls.setfsuid(_UNCHANGED), calls.setfsgid(_UNCHANGED)) != (person.uid, gid):
            raise PermissionError(f"cannot act as uid {person.uid}")
        yield
    finally:
        calls.setfsuid(os.geteuid())
        calls.setfsgid(os.getegid())
        _set_groups(calls, before)


def _set_groups(calls: ctypes.CDLL, groups: Sequence[int]) -> None:
    number = _SETGROUPS.get(os.uname().machine)
    if number is None:
        return  # a machine of another kind: the server's own groups stay
    numbers = (ctypes.c_uint32 * len(groups))(*groups)
    words = (ctypes.c_long(number), ctypes.c_long(len(groups)))
    if calls.syscall(*words, numbers) != 0:
        raise PermissionError("cannot take on a person's groups")
