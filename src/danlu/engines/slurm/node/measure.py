"""What a task uses on its node: its keeper's descendants in /proc, and the node as a whole."""

from __future__ import annotations

import contextlib
import os

from danlu.engines.slurm.node import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OURS = ("danlu-keeper", "danlu-door")
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ASKING = 3.0  # seconds; a driver that hangs must not take the rest along
_SMI = ("--query-gpu=index,utilization.gpu,memory.used,temperature.gpu,power.draw",
        "--format=csv,noheader,nounits")  # fmt: skip
_PATH = "/usr/bin:/usr/local/bin:/usr/local/nvidia/bin:/opt/bin"


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
            if found is None or found[0] in _OURS:
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
            "gpus": _gpus(places.own_gpus()),
        }


def _gpus(own: list[int]) -> list[list[float | None]]:
    """Utilisation (0 to 1), memory, temperature and power of each of these; empty: unknown."""
    program = _find("nvidia-smi") if own else ""
    if not program:
        return []
    import subprocess

    try:
        done = subprocess.run(
            [program, *_SMI],
            capture_output=True,
            timeout=_ASKING,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return read_gpus(done.stdout.decode(errors="replace"), own)


def read_gpus(text: str, own: list[int]) -> list[list[float | None]]:
    rows = [[_figure(cell) for cell in line.split(",")] for line in text.splitlines()]
    rows = [row for row in rows if len(row) == 5 and row[0] is not None]
    if len(rows) != len(own):  # it sees all of the node's, or others than its own
        by_index = {int(row[0] or 0): row for row in rows}
        rows = [by_index[index] for index in own if index in by_index]
    if len(rows) != len(own):
        return []
    return [
        [
            None if used is None else used / 100,
            None if memory is None else memory * (1 << 20),
            heat,
            power,
        ]
        for _, used, memory, heat, power in rows
    ]


def _figure(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:  # [N/A], [Not Supported]
        return None


def _find(name: str) -> str:
    folders = f"{os.environ.get('PATH', '')}:{_PATH}".split(":")
    found = (f"{folder}/{name}" for folder in folders if folder.startswith("/"))
    return next((path for path in found if os.access(path, os.X_OK)), "")


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
