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
        self.stage = f"{data}/run/stage"
        self.hide = hide
        self.boot = boot
        self.namespaces = namespaces
        self.groups = groups
        self.uid = os.getuid()


class Start:
    """What a keeper has before it knows its task."""

    def __init__(self, woken: int, seat: cgroup.Seat | None) -> None:
        self.woken = woken  # a descriptor that tells of signals
        self.seat = seat


def begin(around: Around, ahead: bool = False) -> Start:
    """What a keeper does before it knows its task. `ahead`: there is time."""
    os.setsid()
    linux.set_name(b"danlu-keeper")
    woken = _catch_signals()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if around.namespaces:
        sandbox.begin(around.stage)
    seat = None
    if ahead and around.namespaces and around.groups is not None:
        seat = around.groups.sit_down(int(os.readlink("/proc/self")))
    return Start(woken, seat)


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
