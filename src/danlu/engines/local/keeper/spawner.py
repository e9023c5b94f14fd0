"""The spawner: forks one keeper per task, in about a millisecond.

A small single-threaded process beside the server. The server talks to it over a socket pair; when
that closes the spawner exits, but its keepers live on.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import time

from danlu.engines.local.keeper import cgroup, linux, own_etc, record, sandbox, seccomp, trial
from danlu.engines.local.keeper.birth import Around, Start, begin
from danlu.engines.local.keeper.frames import LENGTH
from danlu.engines.local.keeper.keeper import keep, profile
from danlu.engines.local.keeper.points import Kept
from danlu.engines.local.keeper.reserve import Given, Reserve, offer, wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

LONGEST = 256 << 20  # bytes of a message; a gang of thousands of tasks takes a few MB
_LOCK_PATIENCE = 1.0
_IDLE = 5  # milliseconds without a message before the reserve is refilled
_MOST_TASKS = 1000  # per keeper


class Refusal(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def main(fd: int) -> None:
    os.set_inheritable(fd, False)
    os.setsid()
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    server = socket.socket(fileno=fd)
    hello = _receive(server)
    if hello is None:
        return
    spawner = Spawner(server, json.loads(hello))
    signal.signal(signal.SIGCHLD, spawner.reap)
    gc.collect()
    gc.freeze()
    gc.disable()
    _send(server, spawner.abilities())
    while (body := spawner.next()) is not None:
        _send(server, spawner.answer(body))


class Spawner:
    def __init__(self, server: socket.socket, hello: dict[str, Any]) -> None:
        self._server = server
        self._data = str(hello["data"])
        self._run = f"{self._data}/run"
        resource.setrlimit(resource.RLIMIT_NOFILE, tuple(hello["files"]))
        stage = f"{self._run}/stage"
        os.makedirs(stage, exist_ok=True)
        self._lock_name = str(hello.get("lock", "spawner.lock"))
        self._lock = self._wait_for_predecessor()
        groups, self._groups_why = None, "off by configuration"
        if hello["cgroups"] != "off":
            groups, self._groups_why = cgroup.find(str(hello["tag"]))
            cgroup.remove_spares(list(set(groups.bases.values())) if groups else [])
        self._how, self._how_why = "", "off by configuration"
        if hello["userns"] != "off":
            sandbox.make_run_point()
            self._how, self._how_why = trial.find_namespaces(stage)
        if self._how == "user" and hello["identities"]:
            # Only the server's uid exists in there; separate users are worth more than a sandbox.
            self._how, self._how_why = "", "tasks run as their users, which needs CAP_SYS_ADMIN"
        self._identities = os.geteuid() == 0 and self._how != "user"
        if self._how == "user":
            trial.enter_user_namespace()
        if groups is not None and self._how == "direct":
            groups.limit_devices(list(hello["devices"]))
        self._calls = b""
        if hello["seccomp"] != "off":
            self._calls = seccomp.compile_for(os.uname().machine)
        self._around = Around(
            self._data,
            list(hello["hide"]),
            linux.boot_id(),
            bool(self._how),
            groups,
            Kept(**hello["kept"]),
            list(hello["devices"]),
            self._calls,
        )
        self._links = own_etc.Links(f"{self._run}/etc", in_use=_has_attempts(self._run))
        with contextlib.suppress(OSError):  # no capabilities to drop
            linux.bound_capabilities()
        self._reserve = Reserve(int(hello["reserve"]))
        self._linger = int(hello["linger"] * 1000)

    def _wait_for_predecessor(self) -> int:
        """Waits for a dead server's spawner, which may still be handling a message."""
        fd = os.open(f"{self._run}/{self._lock_name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        limit = time.monotonic() + _LOCK_PATIENCE
        while time.monotonic() < limit:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.01)
        return fd

    def reap(self, *_: object) -> None:
        try:
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                self._reserve.died(pid)
                if self._around.groups is not None:  # it could not remove its own group
                    cgroup.remove(self._around.groups.folders(cgroup.spare(pid)))
        except ChildProcessError:
            pass

    def abilities(self) -> dict[str, Any]:
        groups = self._around.groups
        return {
            "namespaces": self._how,
            "namespaces_why": self._how_why,
            "cgroup": groups.version if groups else 0,
            "controllers": sorted(set(groups.bases) - {"tree"}) if groups else [],
            "bases": sorted(set(groups.bases.values())) if groups else [],
            "cgroup_why": self._groups_why,
            "identities": self._identities,
            "seccomp": bool(self._calls),
        }

    def next(self) -> bytes | None:
        """The next message; refills the reserve while waiting."""
        poll = select.poll()
        poll.register(self._server, select.POLLIN)
        poll.register(self._reserve.mounts, select.POLLPRI)
        poll.register(self._reserve.offers, select.POLLIN)
        reserve = self._reserve
        while True:
            patience = self._linger if reserve.used else None if reserve.full else _IDLE
            ready = dict(poll.poll(patience))
            if reserve.mounts in ready:
                reserve.let_go()  # at once: the kernel reports a change only once
            if reserve.offers.fileno() in ready:
                _send(self._server, {"ended": reserve.take_back()})
            if self._server.fileno() in ready:
                return _receive(self._server)
            if ready:
                continue
            if reserve.used:
                reserve.let_go_used()
            elif not self._make_spare():
                reserve.size = 0  # cannot fork now: do without

    def answer(self, body: bytes) -> dict[str, Any]:
        try:
            result = self._launch(body)
        except Refusal as refusal:
            result = {"error": refusal.kind, "message": str(refusal)}
        except OSError as error:
            result = {"error": "failed", "message": error.strerror or str(error)}
        except Exception as error:  # a malformed message must not stop all launches
            result = {"error": "refused", "message": f"invalid launch: {error!r}"}
        return result

    def _launch(self, body: bytes) -> dict[str, Any]:
        message = json.loads(body)
        self._check_epoch(int(message["epoch"]))
        _check_names(message)
        tasks: list[dict[str, Any]] = message["tasks"]
        folder = f"{self._run}/{message['attempt']}"
        if os.path.exists(folder):
            raise Refusal("exists", folder)
        logs: list[list[int]] = []
        try:
            self._publish(folder, message, logs)
            keepers = self._start_all(folder, tasks, logs, body)
        finally:
            for fds in logs:
                for fd in fds:
                    os.close(fd)
        return {"pids": keepers}

    def _check_epoch(self, epoch: int) -> None:
        path = f"{self._run}/epoch"
        try:
            seen = int(linux.read(path) or 0)
        except FileNotFoundError:
            seen = 0
        if epoch < seen:
            raise Refusal("refused", f"epoch {epoch} is over: the current one is {seen}")
        if epoch > seen:
            with open(f"{path}.new", "w", encoding="ascii") as file:
                file.write(str(epoch))
            os.rename(f"{path}.new", path)

    def _publish(self, folder: str, message: dict[str, Any], logs: list[list[int]]) -> None:
        """Creates the attempt's folder with its contents, then renames it into place."""
        draft = f"{self._run}/.{message['attempt']}.{os.getpid()}"
        os.mkdir(draft, 0o700)
        try:
            record.make(f"{draft}/gang", message["gang"].encode())
            for task in message["tasks"]:
                record.blank(record.new_path(draft, task["index"]))
                logs.append([])
                for path in task["logs"]:
                    logs[-1].append(_open_log(path))
            os.rename(draft, folder)
        except Exception as error:
            record.discard(draft)
            if not isinstance(error, OSError):
                raise
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                raise Refusal("exists", folder) from error
            where = f"{error.strerror or error} in {self._data}"
            raise Refusal("failed", where) from error

    def _start_all(
        self, folder: str, tasks: list[dict[str, Any]], logs: list[list[int]], body: bytes
    ) -> list[tuple[int, int]]:
        """All keepers or none: those of a gang wait until all exist."""
        go, set_go = os.pipe() if len(tasks) > 1 else (-1, -1)
        keepers: list[tuple[int, int]] = []
        try:
            for number, task in enumerate(tasks):
                contained = "container" in task
                wanted = profile(task)
                spare = None
                if not contained:
                    spare = self._reserve.give(wanted, body, number, logs[number], go)
                if spare is not None:
                    keepers.append((spare.pid, spare.start))
                    continue
                pid = self._fork(boxed=not contained)
                if pid == 0:
                    self._be_keeper(folder, task, logs[number], go, set_go)
                keepers.append((pid, linux.start_time(pid)))
                self._reserve.went(*keepers[-1], wanted)
            if go >= 0:
                os.write(set_go, b"g" * len(tasks))
        except OSError as error:
            record.discard(folder)
            raise Refusal("failed", f"cannot start a process: {error.strerror}") from error
        finally:
            for fd in {go, set_go} - {-1}:
                os.close(fd)
        return keepers

    def _fork(self, boxed: bool = True) -> int:
        boxed = boxed and bool(self._around.namespaces)
        if boxed:
            self._around.links = self._links.path()
        pid = linux.clone(trial.BOX) if boxed else os.fork()
        if pid == 0:
            self._server.close()
            os.close(self._lock)
            self._reserve.forget()
        return pid

    def _be_keeper(
        self, folder: str, task: dict[str, Any], logs: list[int], go: int, set_go: int
    ) -> NoReturn:
        try:
            if set_go >= 0:
                os.close(set_go)
            around = self._around
            if "container" in task:  # its runtime sets up namespaces and cgroups
                around = Around(self._data, [], around.boot, False, None, around.kept, [])
            start = begin(around)
            if keep(around, folder, task, logs, go, start):
                attempt = os.path.basename(folder)
                self._keep_on(start, self._next_task(start, attempt, task["index"]))
        finally:
            os._exit(0)

    def _make_spare(self) -> bool:
        ours, theirs = socket.socketpair()
        try:
            pid = self._fork()
        except OSError:
            return False
        if pid == 0:
            ours.close()
            self._be_spare(theirs)
        theirs.close()
        self._reserve.add(pid, linux.start_time(pid), ours)
        return True

    def _be_spare(self, conn: socket.socket) -> NoReturn:
        try:
            start = begin(self._around)
            self._keep_on(start, wait(conn))
        finally:
            os._exit(0)

    def _keep_on(self, start: Start, given: Given | None) -> None:
        """Runs task after task, as long as each leaves nothing behind."""
        while given is not None:
            message = json.loads(given.body)
            task, attempt = message["tasks"][given.task], str(message["attempt"])
            folder = f"{self._run}/{attempt}"
            if start.tasks:
                os.fchdir(start.run)
                folder = attempt
            if not keep(self._around, folder, task, given.logs, given.go, start):
                return
            given = self._next_task(start, attempt, task["index"])

    def _next_task(self, start: Start, attempt: str, index: int) -> Given | None:
        """The next task of an idle keeper, if a similar one comes soon."""
        if start.tasks >= _MOST_TASKS:
            return None
        conn = offer(self._reserve.counter, start.pid, attempt, index)
        return wait(conn) if conn is not None else None


