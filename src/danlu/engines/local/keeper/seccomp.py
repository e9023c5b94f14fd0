"""A seccomp filter for tasks, like those of container runtimes. Built once, by the spawner.

A keeper installs it before its first task. It applies to the keeper too, which by then has done
everything the filter forbids, mounts above all.
"""

from __future__ import annotations

import errno
import struct
import sys

from danlu.engines.local.keeper import linux, syscalls

ARCHITECTURES = {  # machine -> the kernel's name for it, and its other ABIs
    "x86_64": (("x86_64", 0xC000003E), ("i386", 0x40000003)),
    "aarch64": (("aarch64", 0xC00000B7),),
    "riscv64": (("riscv64", 0xC00000F3),),
}
_INSTRUCTION = struct.Struct("=HBBI")
_LOAD, _JUMP, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in seccomp_data
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_DENY, _ABSENT = _FAIL | errno.EPERM, _FAIL | errno.ENOSYS

_NEW_NAMESPACES = 0x7E020080  # CLONE_NEWNS, NEWCGROUP, ... NEWNET, NEWTIME
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0x40000, 0xFFFFFFFF)
_TO_THE_HYPERVISOR = 40  # AF_VSOCK
_JOIN_SESSION_KEYRING = 1
_NOT_THERE = frozenset({"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"})
"""Calls for which programs have a fallback on ENOSYS."""

Program = list[tuple[int, int, int, int]]


def compile_for(machine: str) -> bytes:
    """Empty if the machine's system call numbers are not known here."""
    if machine not in ARCHITECTURES or sys.byteorder != "little":
        return b""
    program: Program = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for name, number in ARCHITECTURES[machine]:
        section = _section(syscalls.NUMBERS[name])
        program += (_EQUAL, 1, 0, number), (_JUMP, 0, 0, len(section)), *section
    program.append((_RETURN, 0, 0, _ABSENT))
    return b"".join(_INSTRUCTION.pack(*each) for each in program)


def _section(numbers: dict[str, int]) -> Program:
    last = syscalls.LAST_KNOWN
    allow: Program = [(_RETURN, 0, 0, _ALLOW)]
    deny: Program = [(_RETURN, 0, 0, _DENY)]
    absent: Program = [(_RETURN, 0, 0, _ABSENT)]
    answers = {n: absent if name in _NOT_THERE else deny for name, n in numbers.items()}
    answers |= {numbers[name]: program for name, program in _CONDITIONS.items()}
    steps: list[tuple[int, Program]] = [(0, allow)]
    for number in range(last + 1):
        answer = answers.get(number, allow)
        if answer is not steps[-1][1]:
            steps.append((number, answer))
    steps.append((last + 1, absent))
    for number in sorted(syscalls.ALSO_KNOWN):
        steps += (number, allow), (number + 1, absent)
    return [(_LOAD, 0, 0, _NUMBER), *_search(steps)]


def _search(steps: list[tuple[int, Program]]) -> Program:
    """Binary search over (first number, action from there on)."""
    if len(steps) == 1:
        return steps[0][1]
    middle = len(steps) // 2
    below, above = _search(steps[:middle]), _search(steps[middle:])
    first = steps[middle][0]
    return [_at_least(first, len(below)), *_long(len(below)), *below, *above]


def _at_least(number: int, jump: int) -> tuple[int, int, int, int]:
    """Jumps `jump` instructions ahead; conditional jumps reach only 255."""
    return (_AT_LEAST, jump, 0, number) if jump < 256 else (_AT_LEAST, 0, 1, number)


def _long(jump: int) -> Program:
    return [] if jump < 256 else [(_JUMP, 0, 0, jump)]


def _argument(index: int, high: bool = False) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index + 4 * high)


_CONDITIONS: dict[str, Program] = {
    "clone": [
        _argument(0),
        (_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        (_RETURN, 0, 0, _DENY),
        (_RETURN, 0, 0, _ALLOW),
    ],
    "socket": [
        _argument(0),
        (_EQUAL, 0, 1, _TO_THE_HYPERVISOR),
        (_RETURN, 0, 0, _DENY),
        (_RETURN, 0, 0, _ALLOW),
    ],
    "personality": [
        _argument(0),
        *(
            (_EQUAL, len(_PERSONALITIES) - index, 0, value)
            for index, value in enumerate(_PERSONALITIES)
        ),
        (_RETURN, 0, 0, _DENY),
        (_RETURN, 0, 0, _ALLOW),
    ],
    # A new, anonymous session keyring (null name), as keepers create for each task.
    "keyctl": [
        _argument(0),
        (_EQUAL, 0, 4, _JOIN_SESSION_KEYRING),
        _argument(1),
        (_EQUAL, 0, 2, 0),
        _argument(1, high=True),
        (_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _DENY),
        (_RETURN, 0, 0, _ALLOW),
    ],
}


def install(program: bytes) -> None:
    """For this process and its children. Needs no_new_privs."""
    linux.filter_calls(program, len(program) // _INSTRUCTION.size)


def decide(program: bytes, architecture: int, number: int, arguments: tuple[int, ...] = ()) -> str:
    """The kernel's decision: `allow`, or the name of an error."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(*arguments, *[0] * 6)[:6])
    at, value = 0, 0
    while True:
        code, yes, no, k = _INSTRUCTION.unpack_from(program, at * _INSTRUCTION.size)
        at += 1
        if code == _RETURN:
            return "allow" if k == _ALLOW else errno.errorcode[k & 0xFFFF]
        if code == _LOAD:
            value = int.from_bytes(data[k : k + 4], "little")
        elif code == _JUMP:
            at += k
        else:
            true = {_EQUAL: value == k, _AT_LEAST: value >= k, _ANY_BIT: bool(value & k)}[code]
            at += yes if true else no
