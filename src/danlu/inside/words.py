"""Sentences in both languages: the reader's is not known in a task."""

from __future__ import annotations


class Trouble(Exception):
    """Why something cannot be had."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.en = en
        self.zh = zh

    def values(self) -> dict[str, dict[str, str]]:
        return {"error": {"en": self.en, "zh": self.zh}}


def note(en: str, zh: str) -> None:
    """A line in the job's log."""
    print(f"danlu: {en}. {zh}。", flush=True)
