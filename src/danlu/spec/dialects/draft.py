"""A native job in the making: what was understood, what is to be said, what cannot be.

Every native value remembers which key of the foreign file it came from, so that whatever is found
wrong later is told in the writer's own words, with the line.
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

T = TypeVar("T")

LONGEST_NAME = 64
MOST_NOTES = 200
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_NOT_IN_ROLES = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Note:
    """What was mapped to something else, or is not needed here, in both languages."""

    en: str
    zh: str
    key: str = ""
    line: int | None = None

    def text(self, language: str = "en") -> str:
        chinese = language.startswith("zh")
        place = ""
        if self.line is not None:
            place = f"第 {self.line} 行：" if chinese else f"line {self.line}: "
        return place + (self.zh if chinese else self.en)

    def values(self) -> dict[str, str | int | None]:
        return {"key": self.key, "line": self.line, "en": self.en, "zh": self.zh}


class Draft:
    """One job of one foreign file."""

    def __init__(self, line_of: LineOf) -> None:
        self.line_of = line_of
        self.values: dict[str, Any] = {}
        self.notes: list[Note] = []
        self.findings: list[Finding] = []
        self._origins: dict[Path, Path] = {}

    # -- saying -------------------------------------------------------------------------------

    def note(self, key: Path, en: str, zh: str) -> None:
        """The texts go on after the key: "portList.0.beginAt: ports are leased ..."."""
        if len(self.notes) >= MOST_NOTES:
            return
        shown = show_path(key)
        before_en, before_zh = (f"{shown}: ", f"{shown}：") if shown else ("", "")
        line = self.line_of(key) if key else None
        found = Note(before_en + en, before_zh + zh, shown, line)
        if found not in self.notes:
            self.notes.append(found)

    def refuse(self, key: Path, value: object, en: str, zh: str) -> None:
        self.findings.append(Finding(key, value, en, zh))

    def missing(self, key: Path, en: str, zh: str) -> None:
        self.refuse(key, NO_VALUE, f"is missing; {en}", f"缺少；{zh}")

    def read(self, reader: Callable[[Any], T], value: object, key: Path) -> T | None:
        """A reader's value; what it refuses is told of this key."""
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
        """A job's name as Danlu allows it: shortened or cleaned, with a note."""
        plain = _NOT_IN_NAMES.sub("-", text.strip()).strip("-." if text[:1] in "-." else "")
        if text.strip()[-1:] != "-":
            plain = plain.rstrip("-")  # what stands for a bracket at the end
        plain = plain.lstrip("-.")[:LONGEST_NAME]
        if not re.search("[A-Za-z0-9]", plain):
            self.note(
                key,
                f"{text[:80]!r} holds nothing a name here can hold (letters, digits, '_', '.',"
                " '-'); the name is made from the command",
                f"{text[:80]!r} 中没有可用于名称的字符（字母、数字、'_'、'.'、'-'）；名称取自命令",
            )
            return
        if plain != text:
            self.note(
                key,
                f"the job is called {plain!r} here (letters, digits, '_', '.', '-', up to 64)",
                f"任务在这里叫 {plain!r}（字母、数字、'_'、'.'、'-'，最多 64 个字符）",
            )
        self.put(("name",), plain, key)

    def role_name(self, text: str, key: Path) -> str:
        """A role's name as Danlu allows it, with a note where that is another one."""
        plain = _NOT_IN_ROLES.sub("_", text)[:32]
        if not plain[:1].isalpha():
            plain = f"r{plain}"[:32]
        if plain != text:
            self.note(
                key,
                f"the role is called {plain!r} here, in its variables too",
                f"角色在这里叫 {plain!r}，变量名中也是",
            )
        return plain

    # -- ending -------------------------------------------------------------------------------

    def finish(
        self, values: Mapping[str, Any], offers: Mapping[str, Any], defaults: Defaults
    ) -> Submission:
        """The whole job. Raises `SpecError` in the words of the foreign file."""
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
        """A problem of the native job, told of the foreign key it came from."""
        findings = []
        for problem in error.problems:
            path = self._origin(problem.key)
            en, zh = problem.message_en, problem.message_zh
            if path is not None and problem.key:
                # The native key in front is not one the writer knows.
                en = en.removeprefix(f"{problem.key}: ")
                zh = zh.removeprefix(f"{problem.key}: ")
            findings.append(Finding(path or (), NO_VALUE, en, zh))
        return spec_error(findings, self.line_of)

    def _origin(self, shown: str) -> Path | None:
        best: tuple[int, Path] | None = None
        for native, key in self._origins.items():
            name = show_path(native)
            inside = shown == name or shown.startswith(f"{name}.")
            if inside and (best is None or len(name) > best[0]):
                best = len(name), key
        return best[1] if best else None
