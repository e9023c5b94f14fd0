"""The keeper: one small process per task that outlives the server.

It claims the task, builds its file system view, starts the command, copies its output to the log,
forwards stop orders, and records how it ended. With namespaces it is the first process of the
task's pid namespace, so the whole process tree ends with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import sys
import time

from danlu.engines.local.keeper import (
    cgroup,
    command,
    frames,
    inputs,
    linux,
    own_folder,
    pump,
    record,
    sandbox,
    seccomp,
    terminal,
    tree,
)
from danlu.engines.local.keeper.birth import Around, Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PIPE = 1 << 20
_TERM, _CONT = int(signal.SIGTERM), int(signal.SIGCONT)
_STATUS_TRIES = 600
_PERSON_PATIENCE = 1.0  # seconds
_PEERS_GRACE = 5.0  # seconds for a task's other processes after one has failed


def keep(
    around: Around, folder: str, task: dict[str, Any], logs: list[int], go: int, start: Start
) -> bool:
    """Runs a task to its end. True: nothing is left of it, so the keeper can take another.

    `go`: a pipe that signals that the gang is complete, or -1.
    """
    if go >= 0:
        whole = os.read(go, 1)
        os.close(go)
        if not whole:
            return False
    kind = Keeper
    if "container" in task:
        from danlu.engines.local.container.keeper import ContainerKeeper

        kind = ContainerKeeper
    keeper = kind(around, folder, task, logs, start)
    if not keeper.claim():
        return False
    start.tasks += 1
    _import_no_more()
    try:
        keeper.run()
    except Exception as error:  # otherwise the task would look killed
        keeper.fail(f"its keeper failed: {error!r}")
    # A copied folder shows what was in it when the view was built; the next task wants what is.
    return keeper.clean and not start.view.layered


def _import_no_more() -> None:
    """All modules are loaded by now. Later imports could load the user's files."""
    sys.meta_path.clear()
    sys.path.clear()


def profile(task: dict[str, Any]) -> tuple[object, ...]:
    """What a keeper prepares for a task; its next task may differ in everything else."""
    mounts = [(mount, _identity(mount["source"])) for mount in task["mounts"]]
    limits = (task["shm"], task["memory"], task["cpus"], task["pids"], repr(task["devices"]))
    who = (task["uid"], task["gid"], repr(task["groups"]), task["drop"])
    return (repr(mounts), *limits, *who, task.get("offline", False))


def _left_network(task: dict[str, Any]) -> bool:
    """For a task that needs none, where the machine allows it."""
    if not task.get("offline"):
        return False
    try:
        linux.leave_network()
    except OSError:
        return False
    return True


