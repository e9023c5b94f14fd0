"""Applies a container's seccomp filter to processes that enter it later.

A process that joins a container's namespaces is not confined by its seccomp filter. So the filter
is read from the container's first process and installed in every process that enters.
"""

from __future__ import annotations

import ctypes
import os

from danlu.engines.local.keeper import linux

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_GET_FILTER = 0x420C
_WALL = 0x40000000
_INSTRUCTION = 8  # bytes
_MOST_FILTERS = 16

_libc = ctypes.CDLL(None, use_errno=True)
_ptrace = _libc.ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def filters_of(pid: int) -> list[bytes]:
    """The filters of a process, oldest first; empty if the kernel does not expose them."""
    if _ptrace(_SEIZE, pid, None, None) < 0:
        return []
    try:
        if _ptrace(_INTERRUPT, pid, None, None) < 0:
            return []
        os.waitpid(pid, _WALL)
        found: list[bytes] = []
        for index in range(_MOST_FILTERS):
            count = _ptrace(_GET_FILTER, pid, index, None)
            if count <= 0:
                break
            room = ctypes.create_string_buffer(count * _INSTRUCTION)
            if _ptrace(_GET_FILTER, pid, index, ctypes.addressof(room)) != count:
                break
            found.insert(0, room.raw)
        return found
    finally:
        _ptrace(_DETACH, pid, None, None)


def install(filters: list[bytes]) -> None:
    """For this process and its children. Needs CAP_SYS_ADMIN or no_new_privs."""
    for data in filters:
        linux.filter_calls(data, len(data) // _INSTRUCTION)
