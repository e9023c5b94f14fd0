"""The text of a foreign file as plain values with their lines."""

from __future__ import annotations

import math
import re
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.errors import LineOf, file_error
from danlu.spec.read import RawJob, read_jobs
from danlu.spec.read_yaml import load_yaml

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
    """JSON as people write it: with comments; other slips are read as YAML where that works."""
    return read_jobs(_STRING_OR_COMMENT.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith('"'):
        return found
    # Lines stay where they are.
    return "".join(char if char == "\n" else " " for char in found)


def read_yaml(text: str, numbers: bool = False) -> RawJob:
    """The one document of a YAML file; `numbers`: plain scalars as YAML 1.2 reads them."""
    read_scalar = core_scalar if numbers else None
    documents = [
        each for each in load_yaml(text, read_scalar, frozenset()) if each.value is not None
    ]
    if not documents:
        raise file_error("There is no job here: the file is empty", "没有任务：文件是空的", line=1)
    if len(documents) > 1:
        raise file_error(
            "The file holds several YAML documents; this language knows one job a file",
            "文件含有多个 YAML 文档；这种语言一个文件只有一个任务",
            documents[1].line,
        )
    document = documents[0]
    if not isinstance(document.value, dict):
        raise file_error(
            "The file is not a mapping of keys to values",
            "文件不是键和值的映射",
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
        text = text.replace("_", "")  # 50_000, as the Go and Python readers of Determined take it
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def draft_of(raw: RawJob) -> Draft:
    return Draft(lines_of(raw))


def lines_of(raw: RawJob) -> LineOf:
    """A file of one line tells no lines; it is line 1 then."""
    return lambda path: raw.line_of(path) or 1
