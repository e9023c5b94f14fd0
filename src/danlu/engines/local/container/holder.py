"""The program that holds a container open while its keeper runs the task's command inside.

An image may be empty, so the program is mounted into the container: a static executable of about
two hundred bytes. It reaps orphans (by ignoring SIGCHLD) and sleeps; when it exits, every process
in the container ends.
"""

from __future__ import annotations

import contextlib
import os
import struct

INSIDE = "/run/danlu-holder"
"""Its path inside containers."""

_IGNORE = struct.pack("<4Q", 1, 0, 0, 0)  # struct sigaction: SIG_IGN, no flags, no mask

_CODE = {
    # mov eax,13; mov edi,17; lea rsi,[rip+0x13]; xor edx,edx; mov r10d,8; syscall
    # again: mov eax,34; syscall; jmp again
    "x86_64": (
        62,
        bytes.fromhex(
            "b80d000000 bf11000000 488d3513000000 31d2 41ba08000000 0f05 b822000000 0f05 ebf7"
        ),
    ),
    # mov x8,134; mov x0,17; adr x1,.+0x2c; mov x2,0; mov x3,8; svc 0
    # again: mov x8,73; mov x0,0; mov x1,0; mov x2,0; mov x3,0; svc 0; b again
    "aarch64": (
        183,
        struct.pack(
            "<13I",
            *(0xD28010C8, 0xD2800220, 0x10000161, 0xD2800002, 0xD2800103, 0xD4000001),
            *(0xD2800928, 0xD2800000, 0xD2800001, 0xD2800002, 0xD2800003, 0xD4000001, 0x17FFFFFA),
        ),
    ),
}


def supported(machine: str) -> bool:
    return machine in _CODE


def program(machine: str) -> bytes:
    """The executable: an ELF header, one segment, the code."""
    kind, code = _CODE[machine]
    body = code + _IGNORE
    base, start = 0x400000, 64 + 56
    ident = b"\x7fELF" + bytes((2, 1, 1, 0)) + bytes(8)
    header = struct.pack("<HHIQQQIHHHHHH", 2, kind, 1, base + start, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = start + len(body)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x10000)
    return ident + header + segment + body


def put(path: str, machine: str) -> None:
    """Writes it to be mounted into containers, unless it exists already."""
    data = program(machine)
    with contextlib.suppress(OSError), open(path, "rb") as file:
        if file.read() == data and os.access(path, os.X_OK):
            return
    draft = f"{path}.{os.getpid()}"
    with open(draft, "wb") as file:
        file.write(data)
    os.chmod(draft, 0o755)  # noqa: S103 - any user's container runs it
    os.rename(draft, path)
