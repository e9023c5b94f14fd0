"""Parses the text of a foreign file to plain values with their lines."""

from __future__ import annotations

import math
import re
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.errors import LineOf, file_error
from danlu.spec.read import RawJob, read_jobs
from danlu.spec.read_yaml import load_yaml
from danlu.spec.text import Text

_STRING_OR_COMMENT = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/',
    re.DOTALL,
)
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]{1,18}(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
_GROUPED = re.compile(
    r"[-+]?[0-9][0-9_]{0,24}(?:\.[0-9_]{0,24})?(?:[eE][-+]?[0-9]{1,3})?", re.ASCII
)


def read_json(text: str) -> list[RawJob]:
    """JSON with comments; other irregularities are accepted if it is valid YAML."""
    return read_jobs(_STRING_OR_COMMENT.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith('"'):
        return found
    # Keeps line numbers.
    return "".join(char if char == "\n" else " " for char in found)


def read_yaml(text: str, numbers: bool = False) -> RawJob:
    """The single document of a YAML file; `numbers`: plain scalars as in YAML 1.2."""
    read_scalar = core_scalar if numbers else None
    documents = [
        each for each in load_yaml(text, read_scalar, frozenset()) if each.value is not None
    ]
    if not documents:
        raise file_error(
            Text("The file is empty: it contains no job", "没有任务：文件是空的"), line=1
        )
    if len(documents) > 1:
        raise file_error(
            Text(
                "The file contains several YAML documents; this language has one job per file",
                "文件含有多个 YAML 文档；这种语言一个文件只有一个任务",
            ),
            documents[1].line,
        )
    document = documents[0]
    if not isinstance(document.value, dict):
        raise file_error(
            Text("The file is not a mapping", "文件不是键和值的映射"),
            document.line,
            document.value,
        )
    return RawJob(document.value, None, document.lines)


def core_scalar(text: str) -> Any:
    """YAML 1.2: 1e-5 is a number, `no` is text."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if "_" in text and _GROUPED.fullmatch(text):
        text = text.replace("_", "")  # 50_000, as accepted by Determined's Go and Python parsers
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def draft_of(raw: RawJob) -> Draft:
    return Draft(lines_of(raw))


def lines_of(raw: RawJob) -> LineOf:
    """A file of one line has no other lines to report."""
    return lambda path: raw.line_of(path) or 1
