"""A shell script with one `dlc submit` (or `dlc create job`) that describes the job by flags.

Only the text itself is used, including plain variables it sets once. What only a shell can evaluate
(its own variables, command substitution) is refused; such a script runs as it is where the `dlc`
command is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from danlu.spec.dialects.dlc_keys import KNOWN, SWITCHES
from danlu.spec.dialects.recognise import COMMAND
from danlu.spec.errors import Finding, Path, SpecError, file_error, spec_error
from danlu.spec.fields import LONGEST_WORD
from danlu.spec.read import RawJob
from danlu.spec.text import Text

_SETS = re.compile(r"^[ \t]*(?:(?:export|local|readonly)[ \t]+)?([A-Za-z_]\w*)=", re.M | re.A)
_PUT_IN = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?-([^}$`]*))?\})", re.ASCII)
_FILES = ("params_file", "job_file")
_OF_THE_CLIENT = (
    *("c", "config", "q", "quiet", "f", "force", "e", "endpoint", "r", "region", "protocol"),
    *("access_id", "access_key", "username", "password"),
)
_SHORT = {"n": "name", "w": "workspace_id"}
_FLAGS = frozenset((*KNOWN, *SWITCHES, *_FILES, *_OF_THE_CLIENT))
_ENDS = ";|&<>\n"
_PLAIN = re.compile(r"[\w./:=,@%+-]+")  # means nothing to a shell, quoted or not


@dataclass(slots=True)
class _Word:
    text: str
    line: int
    live: bool  # a shell would have substituted something


def read_command(text: str) -> tuple[RawJob, bool]:
    """The flags as keys, and whether the script contains more. Raises `SpecError`."""
    text = text.replace("\r\n", "\n")  # a continued line ends with its backslash
    found = list(COMMAND.finditer(text))
    first = found[0]
    if len(found) > 1:
        raise file_error(
            Text(
                "The script submits several jobs; run it as it is, with the dlc command (danlu "
                "shims install)",
                "脚本提交了多个任务；请直接运行它：这里有 dlc 命令（danlu shims install）",
            ),
            text.count("\n", 0, found[1].start()) + 1,
        )
    begin = text.count("\n", 0, first.start()) + 1
    words, end = _words(text, first.end(), begin, _variables(text[: first.start()]))
    values: dict[str, Any] = {}
    lines: dict[Path, int] = {}
    findings: list[Finding] = []
    if first[1]:
        values["kind"] = first[2]
        lines[("kind",)] = begin
    for name, word in _flags(words):
        if name in _OF_THE_CLIENT:
            continue
        lines[(name,)] = word.line
        values[name] = word.text
        if word.live:
            findings.append(
                Finding(
                    (name,),
                    word.text,
                    Text(
                        "is evaluated by the shell and unknown here; run the script as it is, "
                        "with the dlc command (danlu shims install)",
                        "由 shell 代入，别处无法得知；请直接运行脚本：这里有 dlc 命令"
                        "（danlu shims install）",
                    ),
                )
            )
        elif name in _FILES:
            findings.append(
                Finding(
                    (name,),
                    word.text,
                    Text(
                        "names the job's file; submit that file instead",
                        "是任务文件；请直接给该文件",
                    ),
                )
            )
    raw = RawJob(values, None, lines)
    if findings:
        raise spec_error(findings, raw.line_of)
    rest = text[: first.start()] + text[end:]
    more = any(line.strip() and not line.strip().startswith("#") for line in rest.split("\n"))
    return raw, more


def _flags(words: list[_Word]) -> Iterator[tuple[str, _Word]]:
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name, equals, value = word.text.lstrip("-").partition("=")
        if not word.text.startswith("-"):
            continue
        if not word.text.startswith("--"):
            name = _SHORT.get(name, name)
        if equals:
            yield name, _Word(value, word.line, word.live)
        elif at < len(words) and _is_value(name, words[at].text):
            yield name, _Word(words[at].text, word.line, words[at].live)
            at += 1
        else:
            yield name, _Word("true", word.line, False)


def _is_value(name: str, text: str) -> bool:
    """Whether the word after a flag belongs to it. A value may itself start with '--'."""
    if name in SWITCHES:
        return text in ("true", "false")
    return not text.startswith("--") or text[2:].partition("=")[0] not in _FLAGS


def _variables(text: str) -> dict[str, str]:
    """Variables the script sets before, if the text shows them: once, and to a plain value."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    over = 0
    for match in _SETS.finditer(text):
        if match.start() < over:
            continue  # inside the quotes of the previous one
        name = match[1]
        twice |= {name} & found.keys()
        try:
            words, over = _words(text, match.end(), 1, found)
        except SpecError:
            break  # an open quote contains all that follows
        if text[match.end() : match.end() + 1] in ("", " ", "\t", "\n"):
            words = [_Word("", 1, False)]
        if words and not words[0].live:
            found[name] = words[0].text
        else:
            twice.add(name)
    return {name: value for name, value in found.items() if name not in twice}


def _words(text: str, at: int, line: int, variables: Mapping[str, str]) -> tuple[list[_Word], int]:
    """The words of one command, and where it ends."""
    words: list[_Word] = []
    word: _Word | None = None
    quote = ""
    while at < len(text):
        char = text[at]
        step = 1
        known = _known(text, at, variables) if char == "$" and quote != "'" else None
        if known is not None:
            word = word or _Word("", line, False)
            if len(word.text) + len(known[0]) > LONGEST_WORD:
                word.live = True  # variables that grow by substitution
            else:
                word.text += known[0]
            step = known[1]
        elif char == "\\" and quote != "'" and at + 1 < len(text):
            step = 2
            escaped = text[at + 1]
            if escaped != "\n":
                word = word or _Word("", line, False)
                # In double quotes a backslash is kept before characters it does not escape.
                kept = quote and escaped not in '"\\$`'
                word.text += char + escaped if kept else escaped
        elif quote:
            word = word or _Word("", line, False)
            if char == quote:
                quote = ""
            else:
                word.live = word.live or (quote == '"' and char in "$`")
                plain = _PLAIN.match(text, at)
                step = len(plain[0]) if plain else 1
                word.text += text[at : at + step]
        elif char in "'\"":
            quote = char
            word = word or _Word("", line, False)
        elif char in " \t\r":
            _keep(words, word)
            word = None
        elif char in _ENDS or (char == "#" and word is None):
            break
        else:
            word = word or _Word("", line, False)
            word.live = word.live or char in "$`"
            plain = _PLAIN.match(text, at)
            step = len(plain[0]) if plain else 1
            word.text += text[at : at + step]
        if step > 1 or char == "\n":
            line += text.count("\n", at, at + step)
        at += step
    if quote:
        raise file_error(Text("Unclosed quote", "引号没有闭合"), line)
    _keep(words, word)
    return words, at


def _known(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int] | None:
    """The value of the variable at this position, and the length of its name as written."""
    match = _PUT_IN.match(text, at)
    if match is None:
        return None
    value = variables.get(match[1] or match[2])
    if value is None and match[3] is not None:
        value = match[3].strip("\"'")
    return None if value is None else (value, match.end() - at)


def _keep(words: list[_Word], word: _Word | None) -> None:
    if word is not None:
        words.append(word)
