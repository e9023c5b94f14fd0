"""Starts the user's program from the keeper: identity, folder, signals, exec.

Most commands are spawned: the keeper temporarily takes on the command's user, folder and cgroup,
without inheritable privileges, and posix_spawn starts it without copying the keeper's memory. A
command with a terminal or very little memory is forked, and the child does these steps itself;
errors there are reported through a pipe that exec closes. Either way folder and program are looked
up with the user's permissions.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import termios
from collections.abc import Callable

from danlu.engines.local.keeper import cgroup, linux, sftp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_OPEN = 4096
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_RESET = tuple(
    int(number)
    for number in (
        signal.SIGTERM,
        signal.SIGCHLD,
        signal.SIGPIPE,
        signal.SIGXFSZ,
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGQUIT,
    )
)

Exec = Callable[[str, list[str], dict[str, str]], int]
Stdio = tuple[int, int, int]


class CannotRun(Exception):
    def __init__(self, code: int, hint: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.hint = hint
        self.detail = detail

    def values(self) -> dict[str, Any]:
        return {"code": self.code, "hint": self.hint, "detail": self.detail}


_SENTENCES = {
    "command_not_found": ("command not found", "找不到命令"),
    "not_executable": ("cannot be executed", "无法执行"),
    "workdir_missing": ("no such working directory for the task", "任务没有这个工作目录"),
    "launch_failed": ("could not be started", "未能启动"),
    "container_ended": ("ended from outside", "被外部终止"),
}


def sentence(hint: str, detail: str) -> str:
    """Why a command could not run, in both languages: the reader's is not known here."""
    en, zh = _SENTENCES.get(hint, _SENTENCES["launch_failed"])
    return f"{en}: {detail}. {zh}：{detail}"


class Starter:
    """Starts processes of one task."""

    def __init__(self, task: dict[str, Any], group: cgroup.Group | None) -> None:
        # In a container of a Slurm node, the runtime's own command is started and goes inside.
        self._container, self._inside = task.get("in_container"), task["workdir"]
        self._task = (
            task if self._container is None else task | {"workdir": self._container.outside}
        )
        self._group = group
        self._switches = task["uid"] not in (None, os.getuid())
        linux.forget_keys()

    def start(
        self, words: list[str], run_as: str, env: dict[str, str], stdio: Stdio, tty: bool
    ) -> tuple[int, int]:
        """(pid, descriptor with the error if exec fails, or -1). Raises CannotRun."""
        if self._container is not None:
            words, env = self._container.command(words, run_as, env, self._inside, tty)
            run_as = "argv"
        apart = self._group is not None and self._group.apart
        if tty or apart or "container" in self._task:
            return self._fork(words, run_as, env, stdio, tty)
        return self._spawn(words, run_as, env, stdio), -1

    def _spawn(self, words: list[str], run_as: str, env: dict[str, str], stdio: Stdio) -> int:
        actions = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(stdio)]

        def go(path: str, argv: list[str], env: dict[str, str]) -> int:
            return os.posix_spawn(
                path, argv, env, file_actions=actions, setsid=True, setsigdef=_RESET
            )

        os.umask(self._task["umask"])
        if self._task["drop"]:
            # The keeper keeps its capabilities; its children get none.
            if not self._switches:
                linux.root_means_nothing()  # another uid would keep capabilities
            linux.no_new_privileges()
        if self._group is not None:
            self._group.enter()
        try:
            with as_likely_to_be_killed(self._group):
                return self._in_their_place(go, words, run_as, env)
        finally:
            if self._group is not None:
                self._group.leave()

    def _in_their_place(self, go: Exec, words: list[str], run_as: str, env: dict[str, str]) -> int:
        if not self._switches:
            with linux.Powerless():
                return _run(go, self._task["workdir"], words, run_as, env)
        uid, gid = self._task["uid"], self._task["gid"]
        os.setgroups(self._task["groups"])
        os.setresgid(gid, gid, 0)
        # No root privileges from here on. The saved uid is the way back; exec clears it.
        os.setresuid(uid, uid, 0)
        try:
            return _run(go, self._task["workdir"], words, run_as, env)
        finally:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            os.setgroups([])
            linux.hide_memory()

    def _fork(
        self, words: list[str], run_as: str, env: dict[str, str], stdio: Stdio, tty: bool
    ) -> tuple[int, int]:
        report, theirs = os.pipe()
        with as_likely_to_be_killed(self._group):
            pid = os.fork()
        if pid:
            os.close(theirs)
            return pid, report
        try:
            self._become(stdio, tty)
            _run(os.execve, self._task["workdir"], words, run_as, env)
        except CannotRun as error:
            answer = error
        except BaseException as error:
            answer = CannotRun(126, "launch_failed", str(error))
        try:
            os.write(theirs, json.dumps(answer.values()).encode()[:4000])
        finally:
            os._exit(answer.code)

    def serve_files(self, env: dict[str, str], stdio: Stdio) -> int:
        """An SFTP server as the task's user, beginning in their home."""
        with as_likely_to_be_killed(self._group):
            pid = os.fork()
        if pid:
            return pid
        try:
            self._become(stdio, tty=False)
            os.closerange(3, _MOST_OPEN)  # nothing is executed that would close the others
            home = env.get("HOME", "/")
            sftp.Server(0, 1, home if os.path.isdir(home) else "/").run()
        finally:
            os._exit(0)

    def _become(self, stdio: Stdio, tty: bool) -> None:
        signal.set_wakeup_fd(-1)
        for number in _RESET:
            linux.set_handler(number, 0)
        os.setsid()
        if tty:
            fcntl.ioctl(stdio[0], termios.TIOCSCTTY, 0)
        # Two steps: a source may itself be 0, 1 or 2.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in stdio]
        for target, fd in enumerate(high):
            os.dup2(fd, target)
        self.become()

    def become(self) -> None:
        """This process is the task's user from here on, and counted with the task."""
        if self._group is not None:
            self._group.enter()
        os.umask(self._task["umask"])
        if self._task["drop"]:
            linux.bound_capabilities()  # again: joining a container's user namespace restores them
            linux.root_means_nothing()
        if self._switches:
            uid, gid = self._task["uid"], self._task["gid"]
            os.setgroups(self._task["groups"])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        if self._task["drop"]:
            linux.no_new_privileges()
            linux.drop_capabilities()


