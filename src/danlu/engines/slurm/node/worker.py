"""Does what only a job's user may do, as that user, on the server's machine.

Files on the shared folder are written and read here, and jobs submitted: never by root, which may
be nobody there. Requests and answers have a head (JSON) and a body (bytes). The server does not
trust the answers: whoever owns this process could have changed them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import stat
import struct
import sys
import time

from danlu.engines.local.keeper import linux, record
from danlu.engines.slurm.node import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Answer = tuple[dict[str, Any], bytes]

HEAD = struct.Struct("!II")
LARGEST = 64 << 20
FENCED = "fenced"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PIECE = 256 * 1024
_SAID = 2000
_NOTED = 2000
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_IDLE = 600.0  # seconds


class Worker:
    def __init__(self, home: str) -> None:
        self._home = home  # this user's folder on the shared one
        self._run = f"{home}/run"
        self._ops: dict[str, Callable[[dict[str, Any], bytes], Answer]] = {
            "submit": self.submit,
            "write": self.write,
            "records": self.records,
            "order": self.order,
            "fence": self.fence,
            "remove": self.remove,
            "log": self.log,
            "size": self.size,
            "logs": self.logs,
            "attempts": self.attempts,
            "ready": lambda ask, body: ({}, b""),
        }

    def answer(self, ask: dict[str, Any], body: bytes) -> Answer:
        try:
            return self._ops[str(ask["op"])](ask, body)
        except OSError as error:
            return {"error": f"{error.strerror}: {error.filename or self._home}"}, b""

    def begin(self) -> None:
        """Its own folder. In a folder anybody may write to, somebody else may have made it."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._home, 0o700)
        found = os.lstat(self._home)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(1, "not a folder of this user", self._home)
        os.chmod(self._home, 0o700)
        for name in ("run", "logs"):
            os.makedirs(f"{self._home}/{name}", mode=0o700, exist_ok=True)
        with contextlib.suppress(OSError):  # nobody writes to it: shells wait with it (quick.sh)
            os.mkfifo(f"{self._home}/wait", 0o600)

    def _folder(self, ask: dict[str, Any]) -> str:
        name = str(ask["attempt"])
        if not _NAME.fullmatch(name):
            raise OSError(22, "not the name of an attempt", name)
        return f"{self._run}/{name}"

    # -- launching ----------------------------------------------------------------------------

    def write(self, ask: dict[str, Any], body: bytes) -> Answer:
        """The folder of an attempt, whole or not at all. False: there was one."""
        folder = self._folder(ask)
        if os.path.isdir(folder):
            return {"made": False}, b""
        draft = f"{self._run}/.{ask['attempt']}.{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            record.remove(draft)
        os.mkdir(draft, 0o700)
        at = 0
        for name, size in ask["files"]:
            record.make(f"{draft}/{os.path.basename(name)}", body[at : at + size])
            at += size
        for task in range(int(ask["tasks"])):
            record.blank(record.new_path(draft, task))
        if ask.get("quick"):
            self._prepare(draft, ask["quick"])
        try:
            os.rename(draft, folder)
        except OSError:
            record.remove(draft)
            if not os.path.isdir(folder):
                raise
            return {"made": False}, b""
        return {"made": True}, b""

    def _prepare(self, draft: str, quick: dict[str, Any]) -> None:
        """For a task that a shell starts: what it would need other programs for."""
        with contextlib.suppress(OSError):  # a file system without pipes: the keeper starts it
            os.mkfifo(f"{draft}/0.out", 0o600)
        if quick["run"]:
            os.mkdir(f"{draft}/run", 0o700)
        if quick["volumes"] is not None:
            os.mkdir(f"{draft}/0.volumes", 0o700)
            for name, source in quick["volumes"]:
                os.symlink(source, f"{draft}/0.volumes/{name}")
        with contextlib.suppress(FileExistsError):
            os.mkdir(f"{self._home}/logs/{os.path.basename(quick['logs'])}", 0o700)

    def submit(self, ask: dict[str, Any], body: bytes) -> Answer:
        """sbatch, with the script as its input."""
        if ask.get("files") is not None:
            script = body[: ask["script"]]
            made, _ = self.write(ask, body[ask["script"] :])
            if not made["made"] and not ask.get("again"):
                return made, b""
        else:
            script = body
        code, out, err = _run(ask["argv"], ask["env"], script, float(ask["deadline"]))
        return {"made": True, "code": code, "out": out, "err": err}, b""

    def fence(self, ask: dict[str, Any], body: bytes) -> Answer:
        """Takes the claim, unless a batch script has. With `make`, also where no folder is."""
        folder = self._folder(ask)
        if not os.path.isdir(folder):
            if not ask.get("make"):
                return {"claim": "", "gone": True}, b""
            self._make_fenced(folder)
        try:
            record.make(f"{folder}/claim", FENCED.encode())
        except FileExistsError:
            claim, _ = _claim(folder)
            return {"claim": claim or "?"}, b""
        return {"claim": FENCED}, b""

    def _make_fenced(self, folder: str) -> None:
        draft = f"{self._run}/.{os.path.basename(folder)}.fence.{os.getpid()}"
        os.makedirs(draft, mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            record.make(f"{draft}/claim", FENCED.encode())
        try:
            os.rename(draft, folder)
        except OSError:
            record.remove(draft)

    # -- looking ------------------------------------------------------------------------------

    def attempts(self, ask: dict[str, Any], body: bytes) -> Answer:
        names = [entry.name for entry in os.scandir(self._run) if entry.is_dir()]
        return {"attempts": [name for name in names if _NAME.fullmatch(name)]}, b""

    def records(self, ask: dict[str, Any], body: bytes) -> Answer:
        """For each attempt: its claim, and claim and status of each task."""
        found: dict[str, Any] = {}
        for name, count in ask["attempts"].items():
            if not _NAME.fullmatch(name):
                continue
            folder = f"{self._run}/{name}"
            claim, noted = _claim(folder)
            if claim is None:
                found[name] = None if os.path.isdir(folder) else "gone"
                continue
            tasks = [_record(folder, task, noted) for task in range(int(count))]
            found[name] = {"claim": claim, "tasks": tasks, "said": _said(folder, tasks)}
        return {"records": found}, b""

    def order(self, ask: dict[str, Any], body: bytes) -> Answer:
        """Writes a stop order into every task's record; then says where their doors are."""
        folder = self._folder(ask)
        values = {"grace": max(0.0, float(ask["grace"])), "at": time.time()}
        _, noted = _claim(folder)
        doors: list[Any] = []
        for task in range(int(ask["tasks"])):
            for path in (record.claim_path(folder, task), record.new_path(folder, task)):
                try:
                    fd = os.open(path, os.O_WRONLY | _OPEN)
                except OSError:
                    continue
                with contextlib.suppress(OSError):
                    record.write(fd, record.ORDER, values)
                os.close(fd)
            doors.append(_record(folder, task, noted))
        return {"tasks": doors}, b""

    def remove(self, ask: dict[str, Any], body: bytes) -> Answer:
        record.discard(self._folder(ask))
        return {}, b""

    # -- logs ---------------------------------------------------------------------------------

    def _log_path(self, name: str) -> str:
        parts = name.split("/")
        if len(parts) != 2 or any(part in ("", ".", "..") for part in parts):
            raise OSError(22, "not the name of a log", name)
        return f"{self._home}/logs/{name}"

    def log(self, ask: dict[str, Any], body: bytes) -> Answer:
        try:
            fd = os.open(self._log_path(ask["name"]), os.O_RDONLY | _OPEN)
        except FileNotFoundError:
            return {"size": 0}, b""
        try:
            most = min(int(ask["most"]), _PIECE)
            data = os.pread(fd, most, int(ask["offset"])) if most > 0 else b""
            return {"size": os.fstat(fd).st_size}, data
        finally:
            os.close(fd)

    def size(self, ask: dict[str, Any], body: bytes) -> Answer:
        return {"sizes": [self._size_of(name) for name in ask["names"]]}, b""

    def _size_of(self, name: str) -> int:
        try:
            fd = os.open(self._log_path(name), os.O_RDONLY | _OPEN)
        except OSError:
            return 0
        try:
            return os.fstat(fd).st_size
        finally:
            os.close(fd)

    def logs(self, ask: dict[str, Any], body: bytes) -> Answer:
        found = []
        for name in _below(f"{self._home}/logs"):
            seen = os.lstat(f"{self._home}/logs/{name}")
            if stat.S_ISREG(seen.st_mode):
                found.append([name, seen.st_size, seen.st_mtime])
        return {"logs": found}, b""


def _below(folder: str) -> Iterator[str]:
    for outer in sorted(os.listdir(folder)):
        with contextlib.suppress(OSError):
            for inner in sorted(os.listdir(f"{folder}/{outer}")):
                yield f"{outer}/{inner}"


def _claim(folder: str) -> tuple[str | None, list[Any]]:
    """Which job has claimed an attempt, and claim and status of a task that a shell started."""
    text = _text(f"{folder}/claim", _NOTED, as_it_is=True)
    if text is None:
        return None, [None, None]
    first, *lines = text.split("\n")
    return first[:64].strip(), notes.read(lines[:-1])  # whole lines only


def _record(folder: str, task: int, noted: list[Any]) -> list[Any]:
    """The keeper's words, or those of the shell before it."""
    try:
        fd = os.open(record.claim_path(folder, task), os.O_RDONLY | _OPEN)
    except OSError:
        return noted if task == 0 else [None, None]
    try:
        return [record.read(fd, record.CLAIM), record.read(fd, record.STATUS)]
    finally:
        os.close(fd)


def _said(folder: str, tasks: list[list[Any]]) -> str:
    """What was printed before any task claimed itself: why none did."""
    if all(claim is not None for claim, _ in tasks):
        return ""
    parts = [_text(f"{folder}/slurm.out", _SAID) or ""]
    parts += [_text(f"{folder}/{task}.said", _SAID) or "" for task in range(min(8, len(tasks)))]
    return "".join(parts)[:_SAID]


def _text(path: str, most: int, as_it_is: bool = False) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | _OPEN)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        text = os.read(fd, most).decode(errors="replace")
        return text if as_it_is else text.strip()
    except OSError:
        return None
    finally:
        os.close(fd)


