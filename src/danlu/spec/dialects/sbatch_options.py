"""Options of sbatch: their names, and how `#SBATCH` lines are parsed."""

from __future__ import annotations

import bisect
import itertools
import re
from dataclasses import dataclass

from danlu.spec.text import Text
from danlu.steps import slurm_options

VALUED = {
    **slurm_options.VALUED,
    **slurm_options.VALUED_OF_JOBS,
    **slurm_options.VALUED_IN_FILES,
}
FLAGS = {**slurm_options.FLAGS, **slurm_options.FLAGS_OF_JOBS, **slurm_options.FLAGS_IN_FILES}
OPTIONAL = frozenset(
    (
        *slurm_options.OPTIONAL,
        *slurm_options.OPTIONAL_OF_JOBS,
        *slurm_options.OPTIONAL_IN_FILES,
    )
)

OTHER_NAMES = {
    "workdir": "chdir",
    "cluster": "clusters",
    "tasks-per-node": "ntasks-per-node",
    "tasks": "ntasks",
    "gpu": "gpus",
    "jobname": "job-name",
    "walltime": "time",
    "cpus": "cpus-per-task",
    "name": "job-name",
    "email": "mail-user",
    "email-user": "mail-user",
    "email-type": "mail-type",
}
"""Older names and common typos."""

LONG = frozenset((*VALUED, *FLAGS, *OPTIONAL))
_IN_ORDER = sorted(LONG)
_SPECIAL = re.compile(r"['\"\\#]")
_SHORT = {short: name for table in (VALUED, FLAGS) for name, short in table.items() if short}


@dataclass(frozen=True, slots=True)
class Given:
    """One option as written in the file."""

    name: str
    value: str
    line: int | None


class Unreadable(ValueError):
    def __init__(self, word: str, message: Text) -> None:
        super().__init__(message.en)
        self.word = word
        self.message = message


def split_words(text: str) -> list[str]:
    """Splits a directive like sbatch: a backslash escapes any character, also in quotes, and an
    unescaped '#' ends the line, also within a word.
    """
    if not _SPECIAL.search(text):
        return text.split()
    words: list[str] = []
    current: list[str] = []
    begun = False  # a word may be empty: ''
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\":
            if at < len(text):
                begun = True
                current.append(text[at])
                at += 1
        elif quote:
            if char == quote:
                quote = ""
            else:
                current.append(char)
        elif char.isspace():
            if begun:
                words.append("".join(current))
                current, begun = [], False
        elif char == "#":
            break
        else:
            begun = True
            if char in "'\"":
                quote = char
            else:
                current.append(char)
    if quote:
        raise Unreadable(text, Text("has an unclosed quote", "引号没有闭合"))
    if begun:
        words.append("".join(current))
    return words


def parse(words: list[str], line: int | None) -> list[Given]:
    """The options of one line or command. Raises `Unreadable`."""
    found: list[Given] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            name = full_name(name)
            if name in OPTIONAL or name in FLAGS:
                found.append(Given(name, value, line))
                continue
            if not equals:
                if at >= len(words):
                    raise Unreadable(word, Text("needs a value", "需要一个值"))
                value = words[at]
                at += 1
            found.append(Given(name, value, line))
        elif word.startswith("-") and len(word) > 1:
            at = _short(word, words, at, line, found)
        else:
            found.append(Given("", word, line))  # sbatch ignores what is not an option
    return found


def _short(word: str, words: list[str], at: int, line: int | None, found: list[Given]) -> int:
    for place, letter in enumerate(word[1:], 2):
        name = _SHORT.get(letter)
        if name is None:
            raise Unreadable(f"-{letter}", Text("is not an option of sbatch", "不是 sbatch 的选项"))
        if name in FLAGS:
            found.append(Given(name, "", line))
            continue
        value = word[place:].removeprefix("=")
        if not value:
            if at >= len(words):
                raise Unreadable(f"-{letter}", Text("needs a value", "需要一个值"))
            value = words[at]
            at += 1
        found.append(Given(name, value, line))
        break
    return at


def full_name(name: str) -> str:
    """A long name, or an unambiguous prefix of one."""
    if name in LONG:
        return name
    name = name.replace("_", "-")  # some older versions used underscores
    if name in LONG:
        return name
    if name in OTHER_NAMES:
        return OTHER_NAMES[name]
    close = _beginning_with(name) if len(name) > 1 else []
    if len(close) == 1:
        return close[0]
    if close:
        listed = ", ".join(f"--{each}" for each in close[:6])
        raise Unreadable(f"--{name}", Text(f"is ambiguous: {listed}", f"可能是：{listed}"))
    raise Unreadable(f"--{name}", Text("is not an option of sbatch", "不是 sbatch 的选项"))


def _beginning_with(start: str) -> list[str]:
    first = bisect.bisect_left(_IN_ORDER, start)
    found = itertools.takewhile(lambda known: known.startswith(start), _IN_ORDER[first:])
    return list(found)
