"""Where the output of a step's tasks goes: to srun's own streams, with labels, or to files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from danlu.steps.patterns import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    from danlu.steps.options import Options

_lock = threading.Lock()


class Sink:
    """One stream of one task."""

    def __init__(
        self, fd: int, label: bytes = b"", direct: bool = False, lines: bool = False
    ) -> None:
        self._fd = fd
        self._label = label
        self._direct = direct
        self._lines = lines or bool(label)
        self._rest = b""

    def popen(self) -> Any:
        """The stream a child on this node is started with."""
        return self._fd if self._direct else subprocess.PIPE

    def drain(self, pipe: IO[bytes]) -> None:
        while True:
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                break
            self.write(data)
        self.flush()

    def write(self, data: bytes) -> None:
        if not self._lines:
            self._put(data)
            return
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        self._put(b"".join(self._label + line + b"\n" for line in lines))

    def flush(self) -> None:
        if self._rest:
            self._put(self._label + self._rest + (b"\n" if self._label else b""))
            self._rest = b""

    def _put(self, data: bytes) -> None:
        with _lock:
            while data:
                data = data[os.write(self._fd, data) :]


class Sinks:
    def __init__(self, options: Options, tasks: int, env: dict[str, str]) -> None:
        self._options = options
        self._env = env
        self._width = len(str(max(0, tasks - 1)))
        # Lines of several tasks stay whole, as Slurm keeps them, unless -u asks otherwise.
        self._lines = tasks > 1 and not options.has("unbuffered")
        self._files: dict[str, int] = {}
        self._sinks: dict[int, tuple[Sink, Sink]] = {}

    def of(self, number: int) -> tuple[Sink, Sink]:
        found = self._sinks.get(number)
        if found is None:
            label = b""
            if self._options.has("label"):
                label = f"{str(number).rjust(self._width)}: ".encode()
            out = self._file("output", number)
            err = self._file("error", number)
            if err is None:
                err = out
            found = self._sink(1, out, label), self._sink(2, err, label)
            self._sinks[number] = found
        return found

    def _sink(self, fd: int, file: int | None, label: bytes) -> Sink:
        if file is not None:
            return Sink(file, lines=self._lines)
        return Sink(fd, label, direct=not label and not self._lines, lines=self._lines)

    def _file(self, option: str, number: int) -> int | None:
        pattern = self._options.get(option)
        if pattern is None or pattern == "all":
            return None
        path = os.devnull if pattern == "none" else expand(pattern, self._env, number, "0")
        if path not in self._files:
            append = (self._options.get("open-mode") or "truncate").startswith("a")
            mode = os.O_APPEND if append else os.O_TRUNC
            try:
                self._files[path] = os.open(path, os.O_WRONLY | os.O_CREAT | mode, 0o644)
            except OSError as error:
                sys.stderr.write(f"srun: error: cannot write {path}: {error.strerror}\n")
                self._files[path] = 1
        return self._files[path]

    def close(self) -> None:
        for pair in self._sinks.values():
            for sink in pair:
                sink.flush()