def _run(
    argv: list[str], env: dict[str, str], given: bytes, deadline: float
) -> tuple[int | None, str, str]:
    """(status, output, errors); the status is None if it did not end in time."""
    (in_r, in_w), (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe(), os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate((in_r, out_w, err_w))]
    pid = os.posix_spawnp(argv[0], argv, env, file_actions=actions, setsid=True)
    for fd in (in_r, out_w, err_w):
        os.close(fd)
    os.set_blocking(in_w, False)
    heard = {out_r: b"", err_r: b""}
    open_ = {out_r, err_r}
    limit = time.monotonic() + deadline
    while open_:
        poll = select.poll()
        for fd in open_:
            poll.register(fd, select.POLLIN)
        if in_w >= 0:
            poll.register(in_w, select.POLLOUT)
        ready = dict(poll.poll(max(0.0, limit - time.monotonic()) * 1000))
        if not ready:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            _close(in_w, *heard)
            return None, "", heard[err_r].decode(errors="replace")
        if in_w in ready:
            try:
                given = given[os.write(in_w, given) :]
            except OSError:
                given = b""
            if not given:
                os.close(in_w)
                in_w = -1
        for fd in list(open_ & set(ready)):
            data = os.read(fd, 1 << 16)
            heard[fd] = (heard[fd] + data)[: 1 << 16]
            if not data:
                open_.discard(fd)
    _, status = os.waitpid(pid, 0)
    _close(in_w, *heard)
    code = os.waitstatus_to_exitcode(status)
    return code, heard[out_r].decode(errors="replace"), heard[err_r].decode(errors="replace")


def _close(*fds: int) -> None:
    for fd in fds:
        if fd >= 0:
            os.close(fd)


def _receive(conn: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = conn.recv(min(1 << 20, count - len(data)))
        if not piece:
            raise SystemExit(0)
        data += piece
    return bytes(data)


def serve(conn: socket.socket, home: str) -> None:
    worker = Worker(home)
    problem = ""
    try:
        worker.begin()
    except OSError as error:
        problem = f"{error.strerror}: {error.filename or home}"
    while True:
        if not select.select([conn], [], [], _IDLE)[0]:
            return
        head, size = HEAD.unpack(_receive(conn, HEAD.size))
        if head + size > LARGEST:
            return
        ask = json.loads(_receive(conn, head))
        body = _receive(conn, size)
        answer, data = ({"error": problem}, b"") if problem else worker.answer(ask, body)
        text = json.dumps(answer).encode()
        conn.sendall(HEAD.pack(len(text), len(data)) + text + data)


def main() -> None:
    linux.hide_memory()
    linux.set_name(b"danlu-user")
    os.umask(0o077)
    os.chdir("/")
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])


if __name__ == "__main__":
    main()
