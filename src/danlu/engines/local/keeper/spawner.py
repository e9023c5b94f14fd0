"""The spawner: forks one keeper per task, in about a millisecond.

A small process with one thread beside the server. The server talks to it over a socket pair; the
end of that socket is the end of the spawner, but not of its keepers.
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
import struct
import time
from typing import Any

from danlu.engines.local.keeper import cgroup, linux, record, trial
from danlu.engines.local.keeper.keeper import Around, keep

LENGTH = struct.Struct("!I")
_LOCK_PATIENCE = 1.0


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
    spawner = Spawner(server, hello)
    signal.signal(signal.SIGCHLD, _reap)
    gc.collect()
    gc.freeze()
    gc.disable()
    _send(server, spawner.abilities())
    while (message := _receive(server)) is not None:
        _send(server, spawner.answer(message))


class Spawner:
    def __init__(self, server: socket.socket, hello: dict[str, Any]) -> None:
        self._server = server
        self._data = str(hello["data"])
        self._run = f"{self._data}/run"
        resource.setrlimit(resource.RLIMIT_NOFILE, tuple(hello["files"]))
        stage = f"{self._run}/stage"
        os.makedirs(stage, exist_ok=True)
        self._lock = self._wait_for_predecessor()
        groups, self._groups_why = None, "off by configuration"
        if hello["cgroups"] != "off":
            groups, self._groups_why = cgroup.find(str(hello["tag"]))
        self._how, self._how_why = "", "off by configuration"
        if hello["userns"] != "off":
            self._how, self._how_why = trial.find_namespaces(stage)
        self._identities = os.geteuid() == 0 and self._how != "user"
        if self._how == "user":
            trial.enter_user_namespace()
        self._around = Around(self._data, linux.boot_id(), bool(self._how), groups)

    def _wait_for_predecessor(self) -> int:
        """A spawner of a server that died may still be on its last message."""
        fd = os.open(f"{self._run}/spawner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        limit = time.monotonic() + _LOCK_PATIENCE
        while time.monotonic() < limit:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.01)
        return fd

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
        }

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            result = self._launch(message)
        except Refusal as refusal:
            result = {"error": refusal.kind, "message": str(refusal)}
        except OSError as error:
            result = {"error": "failed", "message": error.strerror or str(error)}
        return result

    def _launch(self, message: dict[str, Any]) -> dict[str, Any]:
        self._check_epoch(int(message["epoch"]))
        tasks: list[dict[str, Any]] = message["tasks"]
        folder = f"{self._run}/{message['attempt']}"
        if os.path.exists(folder):
            raise Refusal("exists", folder)
        logs: list[list[int]] = []
        try:
            self._publish(folder, message, logs)
            pids = self._fork_all(folder, tasks, logs)
        finally:
            for fds in logs:
                for fd in fds:
                    os.close(fd)
        return {"pids": [[pid, linux.start_time(pid)] for pid in pids]}

    def _check_epoch(self, epoch: int) -> None:
        path = f"{self._run}/epoch"
        try:
            seen = int(linux.read(path) or 0)
        except FileNotFoundError:
            seen = 0
        if epoch < seen:
            raise Refusal("refused", f"epoch {epoch} is over: {seen} leads now")
        if epoch > seen:
            with open(f"{path}.new", "w", encoding="ascii") as file:
                file.write(str(epoch))
            os.rename(f"{path}.new", path)

    def _publish(self, folder: str, message: dict[str, Any], logs: list[list[int]]) -> None:
        """Make the attempt's folder with all it needs, then give it its name in one step."""
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
        except OSError as error:
            record.discard(draft)
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                raise Refusal("exists", folder) from error
            where = f"{error.strerror or error} in {self._data}"
            raise Refusal("failed", where) from error

    def _fork_all(
        self, folder: str, tasks: list[dict[str, Any]], logs: list[list[int]]
    ) -> list[int]:
        """All keepers or none: those of a gang wait until every one of them exists."""
        go, set_go = os.pipe() if len(tasks) > 1 else (-1, -1)
        pids: list[int] = []
        try:
            for task, fds in zip(tasks, logs, strict=True):
                pids.append(self._fork(folder, task, fds, go, set_go))
            if go >= 0:
                os.write(set_go, b"g" * len(tasks))
        except OSError as error:
            record.discard(folder)
            raise Refusal("failed", f"no new process: {error.strerror}") from error
        finally:
            for fd in {go, set_go} - {-1}:
                os.close(fd)
        return pids

    def _fork(
        self, folder: str, task: dict[str, Any], logs: list[int], go: int, set_go: int
    ) -> int:
        pid = linux.clone(trial.BOX) if self._around.namespaces else os.fork()
        if pid:
            return pid
        try:
            self._server.close()
            os.close(self._lock)
            if set_go >= 0:
                os.close(set_go)
            keep(self._around, folder, task, logs, go)
        finally:
            os._exit(0)


def _open_log(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _reap(*_: object) -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _receive(server: socket.socket) -> dict[str, Any] | None:
    """The next message. None: the server is gone, also when messages of it are still queued:
    nobody waits for them, and the next server takes their attempts over."""
    poll = select.poll()
    poll.register(server, select.POLLIN | select.POLLRDHUP)
    ready = poll.poll()
    if ready[0][1] & (select.POLLRDHUP | select.POLLHUP):
        return None
    head = _exactly(server, LENGTH.size)
    body = head and _exactly(server, LENGTH.unpack(head)[0])
    if not body:
        return None
    message: dict[str, Any] = json.loads(body)
    return message


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
    with contextlib.suppress(OSError):  # the server is gone: the next _receive says so
        server.sendall(LENGTH.pack(len(body)) + body)
