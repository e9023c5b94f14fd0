"""The filter of system calls that the runtime gave a container, for what enters it later.

A process that joins a container's namespaces is not confined by its seccomp filter. So the filter
is read from the container's first process and installed in every process that enters.
"""

from __future__ import annotations

import ctypes
import os

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_GET_FILTER = 0x420C
_WALL = 0x40000000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_INSTRUCTION = 8  # bytes
_MOST_FILTERS = 16

_libc = ctypes.CDLL(None, use_errno=True)
_ptrace = _libc.ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def filters_of(pid: int) -> list[bytes]:
    """The filters of a process, oldest first; none where the kernel does not tell."""
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
    """For this process and all it starts. Before it gives up its capabilities, or after it may
    gain none any more."""
    for data in filters:
        room = ctypes.create_string_buffer(data, len(data))
        program = _Program(len(data) // _INSTRUCTION, ctypes.addressof(room))
        if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) < 0:
            raise OSError(ctypes.get_errno(), "the container's seccomp filter cannot be installed")
