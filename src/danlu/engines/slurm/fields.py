"""Reads the pieces Slurm's commands print: lists of hosts, GPUs, times, states."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

_MOST_HOSTS = 65_536
_UNKNOWN = frozenset({"", "(null)", "N/A", "Unknown", "None", "n/a", "NONE"})
_INDEXES = re.compile(r"\(IDX:([0-9,-]*)\)")
_TYPED = re.compile(r"gpu:([^:(),]+):(\d+)")
_PLAIN = re.compile(r"gpu(?::|=)(\d+)")


def hosts(text: str) -> tuple[str, ...]:
    """`n[1-3,7],login` -> n1, n2, n3, n7, login."""
    found: list[str] = []
    for piece in _split_hosts(text.strip()):
        for name in _expand(piece):
            found.append(name)
            if len(found) >= _MOST_HOSTS:
                return tuple(found)
    return tuple(found)


def _split_hosts(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text[start:] and text[start:] not in _UNKNOWN:
        yield text[start:]


def _expand(piece: str) -> Iterator[str]:
    head, bracket, rest = piece.partition("[")
    if not bracket:
        yield piece
        return
    inside, _, tail = rest.partition("]")
    for part in inside.split(","):
        first, dash, last = part.partition("-")
        if not dash:
            for after in _expand(tail) if tail else ("",):
                yield f"{head}{first}{after}"
        elif first.isdigit() and last.isdigit():
            for number in range(int(first), min(int(last), int(first) + _MOST_HOSTS) + 1):
                for after in _expand(tail) if tail else ("",):
                    yield f"{head}{number:0{len(first)}d}{after}"


def indexes(text: str) -> tuple[int, ...]:
    """`gpu:3090:2(IDX:0,2-3)` -> 0, 2, 3."""
    found: set[int] = set()
    for ranges in _INDEXES.findall(text):
        for part in ranges.split(","):
            first, _, last = part.partition("-")
            if first.isdigit() and (last or first).isdigit():
                found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def gpus(text: str) -> tuple[tuple[str, int], ...]:
    """`gpu:3090:5(S:0-1),gpu:a100:2` -> (3090, 5), (a100, 2)."""
    typed = [(model, int(count)) for model, count in _TYPED.findall(text)]
    if typed:
        return tuple(typed)
    return tuple(("gpu", int(count)) for count in _PLAIN.findall(text))


def gpu_count(text: str) -> int:
    """How many GPUs of a gres or TRES list; `gres/gpu=2,gres/gpu:3090=2` counts them once."""
    plain = re.search(r"gres/gpu=(\d+)", text)
    if plain:
        return int(plain[1])
    typed = re.findall(r"gres/gpu:[^=,]+=(\d+)", text)
    if typed:
        return sum(map(int, typed))
    return sum(count for _, count in gpus(text.replace("gres:", "").replace("gres/", "")))


def moment(text: str) -> float | None:
    """`2026-11-17T08:15:00`, in this machine's time zone as Slurm prints it."""
    if text in _UNKNOWN:
        return None
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except (ValueError, OverflowError):
        return None


def seconds(text: str) -> float | None:
    """`2-03:00:00`, `1:30`, `UNLIMITED`."""
    if text in _UNKNOWN or text.upper() in ("UNLIMITED", "INFINITE", "INVALID", "NOT_SET"):
        return None
    days, dash, clock = text.partition("-")
    if not dash:
        days, clock = "0", text
    try:
        parts = [int(part) for part in clock.split(":")]
        before = int(days) * 86_400
    except ValueError:
        return None
    if dash:
        parts += [0] * (3 - len(parts))
    elif len(parts) == 1:
        parts = [0, parts[0], 0]
    else:
        parts = [0] * (3 - len(parts)) + parts
    return float(before + parts[0] * 3600 + parts[1] * 60 + parts[2])


def time_limit(limit: float) -> str:
    """For --time: whole minutes are all Slurm counts, and never less than asked for."""
    minutes = max(1, -(-int(limit + 0.999) // 60))
    return f"{minutes // 1440}-{minutes % 1440 // 60:02d}:{minutes % 60:02d}:00"


def known(text: str) -> str:
    return "" if text in _UNKNOWN else text
