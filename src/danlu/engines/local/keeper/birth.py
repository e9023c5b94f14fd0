"""Setup of a keeper before it gets its task."""

from __future__ import annotations

import contextlib
import os
import signal

from danlu.engines.local.keeper import cgroup, linux, sandbox
from danlu.engines.local.keeper.points import Kept

_CAUGHT = (int(signal.SIGTERM), int(signal.SIGCHLD))
_IGNORED = (int(signal.SIGINT), int(signal.SIGHUP), int(signal.SIGQUIT), int(signal.SIGPIPE))


class Around:
    """What the spawner found out about the machine, shared by all keepers."""

    def __init__(
        self,
        data: str,
        hide: list[str],
        boot: str,
        namespaces: bool,
        groups: cgroup.Groups | None,
        kept: Kept,
        devices: list[str],
        calls: bytes = b"",
    ) -> None:
        self.data = data
        self.run = f"{data}/run"
        self.stage = f"{self.run}/stage"
        self.hide = hide
        self.boot = boot
        self.namespaces = namespaces
        self.groups = groups
        self.devices = devices  # device nodes visible to every task
        self.calls = calls  # seccomp filter for tasks; empty: none
        self.kept = kept  # paths where no user volume may be mounted
        self.links = ""  # the folder of links for an /etc of a task's own
        self.uid = os.getuid()


class Start:
    """The state of a keeper before it gets its task."""

    def __init__(
        self, pid: int, woken: int, run: int, seat: cgroup.Seat | None, view: sandbox.View
    ) -> None:
        self.pid = pid  # in the host's pid namespace; the task's /proc hides it later
        self.since = linux.start_time(pid)
        self.woken = woken  # the wakeup descriptor for signals
        self.run = run  # the folder of all attempts; the task's root hides it later
        self.seat = seat
        self.view = view
        self.tasks = 0  # how many it has run
        self.offline = False  # it has left the network


def begin(around: Around) -> Start:
    """Everything that does not depend on the task."""
    run = os.open(around.run, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    with contextlib.suppress(PermissionError):  # a batch script of Slurm's leads one already
        os.setsid()
    linux.set_name(b"danlu-keeper")
    woken = _catch_signals()
    for fd, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        null = os.open("/dev/null", flags)
        os.dup2(null, fd)
        os.close(null)
    view = sandbox.begin(around.stage, around.devices) if around.namespaces else sandbox.View()
    pid = int(os.readlink("/proc/self"))
    seat = None
    if around.namespaces and around.groups is not None:
        seat = around.groups.sit_down(pid)
    return Start(pid, woken, run, seat, view)


def _catch_signals() -> int:
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    # Handlers do nothing: the byte in the pipe matters. But without a handler the first
    # process of a pid namespace would not receive SIGTERM at all.
    for number in _CAUGHT:
        linux.set_handler(number, _nothing)
    for number in _IGNORED:
        linux.set_handler(number, 1)
    return woken


def _nothing(*_: object) -> None:
    pass
