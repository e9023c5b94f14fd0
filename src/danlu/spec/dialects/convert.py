"""Converts job files in any supported language to native jobs and notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import cast

from danlu.spec.complete import read_submissions
from danlu.spec.defaults import Defaults
from danlu.spec.dialects.language import Converted, Dialect, Options, Site
from danlu.spec.dialects.recognise import recognise
from danlu.spec.errors import Problem, SpecError, file_error
from danlu.spec.read import decode
from danlu.spec.text import Text

_DEFAULTS = Defaults()
_ANYWHERE = Site()
_NOTHING_ELSE = Options()

Reader = Callable[[str, Options, Site, Defaults], Converted]

_READERS = {
    Dialect.OPENPAI_V1: "openpai_v1",
    Dialect.OPENPAI_V2: "openpai_v2",
    Dialect.DLC: "dlc",
    Dialect.DETERMINED: "determined",
    Dialect.SBATCH: "sbatch",
}
"""Their modules, loaded on demand: many labs use one language, or none."""


def convert(
    text: bytes | str,
    dialect: Dialect | None = None,
    *,
    media_type: str | None = None,
    options: Options = _NOTHING_ELSE,
    site: Site = _ANYWHERE,
    defaults: Defaults = _DEFAULTS,
) -> Converted:
    """Raises `SpecError`, with lines and keys of the original file."""
    content = decode(text)
    language = dialect or recognise(content)
    if language is Dialect.NATIVE:
        return Converted(language, tuple(read_submissions(content, media_type, defaults)))
    try:
        return _reader(language)(content, options, site, defaults)
    except SpecError as error:
        lines = content.split("\n")
        placed = SpecError(_placed(_named(problem, lines)) for problem in error.problems)
        # A wrong guess explains a strange error.
        placed.language = language.label
        raise placed from None
    except RecursionError:
        raise file_error(
            Text("Nested too deeply for a job", "嵌套过深；任务文件不需要这样")
        ) from None


def _reader(language: Dialect) -> Reader:
    module = import_module(f"danlu.spec.dialects.{_READERS[language]}")
    return cast(Reader, module.read)


_JINJA = re.compile(r"\{\{.{0,200}?\}\}|\{%.{0,200}?%\}", re.DOTALL)


def _named(problem: Problem, lines: list[str]) -> Problem:
    """A template is not a mistake in the value, but a file that is not finished."""
    about = f"{problem.key} {problem.value} {problem.message.en}"
    line = lines[problem.line - 1] if problem.line and problem.line <= len(lines) else ""
    found = _JINJA.search(about) or _JINJA.search(line)
    if found is None or not any(mark in about for mark in ("{{", "}}", "{%", "%}")):
        return problem
    shown, place = found[0], f"{problem.key}: " if problem.key else ""
    message = Text(
        f"{place}{shown} is a Jinja placeholder; fill in the template, then submit the result",
        f"{place}{shown} 是 Jinja 占位符；请先填好模板，再提交结果",
    )
    return replace(problem, message=message)


def _placed(problem: Problem) -> Problem:
    """Errors about the file as a whole are reported at its first line."""
    if problem.line is not None or problem.message.en.startswith("..."):
        return problem
    return replace(problem, line=1)
