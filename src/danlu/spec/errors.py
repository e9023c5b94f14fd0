"""Errors in a job, worded so that its author can fix them, in both languages.

An invalid value raises `Wrong` where it is read. The caller, which knows the position in the file,
collects them into one `SpecError`, so that all errors are reported at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from danlu.spec.text import Text

Path = tuple[str | int, ...]
LineOf = Callable[[Path], int | None]

MOST_PROBLEMS = 50
"""More than anyone fixes in one go; also bounds the answer to a hostile file."""

NO_VALUE: Final = object()
"""For findings about something missing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One error, before its position in the file is known.

    The message continues after key and value: "gpus: 'two'" + " is not a number of GPUs; ...".
    """

    path: Path
    value: object
    message: Text

    def below(self, path: Path) -> Finding:
        return Finding(path + self.path, self.value, self.message)


class Wrong(ValueError):
    """An invalid value, or several inside one."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("; ".join(sentence(found).en for found in self.findings))


def wrong(value: object, message: Text, path: Path = ()) -> Wrong:
    return Wrong((Finding(path, value, message),))


@dataclass(frozen=True, slots=True)
class Problem:
    """One error as people and programs read it. The message includes key and value."""

    key: str  # roles.worker.gpus; empty: the whole file
    value: str  # shortened and printable
    message: Text
    line: int | None = None
    job: int | None = None  # 1, 2, ... if a file has several jobs

    def text(self, language: str = "en") -> str:
        """The message with its position, for a terminal."""
        chinese = language.startswith("zh")
        places = []
        if self.job is not None:
            places.append(f"第 {self.job} 个任务" if chinese else f"job {self.job}")
        if self.line is not None:
            places.append(f"第 {self.line} 行" if chinese else f"line {self.line}")
        message = self.message.pick(language)
        return f"{', '.join(places)}: {message}" if places else message

    def values(self) -> dict[str, str | int | None]:
        """Plain values, as the HTTP API shows them."""
        return {
            "key": self.key,
            "value": self.value,
            "line": self.line,
            "job": self.job,
            **self.message.values("message"),
        }


class SpecError(Exception):
    """A job file that cannot be accepted, with all its errors."""

    language = ""  # the foreign language it was read as

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problem.text() for problem in self.problems))

    def text(self, language: str = "en") -> str:
        return "\n".join(problem.text(language) for problem in self.problems)


def file_error(message: Text, line: int | None = None, value: object = NO_VALUE) -> SpecError:
    """The file as a whole cannot be read."""
    shown = "" if value is NO_VALUE else shorten(value)
    return SpecError((Problem("", shown, message, line),))


def spec_error(
    findings: Iterable[Finding], line_of: LineOf | None = None, job: int | None = None
) -> SpecError:
    """All findings, in file order."""
    found = list(findings)
    problems = [_problem(each, line_of, job) for each in found[:MOST_PROBLEMS]]
    problems.sort(key=lambda problem: problem.line or 0)
    more = len(found) - MOST_PROBLEMS
    if more > 0:
        problems.append(
            Problem("", "", Text(f"... and {more} more errors", f"……另有 {more} 处错误"), job=job)
        )
    return SpecError(problems)


def _problem(found: Finding, line_of: LineOf | None, job: int | None) -> Problem:
    return Problem(
        key=show_path(found.path),
        value="" if found.value is NO_VALUE else shorten(found.value),
        message=sentence(found),
        line=line_of(found.path) if line_of else None,
        job=job,
    )


def sentence(found: Finding) -> Text:
    subject = f"{show_path(found.path)}: " if found.path else ""
    if found.value is not NO_VALUE:
        subject += f"{shorten(found.value)} "
    return Text(subject, subject) + found.message


def show_path(path: Path) -> str:
    return ".".join(_show_key(part) for part in path)


def _show_key(part: str | int) -> str:
    text = str(part)
    if len(text) <= 64 and text.isascii() and text.replace("-", "_").isidentifier():
        return text
    return text if text.isdigit() and len(text) < 10 else shorten(text)


def shorten(value: object, room: int = 48, depth: int = 2) -> str:
    """Any value on one short printable line."""
    if isinstance(value, str):
        return repr(value) if len(value) <= room else repr(value[: room - 1]) + "…"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Python refuses to print very long integers.
        return (
            str(value)
            if value.bit_length() <= 100
            else f"≈1e{value.bit_length() * 30103 // 100000}"
        )
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping):
        return _shorten_mapping(value, depth)
    if isinstance(value, list | tuple):
        if depth <= 0:
            return "[…]"
        shown = [shorten(item, 16, depth - 1) for item in value[:3]]
        return f"[{', '.join(shown)}{', …' if len(value) > 3 else ''}]"
    return type(value).__name__


def _shorten_mapping(value: Mapping[Any, Any], depth: int) -> str:
    if depth <= 0:
        return "{…}"
    shown: list[str] = []
    for key in value:
        if len(shown) == 3:
            shown.append("…")
            break
        shown.append(f"{_show_key(key)}: {shorten(value[key], 16, depth - 1)}")
    return "{" + ", ".join(shown) + "}"


OTHER_NAMES = {
    "cmd": "command",
    "entrypoint": "command",
    "run": "command",
    "arguments": "args",
    "cpu": "cpus",
    "cwd": "workdir",
    "working_dir": "workdir",
    "working_directory": "workdir",
    "dependencies": "after",
    "depends_on": "after",
    "docker_image": "image",
    "environment": "env",
    "envs": "env",
    "gpu": "gpus",
    "hold": "held",
    "instances": "count",
    "job_name": "name",
    "jobname": "name",
    "max_retries": "retries",
    "mem": "memory",
    "nodes": "count",
    "partition": "queue",
    "port": "ports",
    "ram": "memory",
    "replicas": "count",
    "retry": "retries",
    "retrycount": "retries",
    "readonly": "read_only",
    "ro": "read_only",
    "shared_memory": "shm",
    "shm_size": "shm",
    "task_roles": "roles",
    "tasks": "roles",
    "time": "time_limit",
    "timeout": "time_limit",
    "volumes": "mounts",
    "walltime": "time_limit",
}
"""What other systems call our keys, where spelling alone does not help."""


def unknown_key(key: str, known: Iterable[str], path: Path = ()) -> Finding:
    """An unknown key, with the closest known one."""
    known = list(known)
    meant = nearest(key, known)
    shown = shorten(key)
    every = ", ".join(known)
    if meant:
        message = Text(
            f"unknown key {shown}; did you mean '{meant}'?",
            f"未知的键 {shown}；是否想写 '{meant}'？",
        )
    else:
        message = Text(
            f"unknown key {shown}; known keys: {every}", f"未知的键 {shown}；可用的键：{every}"
        )
    return Finding((*path, key), NO_VALUE, message)


def nearest(key: str, known: Iterable[str]) -> str | None:
    plain = key[:64].strip().lower().replace("-", "_").replace(" ", "_")
    choices = list(known)
    other = OTHER_NAMES.get(plain)
    if plain in choices:
        return plain
    if other in choices:
        return other
    close = difflib.get_close_matches(plain, choices, n=1, cutoff=0.6)
    return close[0] if close else None
