"""Runs a batch script: provides srun and scontrol, and copies its output to its files."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys

from danlu.steps.patterns import expand
from danlu.steps.rendezvous import folder
from danlu.steps.warning import arm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

SILENCE = 0.3
"""Seconds without output after the script's end before giving up on its open pipes."""


def batch(words: list[str]) -> int:
    files, append, command = _read(words)
    env = _environment()
    if not files:
        os.execvpe(command[0], command, env)  # noqa: S606
    return _pump(command, env, files, append)


def _read(words: list[str]) -> tuple[dict[str, str], bool, list[str]]:
    files: dict[str, str] = {}
    append = False
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            return files, append, words[at:]
        if word == "--shell":
            return files, append, [shutil.which("bash") or "/bin/sh", "-c", words[at]]
        if word == "--script":
            return files, append, _script(words[at:])
        if word == "--append":
            append = True
        else:
            name, _, value = word[2:].partition("=")
            files[name] = expand(value, os.environ)
    return files, append, ["true"]


def _script(words: list[str]) -> list[str]:
    path = words[0] if "/" in words[0] else f"./{words[0]}"
    if os.access(path, os.X_OK):
        return [path, *words[1:]]
    return [shutil.which("bash") or "/bin/sh", path, *words[1:]]


def _environment() -> dict[str, str]:
    tools = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")
    env = dict(os.environ)
    env["PATH"] = f"{tools}:{env.get('PATH', os.defpath)}"
    env["SLURM_TASK_PID"] = str(os.getpid())
    for name in ("srun", "scontrol"):
        # Login shells reset PATH; exported functions survive.
        env[f"BASH_FUNC_{name}%%"] = f'() {{ "{tools}/{name}" "$@"; }}'
    return env


def _pump(command: list[str], env: dict[str, str], files: dict[str, str], append: bool) -> int:
    out = _open(files.get("out"), append)
    err = _open(files["err"], append) if "err" in files else None
    stdin = _input(files.get("in"))
    # One pipe for both streams, to keep their order, unless they go to different files.
    apart = subprocess.PIPE if err is not None else subprocess.STDOUT
    try:
        child = subprocess.Popen(
            command, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=apart
        )
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 126 if isinstance(error, PermissionError) else 127
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        signal.signal(number, lambda got, _: child.send_signal(got))
    arm(True, child.send_signal)
    streams: dict[int, tuple[int, BinaryIO | None]] = {}
    for pipe, fd, file in ((child.stdout, 1, out), (child.stderr, 2, err)):
        if pipe is not None:
            streams[pipe.fileno()] = (fd, file)
    _copy(child, streams)
    code = child.wait()
    shutil.rmtree(folder(), ignore_errors=True)
    if code < 0:
        # Exit like the script did: the platform distinguishes signals from exit codes.
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _copy(child: subprocess.Popen[bytes], streams: dict[int, tuple[int, BinaryIO | None]]) -> None:
    while streams:
        ended = child.poll() is not None
        ready, _, _ = select.select(list(streams), [], [], SILENCE)
        if not ready and ended:
            return  # a leftover process still holds the pipe
        for fd in ready:
            data = os.read(fd, 1 << 16)
            if not data:
                del streams[fd]
                continue
            shown, file = streams[fd]
            _write_all(shown, data)
            if file is not None and not _saved(file, data):
                streams[fd] = (shown, None)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _saved(file: BinaryIO, data: bytes) -> bool:
    try:
        file.write(data)
        file.flush()
    except OSError as error:
        sys.stderr.write(f"cannot write {file.name}: {error.strerror}; the job log is complete\n")
        return False
    return True


def _open(path: str | None, append: bool) -> BinaryIO | None:
    if not path or path in ("none", "/dev/null"):
        return None
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        return open(path, "ab" if append else "wb")
    except OSError as error:
        sys.stderr.write(f"cannot write {path}: {error.strerror}; the job log is complete\n")
        return None


def _input(path: str | None) -> int | None:
    if not path or path == "none":
        return None
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        sys.stderr.write(f"cannot read {path}: {error.strerror}; the script gets no input\n")
        return subprocess.DEVNULL
