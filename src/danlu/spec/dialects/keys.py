"""Reads the keys of a foreign mapping: each is consumed once, so leftovers are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from danlu.spec.dialects.draft import Draft
from danlu.spec.errors import (
    MOST_PROBLEMS,
    NO_VALUE,
    Finding,
    Path,
    nearest,
    unknown_key,
    wrong,
)
from danlu.spec.fields import read_flag, read_line, read_text
from danlu.spec.text import Text

T = TypeVar("T")
_FEW = 50


class Keys:
    def __init__(self, draft: Draft, values: Mapping[str, Any], path: Path = ()) -> None:
        self.draft = draft
        self.values = values
        self.path = path
        self.taken: set[str] = set()

    def has(self, key: str) -> bool:
        return self.values.get(key) is not None

    def raw(self, key: str) -> Any:
        self.taken.add(key)
        return self.values.get(key)

    def read(self, key: str, reader: Callable[[Any], T]) -> T | None:
        """None if absent, null or invalid; errors are reported."""
        value = self.raw(key)
        return None if value is None else self.draft.read(reader, value, (*self.path, key))

    def text(self, key: str) -> str | None:
        return self.read(key, read_text)

    def line(self, key: str) -> str | None:
        return self.read(key, read_line)

    def flag(self, key: str) -> bool | None:
        return self.read(key, read_flag)

    def mapping(self, key: str) -> Mapping[str, Any]:
        return self.read(key, as_mapping) or {}

    def items(self, key: str) -> list[Any]:
        return self.read(key, as_list) or []

    def required(self, key: str, message: Text) -> bool:
        """Whether it is present; if not, that is reported."""
        if self.values.get(key) is not None:
            return True
        self.taken.add(key)
        self.draft.missing((*self.path, key), message)
        return False

    def note(self, key: str, message: Text) -> None:
        """Notes a key that has no meaning here, if it is given."""
        value = self.raw(key)
        if value not in (None, "", [], {}):
            self.draft.note((*self.path, key), message)

    def left(self) -> list[str]:
        return [key for key in self.values if key not in self.taken]

    def refuse_rest(self, known: Iterable[str]) -> None:
        names = list(known)
        for key in self.left():
            if len(self.draft.findings) > MOST_PROBLEMS:
                return  # finding the closest of thousands of keys is slow
            found = unknown_key(key, names, self.path)
            if len(names) > _FEW and nearest(key, names) is None:
                # A hundred names would hide the problem.
                message = Text("is not a known key", "是未知的键")
                found = Finding((*self.path, key), NO_VALUE, message)
            self.draft.findings.append(found)

    def note_rest(self) -> None:
        for key in self.left():
            self.draft.note(
                (*self.path, key),
                Text("is not a known key and has no effect", "是未知的键；不起作用"),
            )


def as_mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise wrong(value, Text("is not a mapping of keys to values", "不是键和值的映射"))


def as_list(value: object) -> list[Any]:
    if isinstance(value, list):
        return value
    raise wrong(value, Text("is not a list", "不是列表"))


def as_text_list(value: object) -> list[str]:
    return [read_text(each) for each in as_list(value)]
