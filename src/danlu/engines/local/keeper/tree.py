"""Ends a task's whole process tree, from its keeper."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from danlu.engines.local.keeper import cgroup

_PATIENCE = 10.0  # seconds; a process in an uninterruptible call may need this long


def signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, number)


def end(namespaces: bool, groups: list[str], spared: int = 0) -> list[tuple[int, int]]:
    """Kill and reap everything below this process; (pid, status) of its children.

    In a pid namespace one call reaches every process. Otherwise orphans become children of the
    keeper (a subreaper), so killing children until none are left reaches all of them, even those
    that left the session or cleared their environment. `spared`: a child that is not the task's.
    """
    ended: list[tuple[int, int]] = []
    limit = time.monotonic() + _PATIENCE
    while time.monotonic() < limit:
        if not namespaces or os.getpid() != 1:  # kill(-1) only in its own namespace
            left = {*_children(), *cgroup.members(groups)} - {spared}
            if spared and not left:
                break
            _kill(left)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        try:
            pid, status = os.waitpid(-1, 0 if namespaces else os.WNOHANG)
        except ChildProcessError:
            break
        if pid:
            ended.append((pid, status))
        else:
            time.sleep(0.002)
    return ended


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _children() -> list[int]:
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        pass
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    if int(file.read().rpartition(b")")[2].split()[1]) == own:
                        found.append(int(name))
            except (OSError, ValueError, IndexError):
                pass
    return found