def as_likely_to_be_killed(
    group: cgroup.Group | None,
) -> contextlib.AbstractContextManager[None]:
    """Children get the normal OOM score; the keeper's own is lower."""
    seat = group.keeper if group is not None else None
    return seat.as_usual() if seat is not None else contextlib.nullcontext()


def hand_over(fd: int, task: dict[str, Any]) -> None:
    """Gives a stream to the user, who can then open it as /dev/stdout or /dev/tty."""
    if task["uid"] not in (None, os.getuid()):
        os.fchown(fd, task["uid"], task["gid"])


def _run(go: Exec, workdir: str, words: list[str], run_as: str, env: dict[str, str]) -> int:
    try:
        os.chdir(workdir)
    except OSError as error:
        what = workdir
        if error.errno == errno.EACCES:
            what = f"{workdir} (uid {os.geteuid()} may not enter it)"
        elif error.errno != errno.ENOENT:
            what = f"{workdir} ({error.strerror})"
        raise CannotRun(126, "workdir_missing", what) from error
    if run_as == "shell":
        shell = _shell(env)
        return go(shell, [shell[shell.rindex("/") + 1 :], "-c", words[0]], env)
    if run_as == "script":
        return _run_script(go, words, env)
    program = words[0]
    path = program if "/" in program else _find(program, env)
    if path is None:
        raise CannotRun(127, "command_not_found", program)
    return _run_file(go, path, words, env)


def _run_script(go: Exec, words: list[str], env: dict[str, str]) -> int:
    path = words[0] if "/" in words[0] else f"./{words[0]}"
    if not os.path.exists(path):
        detail = words[0]
        if os.path.islink(path):
            detail += f" (a link to {os.readlink(path)}, which does not exist)"
        raise CannotRun(127, "command_not_found", detail)
    if os.access(path, os.X_OK) or os.path.isdir(path):
        return _run_file(go, path, words, env)
    return _run_by_shell(go, path, words, env)


def _run_file(go: Exec, path: str, words: list[str], env: dict[str, str]) -> int:
    try:
        return go(path, words, env)
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            return _run_by_shell(go, path, words, env)
        if error.errno == errno.ENOENT and os.path.exists(path):
            detail = f"{words[0]}: the interpreter in its first line (#!) does not exist"
            raise CannotRun(126, "not_executable", detail) from error
        if error.errno == errno.ENOENT:
            raise CannotRun(127, "command_not_found", words[0]) from error
        detail = f"{words[0]}: {'is a folder' if os.path.isdir(path) else error.strerror}"
        raise CannotRun(126, "not_executable", detail) from error


def _run_by_shell(go: Exec, path: str, words: list[str], env: dict[str, str]) -> int:
    shell = _shell(env)
    return go(shell, [shell[shell.rindex("/") + 1 :], path, *words[1:]], env)


def _shell(env: dict[str, str]) -> str:
    shell = _find("bash", env) or "/bin/sh"
    if not os.path.exists(shell):
        what = "/bin/sh (the image has no shell; write the command as a list)"
        raise CannotRun(127, "command_not_found", what)
    return shell


def _find(name: str, env: dict[str, str]) -> str | None:
    for folder in (env.get("PATH") or _DEFAULT_PATH).split(":"):
        path = f"{folder or '.'}/{name}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None
