"""Every sentence exists in both languages, and the code says no others."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

import danlu.cli
from danlu.cli.helptexts import HELP
from danlu.cli.registry import COMMON, commands
from danlu.cli.texts import everything, find, t, use

TEXTS = everything()
ROOT = Path(danlu.cli.__file__).parent
SOURCES = sorted(path for path in ROOT.rglob("*.py") if "texts" not in path.name)
SPEAKERS = {"t", "known", "Failure", "UsageError", "words", "_title", "_pairs", "_bullets"}
DEAF = {"write", "say", "complain", "print"}


def calls(tree: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            if name in names:
                yield node


def literals(node: ast.expr) -> Iterator[str]:
    """Every text this expression may be; what is filled in at run time becomes a star."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        parts = (str(p.value) if isinstance(p, ast.Constant) else "*" for p in node.values)
        yield "".join(parts)


def used_keys() -> set[str]:
    keys: set[str] = set()
    for path in SOURCES:
        for call in calls(ast.parse(path.read_text()), SPEAKERS):
            if call.args:
                keys.update(literals(call.args[0]))
    return keys


def matches(pattern: str, key: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[a-z_-]+"), key) is not None


@pytest.mark.parametrize("key", sorted(TEXTS | HELP))
def test_a_text_has_both_languages_with_the_same_blanks(key: str) -> None:
    en, zh = (TEXTS | HELP)[key]
    assert en.strip()
    assert zh.strip()
    if key in TEXTS:
        assert blanks(en) == blanks(zh)
    if key not in ("file.trouble",) and any(c.isalpha() for c in en) and en not in ("GPUs", "GPUS"):
        assert en != zh or en == "Id"


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_a_text_is_found_by_the_first_word_of_its_key(key: str) -> None:
    assert find(key) == TEXTS[key]


def blanks(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_text_the_code_asks_for_exists() -> None:
    known = TEXTS | HELP
    missing = [key for key in used_keys() if not any(matches(key, name) for name in known)]
    keyed = [key for key in missing if "." in key]
    assert keyed == []


def test_every_text_is_asked_for_somewhere() -> None:
    source = "\n".join(path.read_text() for path in SOURCES)
    used = used_keys()
    unused = [
        key
        for key in TEXTS
        if f'"{key}"' not in source and not any("*" in u and matches(u, key) for u in used)
    ]
    assert unused == []


def test_every_command_and_option_is_explained() -> None:
    missing = []
    for command in commands():
        if command.hidden:
            continue
        if f"cmd.{command.name}" not in HELP:
            missing.append(command.name)
        for option in (*command.options, *COMMON):
            if not {f"opt.{command.name}.{option.long}", f"opt.{option.long}"} & set(HELP):
                missing.append(f"{command.name} --{option.long}")
    assert missing == []


def test_every_explanation_belongs_to_a_command_or_option() -> None:
    names = {command.name for command in commands()}
    options = {o.long for c in commands() for o in (*c.options, *COMMON)}
    for key in HELP:
        kind, _, rest = key.partition(".")
        if kind in ("cmd", "about"):
            assert rest in names, key
        if kind == "opt":
            assert rest.rpartition(".")[2] in options, key


def test_no_sentence_is_written_past_the_catalogue() -> None:
    found = []
    for path in SOURCES:
        if path.parent.name == "shims":
            continue  # they answer in the words of the platforms they stand for
        for call in calls(ast.parse(path.read_text()), DEAF):
            for argument in call.args:
                keyed = {n for c in calls(argument, SPEAKERS) for a in c.args for n in ast.walk(a)}
                spoken = (n for n in ast.walk(argument) if n not in keyed)
                found += [f"{path.name}: {n.value}" for n in spoken if is_sentence(n)]
    assert found == []


def is_sentence(node: ast.AST) -> TypeGuard[ast.Constant]:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return len(re.findall(r"[A-Za-z\u4e00-\u9fff]{2,}", node.value)) > 1 and "_" not in node.value


@pytest.mark.parametrize("count", [1, 2, "1", "2", "0.5"])
def test_numbers_choose_their_words_also_where_they_are_written_out(count: int | str) -> None:
    assert use("en")
    verb = "is" if str(count) == "1" else "are"
    assert t("cluster.lent", count=count).startswith(f"{count} of the GPUs in use {verb} lent")
