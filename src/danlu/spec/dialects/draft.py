"""A native job under construction: its values, notes and errors.

Every native value remembers the foreign key it came from, so that later errors are reported for
that key and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from danlu.spec.complete import Submission, as_request, complete
from danlu.spec.defaults import Defaults
from danlu.spec.errors import (
    NO_VALUE,
    Finding,
    LineOf,
    Path,
    SpecError,
    Wrong,
    show_path,
    spec_error,
)
from danlu.spec.read import RawJob
from danlu.spec.text import Text

T = TypeVar("T")

LONGEST_NAME = 64
MOST_NOTES = 200
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_NOT_IN_ROLES = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Note:
    """A note on what was mapped, or has no effect here."""

    message: Text
    key: str = ""
    line: int | None = None

    def text(self, language: str = "en") -> str:
        if self.line is None:
            return self.message.pick(language)
        place = Text(f"line {self.line}: ", f"第 {self.line} 行：")
        return (place + self.message).pick(language)

    def values(self) -> dict[str, str | int | None]:
        return {"key": self.key, "line": self.line, **self.message.values()}


class Draft:
    """One job of one foreign file."""

    def __init__(self, line_of: LineOf) -> None:
        self.line_of = line_of
        self.values: dict[str, Any] = {}
        self.notes: list[Note] = []
        self.findings: list[Finding] = []
        self._origins: dict[Path, Path] = {}

    # -- notes and errors ---------------------------------------------------------------------

    def note(self, key: Path, message: Text) -> None:
        """The message continues after the key: "portList.0.beginAt: ports are leased ..."."""
        if len(self.notes) >= MOST_NOTES:
            return
        shown = show_path(key)
        line = self.line_of(key) if key else None
        found = Note(message.after(shown) if shown else message, shown, line)
        if found not in self.notes:
            self.notes.append(found)

    def refuse(self, key: Path, value: object, message: Text) -> None:
        self.findings.append(Finding(key, value, message))

    def missing(self, key: Path, message: Text) -> None:
        self.refuse(key, NO_VALUE, Text("is missing; ", "缺少；") + message)

    def read(self, reader: Callable[[Any], T], value: object, key: Path) -> T | None:
        """The parsed value; errors are reported for this key."""
        try:
            return reader(value)
        except Wrong as error:
            self.findings.extend(found.below(key) for found in error.findings)
            return None

    # -- building -----------------------------------------------------------------------------

    def put(self, native: Path, value: Any, key: Path) -> None:
        """Sets a native value; `key` is where it came from."""
        place: Any = self.values
        for part in native[:-1]:
            place = place.setdefault(part, {})
        place[native[-1]] = value
        self._origins[native] = key

    def came_from(self, native: Path, key: Path) -> None:
        self._origins[native] = key

    def get(self, native: Path) -> Any:
        place: Any = self.values
        for part in native:
            place = place.get(part) if isinstance(place, Mapping) else None
        return place

    def name(self, text: str, key: Path) -> None:
        """A job name Danlu allows: shortened or cleaned up, with a note."""
        plain = _NOT_IN_NAMES.sub("-", text.strip()).strip("-." if text[:1] in "-." else "")
        if text.strip()[-1:] != "-":
            plain = plain.rstrip("-")  # replacement of a closing bracket
        plain = plain.lstrip("-.")[:LONGEST_NAME]
        if not re.search("[A-Za-z0-9]", plain):
            self.note(
                key,
                Text(
                    f"{text[:80]!r} contains no characters allowed in a name (letters, digits, "
                    "'_', '.', '-'); the name is derived from the command",
                    f"{text[:80]!r} 中没有可用于名称的字符（字母、数字、'_'、'.'、'-'）；名称取自"
                    "命令",
                ),
            )
            return
        if plain != text:
            self.note(
                key,
                Text(
                    f"the job is named {plain!r} here (letters, digits, '_', '.', '-', up to 64)",
                    f"任务在这里叫 {plain!r}（字母、数字、'_'、'.'、'-'，最多 64 个字符）",
                ),
            )
        self.put(("name",), plain, key)

    def role_name(self, text: str, key: Path) -> str:
        """A role name Danlu allows, with a note if it differs."""
        plain = _NOT_IN_ROLES.sub("_", text)[:32]
        if not plain[:1].isalpha():
            plain = f"r{plain}"[:32]
        if plain != text:
            self.note(
                key,
                Text(
                    f"the role is named {plain!r} here, also in its variables",
                    f"角色在这里叫 {plain!r}，变量名中也是",
                ),
            )
        return plain

    # -- ending -------------------------------------------------------------------------------

    def finish(
        self, values: Mapping[str, Any], offers: Mapping[str, Any], defaults: Defaults
    ) -> Submission:
        """The complete job. Raises `SpecError` in terms of the foreign file."""
        self._apply(values, offers)
        problem: SpecError | None = None
        raw = RawJob(self.values, None, {}, (), "")
        found = list(self.findings)
        if not found:
            try:
                request = as_request(raw, defaults)
                return Submission(complete(request, defaults), request.id)
            except SpecError as error:
                problem = error
        if problem is not None:
            raise self._in_their_words(problem)
        raise spec_error(found, self.line_of)

    def _apply(self, values: Mapping[str, Any], offers: Mapping[str, Any]) -> None:
        roles = self.values.get("roles")
        for key, value in offers.items():
            if key == "workdir" and self._has_image():
                continue  # a container has its own folders
            if key == "env" and isinstance(value, Mapping):
                for place in roles.values() if roles else (self.values,):
                    place["env"] = {**value, **place.get("env", {})}
                continue
            self.values.setdefault(key, value)
        for key, value in values.items():
            if roles and key == "env" and isinstance(value, Mapping):
                for role in roles.values():
                    role["env"] = {**role.get("env", {}), **value}
            elif roles and key in next(iter(roles.values())):
                for role in roles.values():
                    role[key] = value
            elif key == "env" and isinstance(value, Mapping):
                self.values["env"] = {**self.values.get("env", {}), **value}
            else:
                self.values[key] = value

    def _has_image(self) -> bool:
        roles = self.values.get("roles") or {"": self.values}
        return any(role.get("image") for role in roles.values()) or bool(self.values.get("image"))

    def _in_their_words(self, error: SpecError) -> SpecError:
        """Errors of the native job, mapped to the foreign keys they came from."""
        findings = []
        for problem in error.problems:
            path = self._origin(problem.key)
            message = problem.message
            if path is not None and problem.key:
                # The writer does not know the native key.
                message = message.without(f"{problem.key}: ")
            findings.append(Finding(path or (), NO_VALUE, message))
        return spec_error(findings, self.line_of)

    def _origin(self, shown: str) -> Path | None:
        best: tuple[int, Path] | None = None
        for native, key in self._origins.items():
            name = show_path(native)
            inside = shown == name or shown.startswith(f"{name}.")
            if inside and (best is None or len(name) > best[0]):
                best = len(name), key
        return best[1] if best else None
