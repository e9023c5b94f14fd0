"""Where the tasks of a gang are: each chooses its ports, and tells the others on the shared folder.

The server wrote all variables with marks in place of hosts and ports; `Where.fill` replaces them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PATIENCE = 600.0  # seconds until all of a gang must have started
_NUMBER = re.compile(r"[0-9]{1,5}")
_MARK = re.compile(r"danlu-(host|name)-(\d+)\.invalid|91(\d{5})(\d{3})")


def host_mark(task: int) -> str:
    return f"danlu-host-{task}.invalid"


def name_mark(task: int) -> str:
    return f"danlu-name-{task}.invalid"


def port_mark(task: int, place: int) -> int:
    """A number that is no port, and that nobody writes by chance."""
    return 9_100_000_000 + task * 1000 + place


class Where:
    """All tasks of a gang, as each told the others."""

    def __init__(self, mine: dict[str, Any], everybody: list[dict[str, Any]]) -> None:
        self.node = str(mine["node"])
        self.claims = {
            "gpus": ",".join(map(str, mine["gpus"])),
            "ports": ",".join(map(str, mine["ports"])),
        }
        self._everybody = everybody

    def fill(self, text: str) -> str:
        return _MARK.sub(self._value, text) if "danlu-" in text or "91" in text else text

    def _value(self, mark: re.Match[str]) -> str:
        if mark[1]:
            one = self._at(int(mark[2]))
            return mark[0] if one is None else str(one["address" if mark[1] == "host" else "node"])
        one = self._at(int(mark[3]))
        place = int(mark[4])
        if one is None or place >= len(one["ports"]):
            return mark[0]
        return str(one["ports"][place])

    def _at(self, task: int) -> dict[str, Any] | None:
        return self._everybody[task] if task < len(self._everybody) else None


def meet(folder: str, task: dict[str, Any]) -> Where:
    mine = {
        "node": os.environ.get("SLURMD_NODENAME") or socket.gethostname(),
        "address": _address(task),
        "gpus": own_gpus(),
        "ports": free_ports(int(task["port_count"]), task["port_range"]),
    }
    count = int(task["gang"])
    if count == 1:
        return Where(mine, [mine])
    _tell(folder, int(task["index"]), mine)
    return Where(mine, _hear(folder, int(task["index"]), count))


def _address(task: dict[str, Any]) -> str:
    """As Slurm knows this node: other nodes reach it there."""
    name = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    return str(task["addresses"].get(name, name))


def own_gpus() -> list[int]:
    """Indexes on the node, also where the task sees its own numbered from 0."""
    given = os.environ.get("SLURM_STEP_GPUS") or os.environ.get("SLURM_JOB_GPUS") or ""
    return gpus_of(os.environ.get("CUDA_VISIBLE_DEVICES", ""), given)


def gpus_of(seen: str, slurms: str) -> list[int]:
    shown, given = _numbers(seen), _numbers(slurms)
    if not given or set(shown) <= set(given):
        return shown
    return [given[place] for place in shown if place < len(given)]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if _NUMBER.fullmatch(word)]


def free_ports(count: int, bounds: list[int]) -> list[int]:
    """Other tasks choose at the same moment: everybody begins somewhere else."""
    found: list[int] = []
    first, last = bounds
    size = last - first + 1
    at = int.from_bytes(os.urandom(4), "big") % size
    for step in range(size):
        if len(found) == count:
            break
        port = first + (at + step) % size
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            found.append(port)
    return found


def _tell(folder: str, index: int, mine: dict[str, Any]) -> None:
    draft = f"{folder}/.{index}.place"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(mine, file)
    os.rename(draft, f"{folder}/{index}.place")


def _hear(folder: str, index: int, count: int) -> list[dict[str, Any]]:
    limit = time.monotonic() + _PATIENCE
    found: dict[int, dict[str, Any]] = {}
    pause = 0.01
    while len(found) < count:
        for other in range(count):
            if other not in found:
                told = _told(folder, other)
                if told is not None:
                    found[other] = told
        if len(found) == count:
            break
        if time.monotonic() > limit:
            missing = sorted(set(range(count)) - set(found))
            raise TimeoutError(f"tasks {missing} did not start within {_PATIENCE:g} s")
        _look_again(folder, index)
        time.sleep(pause)
        pause = min(1.0, pause * 1.5)
    return [found[other] for other in range(count)]


def _told(folder: str, task: int) -> dict[str, Any] | None:
    try:
        with open(f"{folder}/{task}.place", encoding="utf-8") as file:
            values: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return None
    return values


def _look_again(folder: str, index: int) -> None:
    """NFS remembers which files were missing until the folder changes: so it is changed."""
    path = f"{folder}/.{index}.look"
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.unlink(path)
