"""What each task of a step runs: one command, or a --multi-prog file."""

from __future__ import annotations

import shlex

from danlu.steps.main import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.steps.options import Options


class Programs:
    def __init__(self, options: Options, command: list[str]) -> None:
        self._command = command
        self._lines = _lines(command[0]) if options.has("multi-prog") else None

    def words(self, number: int, local: int) -> list[str]:
        if self._lines is None:
            return self._command
        for who, words in self._lines:
            if who is None or number in who:
                offset = sorted(who).index(number) if who else number
                return [
                    word.replace("%t", str(number)).replace("%o", str(offset)) for word in words
                ]
        raise Trouble(f"{self._command[0]} has no line for task {number}")


def _lines(path: str) -> list[tuple[set[int] | None, list[str]]]:
    found: list[tuple[set[int] | None, list[str]]] = []
    try:
        with open(path) as file:
            text = file.read()
    except OSError as error:
        raise Trouble(f"cannot read {path}: {error.strerror}") from None
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if len(words) < 2:
            continue
        found.append((None if words[0] == "*" else _numbers(words[0], path), words[1:]))
    return found


def _numbers(text: str, path: str) -> set[int]:
    found: set[int] = set()
    try:
        for part in text.split(","):
            low, _, high = part.partition("-")
            found.update(range(int(low), int(high or low) + 1))
    except ValueError:
        raise Trouble(f"{path}: {text!r} has no valid task numbers") from None
    return found
