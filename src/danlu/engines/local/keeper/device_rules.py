"""Which devices a task may open, whatever device nodes it finds. Needs root.

cgroup v1 has a controller for this; in cgroup v2 a small BPF program attached to the task's group
decides on every open.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct

from danlu.engines.local.keeper import linux

Rule = tuple[str, int, int | None]  # block or character, major, minor (None: any)

USUAL: tuple[Rule, ...] = (
    *(("c", 1, minor) for minor in (3, 5, 7, 8, 9)),  # null, zero, full, random, urandom
    *(("c", 5, minor) for minor in (0, 2)),  # tty, ptmx
    ("c", 136, None),  # terminals
)
_MOST_NODES = 256
_LOAD_PROGRAM, _ATTACH, _CGROUP_DEVICE, _AT_DEVICES = 5, 8, 15, 6
_KINDS = {"b": 1, "c": 2}
_NUMBERS = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361}
_INSTRUCTION = struct.Struct("<BBhi")


def of(paths: list[str]) -> tuple[Rule, ...]:
    """Rules that allow these device nodes and those in these folders."""
    found: list[Rule] = []
    for path in paths:
        inside = [path]
        if os.path.isdir(path):
            inside = [entry.path for entry in os.scandir(path)][:_MOST_NODES]
        for node in inside:
            with contextlib.suppress(OSError):
                entry = os.stat(node)
                if stat.S_ISCHR(entry.st_mode) or stat.S_ISBLK(entry.st_mode):
                    kind = "c" if stat.S_ISCHR(entry.st_mode) else "b"
                    found.append((kind, os.major(entry.st_rdev), os.minor(entry.st_rdev)))
    return tuple(found)


def line(rule: Rule) -> str:
    """In cgroup v1's format."""
    kind, major, minor = rule
    return f"{kind} {major}:{'*' if minor is None else minor} rw"


def load(rules: tuple[Rule, ...]) -> int:
    """Loads a BPF program for cgroup v2 groups; returns its descriptor."""
    code = assemble(rules)
    room = ctypes.create_string_buffer(code, len(code))
    license_ = ctypes.create_string_buffer(b"GPL")
    return _bpf(
        _LOAD_PROGRAM,
        struct.pack(
            "<IIQQIIQII16s",
            _CGROUP_DEVICE,
            len(code) // _INSTRUCTION.size,
            ctypes.addressof(room),
            ctypes.addressof(license_),
            *(0, 0, 0, 0, 0, b"danlu_devices"),
        ),
    )


def attach(program: int, group: int) -> None:
    """Attaches it to a group, given its folder's descriptor."""
    _bpf(_ATTACH, struct.pack("<IIII", group, program, _AT_DEVICES, 0))


def assemble(rules: tuple[Rule, ...]) -> bytes:
    """Registers: 1 context, 2 device type, 3 major number, 4 minor number."""
    program = [
        (0x61, 0x12, 0, 0),
        (0x61, 0x13, 4, 0),
        (0x61, 0x14, 8, 0),
        (0x54, 0x02, 0, 0xFFFF),
    ]
    for kind, major, minor in rules:
        tests = [(0x02, _KINDS[kind]), (0x03, major)]
        if minor is not None:
            tests.append((0x04, minor))
        for index, (register, value) in enumerate(tests):
            program.append((0x55, register, len(tests) - index + 1, value))  # else the next rule
        program += [(0xB7, 0, 0, 1), (0x95, 0, 0, 0)]
    program += [(0xB7, 0, 0, 0), (0x95, 0, 0, 0)]
    return b"".join(_INSTRUCTION.pack(*each) for each in program)


def _bpf(command: int, attributes: bytes) -> int:
    machine = os.uname().machine
    if machine not in _NUMBERS:
        raise OSError(38, f"bpf is not supported on {machine}")
    room = ctypes.create_string_buffer(attributes, len(attributes))
    return linux.call(_NUMBERS[machine], command, ctypes.addressof(room), len(attributes))
