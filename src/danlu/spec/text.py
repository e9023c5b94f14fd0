"""Messages in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """One message, in English and Chinese."""

    en: str
    zh: str

    def __str__(self) -> str:
        return self.en

    def __bool__(self) -> bool:
        return bool(self.en)

    def __add__(self, other: Text) -> Text:
        return Text(self.en + other.en, self.zh + other.zh)

    def pick(self, language: str) -> str:
        """The text in a language such as `zh_CN.UTF-8`; anything but Chinese gets English."""
        return self.zh if language.lower().startswith("zh") else self.en

    def after(self, subject: str) -> Text:
        """`gpus` + `must be a number` -> `gpus: must be a number`."""
        return Text(f"{subject}: {self.en}", f"{subject}：{self.zh}")

    def without(self, prefix: str) -> Text:
        return Text(self.en.removeprefix(prefix), self.zh.removeprefix(prefix))

    def format(self, facts: Mapping[str, object]) -> Text:
        return Text(self.en.format_map(facts), self.zh.format_map(facts))

    def values(self, name: str = "") -> dict[str, str]:
        """Fields of an API answer: `en` and `zh`, or `name_en` and `name_zh`."""
        prefix = f"{name}_" if name else ""
        return {f"{prefix}en": self.en, f"{prefix}zh": self.zh}


EMPTY = Text("", "")


def counted(count: float, noun: str) -> str:
    """`1 job`, `2 jobs`: a number with its English noun."""
    return f"{count:g} {noun}" if count == 1 else f"{count:g} {noun}s"