def _has_attempts(run: str) -> bool:
    return any(os.path.exists(f"{entry.path}/gang") for entry in os.scandir(run))


def _check_names(message: dict[str, Any]) -> None:
    """Keeps values used in paths from pointing elsewhere."""
    attempt = message["attempt"]
    if not isinstance(attempt, str) or not attempt or "/" in attempt or attempt[0] == ".":
        raise Refusal("refused", f"invalid attempt id: {attempt!r}")
    for task in message["tasks"]:
        if type(task["index"]) is not int or task["index"] < 0:
            raise Refusal("refused", f"invalid task index: {task['index']!r}")
        if not all(isinstance(path, str) and path.startswith("/") for path in task["logs"]):
            raise Refusal("refused", f"invalid log paths: {task['logs']!r}")


def _open_log(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _receive(server: socket.socket) -> bytes | None:
    """The next message. None: the server is gone, even if messages are still queued: nothing
    waits for them, and the next server takes over their attempts."""
    poll = select.poll()
    poll.register(server, select.POLLIN | select.POLLRDHUP)
    ready = poll.poll()
    if ready[0][1] & (select.POLLRDHUP | select.POLLHUP):
        return None
    head = _exactly(server, LENGTH.size)
    length = LENGTH.unpack(head)[0] if head else 0
    return _exactly(server, length) if head and length <= LONGEST else None


def _exactly(server: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        piece = server.recv(count - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def _send(server: socket.socket, answer: dict[str, Any]) -> None:
    body = json.dumps(answer).encode()
    with contextlib.suppress(OSError):  # the server is gone: the next _receive notices
        server.sendall(LENGTH.pack(len(body)) + body)
