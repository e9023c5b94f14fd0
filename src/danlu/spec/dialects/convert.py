"""From the text of a job file in any language to native jobs and notes."""

from __future__ import annotations

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
"""Their modules, loaded when the first file of a language comes: many labs use one, or none."""


def convert(
    text: bytes | str,
    dialect: Dialect | None = None,
    *,
    media_type: str | None = None,
    options: Options = _NOTHING_ELSE,
    site: Site = _ANYWHERE,
    defaults: Defaults = _DEFAULTS,
) -> Converted:
    """Raises `SpecError`, with line and key in the file's own words."""
    content = decode(text)
    language = dialect or recognise(content)
    if language is Dialect.NATIVE:
        return Converted(language, tuple(read_submissions(content, media_type, defaults)))
    try:
        return _reader(language)(content, options, site, defaults)
    except SpecError as error:
        placed = SpecError(_placed(problem) for problem in error.problems)
        # A wrong guess explains a strange mistake.
        placed.language = language.label
        raise placed from None
    except RecursionError:
        raise file_error(
            "Values are nested too deep; no job needs that", "嵌套过深；任务文件不需要这样"
        ) from None


def _reader(language: Dialect) -> Reader:
    module = import_module(f"danlu.spec.dialects.{_READERS[language]}")
    return cast(Reader, module.read)


def _placed(problem: Problem) -> Problem:
    """What is wrong with a file as a whole is told of its first line."""
    if problem.line is not None or problem.message_en.startswith("..."):
        return problem
    return replace(problem, line=1)
