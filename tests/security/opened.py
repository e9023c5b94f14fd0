"""What a process and its children opened, told by strace."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.parts import need

_CALLS = "open,openat,openat2,creat,pivot_root,setns,execve,clone,clone3,fork,vfork"
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)$")
_BEGUN = re.compile(r"^(\d+) +\w+\(.* <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
_PATH = re.compile(r'^(?:(AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Opened:
    pid: int
    call: str
    folder: str  # AT_FDCWD, or the number of a descriptor
    where: str  # that folder's path
    path: str
    line: str

    @property
    def only_named(self) -> bool:
        return "O_PATH" in self.line

    @property
    def below_a_descriptor(self) -> bool:
        """One name, in a folder that was opened before."""
        return self.folder.isdigit() and "/" not in self.path

    def is_in(self, folder: Path) -> bool:
        """Looked up from a folder of the machine that was opened before."""
        if self.path.startswith("/"):
            return False
        # From inside a view, a folder on another mount is shown from that mount's root.
        mounts = (each for each in folder.parents if each.is_mount())
        shown = {f"{folder}", *(f"/{folder.relative_to(each)}" for each in mounts)}
        return any(self.where.startswith(each) for each in shown)


@contextmanager
def traced(pid: int, log: Path, calls: str = _CALLS) -> Iterator[None]:
    """For as long as it is entered, every such call of a process and its children is noted."""
    strace = need("strace")
    options = ["-f", "-qq", "-y", "-s", "300", "-e", f"trace={calls}", "-o", log]
    process = subprocess.Popen([strace, *options, "-p", str(pid)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    status = Path(f"/proc/{pid}/status")
    while f"TracerPid:\t{process.pid}\n" not in status.read_text():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def calls_of(log: Path) -> Iterator[tuple[int, str]]:
    """The process and the line of each call, in the order in which they returned."""
    begun: dict[str, str] = {}
    for line in log.read_text(errors="replace").splitlines():
        if (match := _BEGUN.match(line)) is not None:
            begun[match[1]] = line.removesuffix(" <unfinished ...>")
        elif (match := _RESUMED.match(line)) is not None:
            yield int(match[1]), begun.pop(match[1], "") + match[2]
        elif (match := _LINE.match(line)) is not None:
            yield int(match[1]), line


def in_views(log: Path, entering: str) -> list[Opened]:
    """What was opened by processes that had entered a task's view (by the call `entering`) and
    had not begun to run the task's own program."""
    inside: set[int] = set()
    found: list[Opened] = []
    for line in log.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        pid, call, rest = int(match[1]), match[2], match[3]
        if call == entering and (call != "setns" or "mnt:" in rest):
            inside.add(pid)
        elif call == "execve":
            inside.discard(pid)
        elif call in ("clone", "fork", "vfork", "clone3") and pid in inside:
            child = re.search(r"= (\d+)", rest)
            if child is not None:
                inside.add(int(child[1]))
        elif pid in inside and (path := _PATH.match(rest)) is not None:
            found.append(Opened(pid, call, path[1] or "AT_FDCWD", path[2] or "", path[3], line))
    return found
