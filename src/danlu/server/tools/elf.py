"""What a program or library needs from others, read from its ELF headers."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29


@dataclass(frozen=True, slots=True)
class Elf:
    needed: tuple[str, ...]
    interpreter: str
    rpath: str


def read_elf(path: Path) -> Elf | None:
    """None: not a 64-bit little-endian ELF file."""
    try:
        with path.open("rb") as file:
            if file.read(6) != b"\x7fELF\x02\x01":
                return None
            file.seek(0)
            data = file.read()
        return _parse(data)
    except (OSError, struct.error, IndexError, ValueError):
        return None


def _parse(data: bytes) -> Elf:
    (offset,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, offset + size * n) for n in range(count)]
    loads = [(s[3], s[2], s[5]) for s in segments if s[0] == _LOAD]
    interpreter = ""
    entries: list[tuple[int, int]] = []
    for kind, _, start, _, _, length in segments:
        if kind == _INTERPRETER:
            interpreter = data[start : start + length].rstrip(b"\0").decode()
        elif kind == _DYNAMIC:
            entries = list(struct.iter_unpack("<QQ", data[start : start + length // 16 * 16]))
    strings = next((value for tag, value in entries if tag == _STRINGS), 0)
    base = next((at - va + strings for va, at, n in loads if va <= strings < va + n), 0)

    def text(value: int) -> str:
        return data[base + value : data.index(b"\0", base + value)].decode()

    return Elf(
        tuple(text(value) for tag, value in entries if tag == _NEEDED),
        interpreter,
        ":".join(text(value) for tag, value in entries if tag in (_RPATH, _RUNPATH)),
    )
