"""Changes to job files such as people, editors and broken disks make."""

from __future__ import annotations

import random
import re

NASTY = (
    *(
        "",
        " ",
        "0",
        "-1",
        "1e999",
        "99999999999999999999",
        "0x10",
        "1.5",
        "NaN",
        "null",
        "~",
        "true",
    ),
    *("[]", "{}", "[[[[[[", "{{{{{{", "]", "}", ":", "- ", "#", "'", '"', "\\", "\t", "\r", "\x00"),
    *(
        "%",
        "<% $parameters.",
        "<% $secrets.x %>",
        "$(rm -rf /)",
        "../..",
        "/etc/passwd",
        "a" * 5000,
    ),
    *(
        "中文",
        "😀",
        "\ufeff",
        "\u2028",
        "&a *a",
        "*a",
        "&a [*a, *a]",
        "<<: *x",
        "!!python/object:os",
    ),
    *("--", "=", "==", ",", ";", "|", ">", "?", "@", "`", "\x1b[31m", "\ud7ff", "1" * 400),
)
_WORD = re.compile(r"[A-Za-z0-9_.$%-]+")


def mutate(text: str, others: list[str], dice: random.Random) -> str:
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        text = dice.choice(_CHANGES)(text, others, dice)
    return text[:200_000]


def _lines(text: str, change: object, dice: random.Random) -> str:
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    change(lines, at)  # type: ignore[operator]
    return "\n".join(lines)


def _drop_line(text: str, others: list[str], dice: random.Random) -> str:
    return _lines(text, lambda lines, at: lines.pop(at), dice)


def _double_line(text: str, others: list[str], dice: random.Random) -> str:
    return _lines(text, lambda lines, at: lines.insert(at, lines[at]), dice)


def _move_line(text: str, others: list[str], dice: random.Random) -> str:
    return _lines(
        text, lambda lines, at: lines.insert(dice.randrange(len(lines) + 1), lines.pop(at)), dice
    )


def _indent_line(text: str, others: list[str], dice: random.Random) -> str:
    pad = dice.choice((" ", "  ", "\t", "    "))
    return _lines(text, lambda lines, at: lines.__setitem__(at, pad + lines[at]), dice)


def _other_line(text: str, others: list[str], dice: random.Random) -> str:
    line = dice.choice(dice.choice(others).split("\n"))
    return _lines(text, lambda lines, at: lines.insert(at, line), dice)


def _change_word(text: str, others: list[str], dice: random.Random) -> str:
    words = list(_WORD.finditer(text))
    if not words:
        return text
    word = dice.choice(words)
    return text[: word.start()] + dice.choice(NASTY) + text[word.end() :]


def _swap_words(text: str, others: list[str], dice: random.Random) -> str:
    words = [word[0] for word in _WORD.finditer(dice.choice(others))]
    place = list(_WORD.finditer(text))
    if not words or not place:
        return text
    at = dice.choice(place)
    return text[: at.start()] + dice.choice(words) + text[at.end() :]


def _insert(text: str, others: list[str], dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(NASTY) + text[at:]


def _cut(text: str, others: list[str], dice: random.Random) -> str:
    return text[: dice.randrange(len(text) + 1)]


def _drop_char(text: str, others: list[str], dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + text[at + 1 :]


def _repeat(text: str, others: list[str], dice: random.Random) -> str:
    at, length = dice.randrange(len(text) + 1), dice.randrange(200)
    return text[:at] + text[at : at + length] * dice.choice((2, 3, 50)) + text[at:]


_CHANGES = (
    _drop_line,
    _double_line,
    _move_line,
    _indent_line,
    _other_line,
    _change_word,
    _change_word,
    _swap_words,
    _swap_words,
    _insert,
    _cut,
    _drop_char,
    _repeat,
)
