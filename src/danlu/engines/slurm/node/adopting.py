"""Takes over a command that the batch script's shell has started (quick.sh).

This process was that shell, so the command is its child. The door is another child here: were it
the parent, as for other tasks, nobody could tell how the command ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time

from danlu.engines.local.keeper import birth, keeper, linux, record, tree
from danlu.engines.slurm.node import door, notes, places, task
from danlu.engines.slurm.node.keeper import NodeKeeper

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any, NoReturn

_LOCKS = "Max file locks"
_PATIENCE = 10.0  # seconds
_LAST_WORDS = 3.0
_PIPE_SIZE = 1 << 20
_PIPE = 3  # the shell's own end of the command's output, which can be read and written


def take_over(folder: str, command: str, own_folder: str, asked: str) -> NoReturn:
    """`asked`: whether Slurm has sent a signal to end already."""
    code = 125
    values = task.read(folder, 0)
    try:
        os.umask(values["umask"])
        listener = task.open_door(values)
        values["claims"]["at"] = _started_at(folder)
        linux.adopt_orphans()
        around = task.around_of(folder)
        start = birth.begin(around)
        at_door = _serve_at_door(listener, values, int(command))
        task.dress(values, places.meet(folder, values))
        output = os.open(f"{folder}/0.out", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.close(_PIPE)
        logs = [task.open_log(values["logs"][0])]
        mine = Adopter(around, folder, values, logs, start)
        mine.adopted = (int(command), output, own_folder, asked == "1")
        mine.at_door = at_door
        code = mine.keep(code)
        _close_door(at_door)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.killpg(int(command), signal.SIGKILL)
        os.write(task.said(folder, values), f"danlu: {error!r}\n".encode())
    finally:
        with contextlib.suppress(KeyError, OSError):
            record.remove(values["sockets"])
        os._exit(code)


def _started_at(folder: str) -> float | None:
    with open(f"{folder}/claim", encoding="utf-8", errors="replace") as file:
        claim, _ = notes.read(file.read().split("\n")[1:])
    return None if claim is None else claim["at"]


def _serve_at_door(listener: socket.socket, values: dict[str, Any], command: int) -> int:
    parent = os.getpid()
    child = os.fork()
    if child:
        listener.close()
        return child
    try:
        linux.end_with_parent(int(signal.SIGUSR1))
        ChildDoor(listener, parent, values["sockets"], 0, values["token"]).serve(command)
    finally:
        os._exit(0)


def _close_door(door: int) -> None:
    """Those who were inside may read what the task sent them last."""
    with contextlib.suppress(OSError):
        os.kill(door, signal.SIGUSR1)
    limit = time.monotonic() + _LAST_WORDS
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(door, os.WNOHANG)[0] == 0 and time.monotonic() < limit:
            time.sleep(0.005)


def _marked(mark: str) -> list[int]:
    """What lost its parents before we were there to adopt it."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/limits", encoding="ascii") as file:
                    lines = [line for line in file if line.startswith(_LOCKS)]
            except (OSError, ValueError):
                continue
            if any(mark in line.split() for line in lines):
                found.append(int(name))
    return found


class ChildDoor(door.Door):
    """A door that is a child of its keeper, and ends with it."""

    _over = False

    def serve(self, command: int) -> None:
        signal.signal(signal.SIGUSR1, self._end)
        if os.getppid() == self._keeper:
            self.run()
        if os.getppid() == self._keeper:
            return
        # The keeper was killed. Slurm ends what it knows of; this is what we know of.
        with contextlib.suppress(OSError):
            os.killpg(command, signal.SIGKILL)
        with contextlib.suppress(OSError):
            record.remove(self._sockets)

    def _end(self, *_: object) -> None:
        self._over = True

    def _reap(self) -> int | None:
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._callers.discard(pid)
        if os.getppid() != self._keeper:
            return 125
        return 0 if self._over and not self._callers else None


class Adopter(NodeKeeper):
    """A keeper of what already runs."""

    at_door = 0
    adopted = (0, -1, "", False)  # the command, its output, $DANLU_RUN, whether to end it

    def run(self) -> None:
        self._asked = self.adopted[3]
        keeper.Keeper.run(self)

    def _prepare(self) -> None:
        super()._prepare()
        for env in self._task["processes"]:
            env["DANLU_RUN"] = self.adopted[2]

    def _start(self) -> None:
        command, output, _, _ = self.adopted
        self._running.append(command)
        self._sources[output] = self._logs[0]
        with contextlib.suppress(OSError):  # a small pipe is only slower
            fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        self._reap()  # it may have ended before anybody could tell us

    def _end_tree(self, until: list[int] | None = None) -> None:
        for pid, status in tree.end(False, [], self.at_door):
            if until is not None:
                self._note_end(pid, status)
        self._running.clear()
        mark = str(self._task.get("mark", ""))
        limit = time.monotonic() + _PATIENCE
        while mark and (strays := _marked(mark)) and time.monotonic() < limit:
            for pid in strays:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def _tidy_up(self) -> bool:
        path = self.adopted[2]
        if not path.startswith(f"{self._folder}/"):
            with contextlib.suppress(OSError):
                record.remove(path)
        return super()._tidy_up()