def _identity(path: str) -> tuple[int, int]:
    """Identifies a folder by inode, so that a recreated one counts as different."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


class Keeper:
    def __init__(
        self, around: Around, folder: str, task: dict[str, Any], logs: list[int], start: Start
    ) -> None:
        self._begun = start
        self._woken = start.woken
        self.clean = False
        self._around = around
        self._view = start.view
        self._folder = folder
        self._task = task
        budget = pump.Budget(task["log_cap"])
        end = b"\r\n" if task["stdin"] == "tty" else b"\n"
        self._logs = [pump.Log(fd, budget, end) for fd in logs]
        self._sources: dict[int, pump.Log] = {}
        self._running: list[int] = []
        self._result: int | None = None
        self._reports: list[int] = []
        self._failure: dict[str, Any] | None = None
        self._deadline: float | None = None
        self._group: cgroup.Group | None = None
        self._record = -1
        self._own_folder = ""  # outside its view, if it has none

    # -- before the command -------------------------------------------------------------------

    def claim(self) -> bool:
        groups = self._around.groups
        values = {
            "pid": self._begun.pid,
            "start": self._begun.since,
            "boot": self._around.boot,
            "uid": self._around.uid,
            "node": self._task["node"],
            "at": time.time(),
            "cgroups": groups.folders(self._name()) if groups else [],
            "namespaces": self._around.namespaces,
            "cpu": sum(os.times()[:4]) if self._begun.tasks else 0,  # used by earlier tasks
            **self._task.get("claims", {}),
        }
        fd = record.claim(self._folder, self._task["index"], values)
        if fd is None:
            return False
        self._record = fd
        return True

    def _name(self) -> str:
        return f"{os.path.basename(self._folder)}.{self._task['index']}"

    def run(self) -> None:
        try:
            self._prepare()
            self._start()
        except Exception as error:
            self.fail(str(error) or type(error).__name__, getattr(error, "zh", ""))
            return
        self._follow_order()
        while self._running and self._failure is None:
            self._turn()
        self._finish()

    def fail(self, detail: str, zh: str = "") -> None:
        self._logs[0].note(f"could not be started: {detail}. 未能启动：{zh or detail}")
        self._end_tree()
        self._write_status({"code": 125, "hint": "launch_failed", "detail": detail})

    def _prepare(self) -> None:
        task = self._task
        self._inputs = inputs.Inputs(task.get("sockets") or self._folder, task)
        if self._around.groups is not None:
            self._group = self._around.groups.make(self._name(), task, self._begun.seat)
        self._limit_processes()
        if self._begun.tasks > 1:
            os.chdir("/")
        elif self._around.namespaces:
            around = self._around
            sandbox.enter(around.stage, self._view, task, around.hide, around.kept, around.links)
            self._begun.offline = _left_network(task)
        else:
            linux.adopt_orphans()
            self._link_volumes()
            self._own_folder = own_folder.make(task)
        if self._begun.offline:
            for env in task["processes"]:
                env["DANLU_OFFLINE"] = "1"
        self._inputs.terminals = self._view.terminals
        linux.hide_memory()
        if self._begun.tasks == 1 and task["drop"] and self._around.calls:
            linux.no_new_privileges()
            seccomp.install(self._around.calls)

    def _limit_processes(self) -> None:
        """Without a pids cgroup: the user's rlimit, shared by all tasks of the user."""
        groups = self._around.groups
        most = int(self._task["pids"])
        if most and self._task["uid"] and (groups is None or "pids" not in groups.bases):
            hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
            limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

    def _link_volumes(self) -> None:
        folder = f"{self._folder}/{self._task['index']}.volumes"
        os.mkdir(folder, 0o700)
        for mount in self._task["mounts"]:
            os.symlink(mount["source"], f"{folder}/{mount['name']}")

    # -- the command --------------------------------------------------------------------------

    def _start(self) -> None:
        task = self._task
        tty = task["stdin"] == "tty"
        theirs = self._open_terminal() if tty else self._open_pipes()
        if tty:
            self._wait_for_person()
        starter = command.Starter(task, self._group)
        for env in task["processes"]:
            try:
                pid, report = starter.start(task["words"], task["run_as"], env, theirs, tty)
            except command.CannotRun as error:
                self._failure = error.values()
                break
            self._running.append(pid)
            if report >= 0:
                self._reports.append(report)
        for fd in set(theirs):
            os.close(fd)

    def _open_pipes(self) -> tuple[int, int, int]:
        if self._task["stdin"] == "pipe":
            stdin, self._inputs.stdin = os.pipe()
            command.hand_over(stdin, self._task)
            os.set_blocking(self._inputs.stdin, False)
        else:
            stdin = os.dup(0)
        writers = [self._open_stream(log) for log in self._logs]
        return (stdin, writers[0], writers[-1])

    def _open_stream(self, log: pump.Log) -> int:
        reader, writer = os.pipe()
        command.hand_over(writer, self._task)
        # The user's pipe memory may be used up; a small pipe is only slower.
        with contextlib.suppress(OSError):
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE)
        os.set_blocking(reader, False)
        self._sources[reader] = log
        return writer

    def _open_terminal(self) -> tuple[int, int, int]:
        master, slave = terminal.open_pair(self._view.terminals)
        command.hand_over(slave, self._task)
        terminal.resize(master, frames.SIZE.pack(24, 80))
        os.set_blocking(master, False)
        self._inputs.stdin = master
        self._sources[master] = self._logs[0]
        return (slave, slave, slave)

    def _wait_for_person(self) -> None:
        """Waits briefly for a client to attach and set the terminal size."""
        limit = time.monotonic() + _PERSON_PATIENCE
        while not self._inputs.sized and (left := limit - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self._woken, select.POLLIN)
            self._inputs.register(poll)
            ready = dict(poll.poll(left * 1000))
            self._inputs.handle(ready, self._sources, self._group)
            if self._woken in ready:
                return  # probably a stop order: handled once the command runs

    # -- while it runs ------------------------------------------------------------------------

    def _turn(self) -> None:
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        for fd in self._sources:
            poll.register(fd, select.POLLIN)
        self._inputs.register(poll)
        timeout = None
        if self._deadline is not None:
            timeout = max(0.0, self._deadline - time.monotonic()) * 1000 + 1
        ready = dict(poll.poll(timeout))
        for fd in [fd for fd in self._sources if ready.get(fd, 0) & ~select.POLLOUT]:
            if not self._sources[fd].pump(fd):
                del self._sources[fd]
                if fd != self._inputs.stdin:
                    os.close(fd)
        self._inputs.handle(ready, self._sources, self._group)
        if self._woken in ready:
            self._wake()
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._end_tree(until=self._running)

    def _wake(self) -> None:
        try:
            signals = os.read(self._woken, 4096)
        except BlockingIOError:
            return
        if _TERM in signals:
            self._follow_order()
        self._reap()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._note_end(pid, status)

    def _note_end(self, pid: int, status: int) -> None:
        if pid not in self._running:
            return
        self._running.remove(pid)
        code = os.waitstatus_to_exitcode(status)
        if self._result in (None, 0):
            self._result = code
        if code and self._running:
            self._ask_to_end(_PEERS_GRACE)

    def _follow_order(self) -> None:
        order = record.read(self._record, record.ORDER)
        if order is not None:
            self._ask_to_end(float(order["grace"]))

    def _ask_to_end(self, grace: float) -> None:
        first = self._deadline is None
        deadline = time.monotonic() + grace
        self._deadline = deadline if first else min(deadline, self._deadline or deadline)
        if first and grace > 0:
            for pid in self._running:
                tree.signal_group(pid, _TERM)
                tree.signal_group(pid, _CONT)

    # -- the end ------------------------------------------------------------------------------

    def _end_tree(self, until: list[int] | None = None) -> None:
        """Kills all processes of the task. `until`: keep their statuses."""
        for pid, status in tree.end(self._around.namespaces, self._folders()):
            if until is not None:
                self._note_end(pid, status)
        self._running.clear()

    def _folders(self) -> list[str]:
        return self._group.folders if self._group else []

    def _finish(self) -> None:
        ooms = self._oom_kills()
        # Before its last processes end, and with them what they hold open.
        no_shm = bool(self._result) and self._view.is_shared_memory_full()
        self._end_tree()
        if self._own_folder:
            own_folder.remove(self._own_folder, self._task)
        for fd, log in self._sources.items():
            os.set_blocking(fd, False)
            _drain(fd, log)
        status = self._status(ooms)
        if no_shm:
            status.setdefault("hint", "shared_memory_full")
        if status.get("detail"):
            self._explain(status)
        for log in self._logs:
            log.close()
        self.clean = self._tidy_up() and not self._failure
        self._write_status(status | {"tidy": self.clean})

    def _oom_kills(self) -> int:
        return self._group.oom_kills() if self._group is not None else 0

    def _tidy_up(self) -> bool:
        """True: no process, file or limit of the task is left."""
        self._inputs.close()
        for fd in {*self._sources, *self._reports, *(log.fd for log in self._logs)}:
            if fd != self._inputs.stdin:
                os.close(fd)
        group = self._group
        if group is not None and group.inside is None:
            group.remove()
            return False
        if not self._view.is_unused():
            return False
        if group is None or group.inside is None:
            return True
        return group.is_light() and group.inside.give_back()

    def _status(self, ooms: int) -> dict[str, Any]:
        code = self._result if self._result is not None else -signal.SIGKILL
        status: dict[str, Any] = {"code": code} if code >= 0 else {"signal": -code}
        for report in self._reports:
            failed = os.read(report, 4096)
            if failed:
                self._failure = self._failure or json.loads(failed)
        if self._failure is not None:
            status = self._failure
        if ooms and code:
            status["hint"] = "out_of_memory"
        status["lost"] = sum(log.lost_total for log in self._logs)
        return status

    def _explain(self, status: dict[str, Any]) -> None:
        self._logs[-1].note(command.sentence(status["hint"], status["detail"]))

    def _write_status(self, status: dict[str, Any]) -> None:
        status["at"] = time.time()
        for _ in range(_STATUS_TRIES):
            try:
                record.write(self._record, record.STATUS, status)
                os.close(self._record)
                return
            except OSError:  # some file systems need free space even to overwrite
                time.sleep(1)
        self.clean = False


def _drain(fd: int, log: pump.Log) -> None:
    """Drains a stream whose writers are gone (or reads what is there)."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while poll.poll(0) and log.pump(fd):
        pass
