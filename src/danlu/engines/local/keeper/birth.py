"""A keeper's first steps, before it knows its task."""

from __future__ import annotations

import os
import signal

from danlu.engines.local.keeper import cgroup, linux, sandbox

_CAUGHT = (int(signal.SIGTERM), int(signal.SIGCHLD))
_IGNORED = (int(signal.SIGINT), int(signal.SIGHUP), int(signal.SIGQUIT), int(signal.SIGPIPE))


class Around:
    """What the spawner found out about the machine, once for all keepers."""

    def __init__(
        self,
        data: str,
        hide: list[str],
        boot: str,
        namespaces: bool,
        groups: cgroup.Groups | None,
    ) -> None:
        self.data = data
        self.run = f"{data}/run"
        self.stage = f"{self.run}/stage"
        self.hide = hide
        self.boot = boot
        self.namespaces = namespaces
        self.groups = groups
        self.uid = os.getuid()


class Start:
    """What a keeper has before it knows its task."""

    def __init__(self, pid: int, woken: int, run: int, seat: cgroup.Seat | None) -> None:
        self.pid = pid  # as the host knows it: later the task's own /proc hides it
        self.since = linux.start_time(pid)
        self.woken = woken  # a descriptor that tells of signals
        self.run = run  # the folder of all attempts: later the task's own root hides it
        self.seat = seat
        self.tasks = 0  # how many it has kept


def begin(around: Around) -> Start:
    """What a keeper does before it knows its task."""
    run = os.open(around.run, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    os.setsid()
    linux.set_name(b"danlu-keeper")
    woken = _catch_signals()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if around.namespaces:
        sandbox.begin(around.stage)
    pid = int(os.readlink("/proc/self"))
    seat = None
    if around.namespaces and around.groups is not None:
        seat = around.groups.sit_down(pid)
    return Start(pid, woken, run, seat)


def _catch_signals() -> int:
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    # Handlers do nothing: the byte in the pipe is what counts. Without a handler the first
    # process of a namespace would never get the polite signal.
    for number in _CAUGHT:
        linux.set_handler(number, _nothing)
    for number in _IGNORED:
        linux.set_handler(number, 1)
    return woken


def _nothing(*_: object) -> None:
    pass
