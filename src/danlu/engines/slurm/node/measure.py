"""What a task uses on its node: its keeper's descendants in /proc, and the node as a whole."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Meter:
    def __init__(self, keeper: int) -> None:
        self._keeper = keeper

    def read(self) -> dict[str, Any]:
        family = _descendants(self._keeper)
        own = _stat(self._keeper)
        used = 0.0 if own is None else sum(own[3:5])  # of what has ended already
        memory = count = read = written = 0
        for pid in family:
            found = _stat(pid)
            if found is None or found[0] == "danlu-keeper":
                continue
            used += sum(found[1:5])
            memory += _resident(pid)
            count += 1
            io = _io(pid)
            read, written = read + io[0], written + io[1]
        return {
            "cpu": used / _TICK,
            "memory": memory,
            "processes": count,
            "read": read,
            "written": written,
            "node": _node(),
        }


def _stat(pid: int) -> tuple[str, int, int, int, int] | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    head, _, rest = text.rpartition(")")
    cells = rest.split()
    name = head.partition("(")[2]
    return name, int(cells[11]), int(cells[12]), int(cells[13]), int(cells[14])


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    todo = list(children.get(root, ()))
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, ())
    return found


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _io(pid: int) -> tuple[int, int]:
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            values = dict(line.split(": ") for line in file.read().splitlines())
        return int(values["read_bytes"]), int(values["write_bytes"])
    except (OSError, ValueError, KeyError):
        return 0, 0


def _node() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/stat", encoding="ascii") as file:
            cells = [int(cell) for cell in file.readline().split()[1:9]]
        found["cpu"] = (sum(cells) - cells[3] - cells[4]) / _TICK
    with contextlib.suppress(OSError, ValueError, KeyError):
        with open("/proc/meminfo", encoding="ascii") as file:
            values = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
        found["memory"] = values["MemTotal"] - values["MemAvailable"]
    return found
