"""Help, generated from the command table."""

from __future__ import annotations

import sys

from danlu.cli.helptexts import HELP
from danlu.cli.options import Command, Option
from danlu.cli.registry import COMMON, commands
from danlu.cli.table import coloured, paint, screen_columns, width
from danlu.cli.texts import language, t

WIDEST = 100


def words(key: str) -> str:
    """A help text in the reader's language; empty if there is none."""
    return HELP[key][language()] if key in HELP else ""


def option_words(command: Command | None, option: Option) -> str:
    own = f"opt.{command.name}.{option.long}" if command else ""
    return words(own) or words(f"opt.{option.long}")


def show_help(command: Command | None) -> int:
    sys.stdout.write(overview() if command is None else command_help(command))
    return 0


def overview() -> str:
    lines = [words("danlu"), "", _title("title.usage"), "  danlu COMMAND [OPTION...]", ""]
    lines.append(_title("title.commands"))
    rows = [
        (command.name, words(f"cmd.{command.name}")) for command in commands() if not command.hidden
    ]
    lines += _columns(rows)
    lines += ["", _title("title.common"), *_options(None, COMMON)]
    lines += ["", _title("title.environment"), *_columns(_pairs("environment"))]
    lines += ["", _title("title.codes"), *_columns(_pairs("codes"))]
    lines += ["", t("help.more")]
    return "\n".join(lines) + "\n"


def command_help(command: Command) -> str:
    lines = [words(f"cmd.{command.name}"), "", _title("title.usage"), *_usage(command)]
    about = words(f"about.{command.name}")
    if about:
        lines += ["", *_wrapped(about)]
    if command.options:
        lines += ["", _title("title.options"), *_options(command, command.options)]
    lines += ["", _title("title.common"), *_options(command, COMMON)]
    return "\n".join(lines) + "\n"


def _usage(command: Command) -> list[str]:
    """On one line, or each form on its own line."""
    usage = f"  danlu {command.name} [OPTION...] {command.arguments}".rstrip()
    if width(usage) <= WIDEST:
        return [usage]
    return [f"  danlu {command.name} {form} [OPTION...]" for form in command.arguments.split(" | ")]


def _title(key: str) -> str:
    return paint(words(key), "bold", coloured())


def _pairs(key: str) -> list[tuple[str, str]]:
    """Lines of `name: text`."""
    pairs = (line.partition(": ") for line in words(key).splitlines())
    return [(name, text) for name, _, text in pairs]


def _options(command: Command | None, options: tuple[Option, ...]) -> list[str]:
    return _columns([(option_head(option), option_words(command, option)) for option in options])


def option_head(option: Option) -> str:
    names = f"-{option.short}, " if option.short else "    "
    return f"{names}--{option.long}" + (f" {option.metavar}" if option.metavar else "")


def _columns(rows: list[tuple[str, str]]) -> list[str]:
    left = max(width(name) for name, _ in rows) + 4
    room = max(30, min(screen_columns() or WIDEST, WIDEST) - left)
    lines: list[str] = []
    for name, text in rows:
        first, *others = wrap(text, room) or [""]
        lines.append(f"  {name}{' ' * (left - 2 - width(name))}{first}".rstrip())
        lines += [" " * left + other for other in others]
    return lines


def _wrapped(text: str) -> list[str]:
    room = min(screen_columns() or WIDEST, WIDEST)
    return [line for part in text.splitlines() for line in (wrap(part, room) or [""])]


def wrap(text: str, room: int) -> list[str]:
    """Breaks at spaces, and between Chinese characters, which have none."""
    if text.startswith("  "):
        return [text]
    lines: list[str] = []
    line = ""
    for piece in _pieces(text):
        if line and width(line + piece.rstrip()) > room:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    word = ""
    for character in text:
        # Closing punctuation must not begin a line.
        if ord(character) > 0x2E7F and character not in "，。；：、）？！」”":
            pieces += [word] if word else []
            word = character
        elif character == " ":
            pieces.append(word + " ")
            word = ""
        else:
            if word and ord(word[-1]) > 0x2E7F and character.isascii():
                pieces.append(word)
                word = ""
            word += character
    return [*pieces, word] if word else pieces


def markdown() -> str:
    """The command-line reference for the documentation."""
    parts = [f"# {words('title.reference')}\n"]
    for command in commands():
        if command.hidden:
            continue
        parts.append(f"\n## danlu {command.name}\n\n{words(f'cmd.{command.name}')}\n")
        usage = f"danlu {command.name} [OPTION...] {command.arguments}".rstrip()
        parts.append(f"\n    {usage}\n")
        about = words(f"about.{command.name}")
        if about:
            parts.append(f"\n{about}\n")
        parts.append(_rows(command, command.options))
    parts.append(f"\n## {words('title.common')}\n{_rows(None, COMMON)}")
    parts.append(f"\n## {words('title.environment')}\n\n{_bullets('environment')}")
    parts.append(f"\n## {words('title.codes')}\n\n{_bullets('codes')}")
    return "".join(parts)


def _bullets(key: str) -> str:
    return "".join(f"- `{name}`: {text}\n" for name, text in _pairs(key))


def _rows(command: Command | None, options: tuple[Option, ...]) -> str:
    if not options:
        return ""
    rows = [
        f"| `{option_head(option).strip()}` | {option_words(command, option)} |\n".replace(
            "N|all", "N\\|all"
        )
        for option in options
    ]
    return f"\n| {words('title.option')} | |\n|-|-|\n" + "".join(rows)
