"""Reads job files, from bytes to plain values: YAML or JSON, one or several jobs.

Input is not trusted: whatever the bytes are, the result is jobs or a `SpecError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from danlu.spec.errors import Path, SpecError, file_error, shorten
from danlu.spec.text import Text
from danlu.spec.units import M, format_size

if TYPE_CHECKING:
    from danlu.spec.read_yaml import Document

LARGEST_FILE = M
MOST_JOBS = 10_000

_EXAMPLE = "command: python train.py"
_LIKE_JSON = re.compile(r'\s*(?:\[\s*)?\{\s*["}]')


@dataclass(slots=True)
class RawJob:
    """One job of a file: plain values and their positions."""

    values: dict[str, Any]
    number: int | None = None  # 1, 2, ... if the file has several
    lines: dict[Path, int] | None = field(default_factory=dict, repr=False)
    prefix: Path = ()
    source: str = field(default="", repr=False)

    def line_of(self, path: Path) -> int | None:
        """The line of a key, or of its closest parent."""
        if self.lines is None:
            # JSON parsers report no lines. JSON is YAML, and only errors need lines.
            self.lines = _json_lines(self.source)
        full = self.prefix + path
        while full:
            if full in self.lines:
                return self.lines[full]
            full = full[:-1]
        return None


def read_jobs(
    text: bytes | str, media_type: str | None = None, largest: int = LARGEST_FILE
) -> list[RawJob]:
    """The jobs of a file or request. Raises `SpecError`.

    Without a specific media type the content decides: what starts like JSON and is valid JSON is
    read as JSON, everything else as YAML.
    """
    content = decode(text, largest)
    kind = (media_type or "").partition(";")[0].strip().lower()
    if kind.endswith(("/json", "+json")):
        return _from_json(content)
    if "yaml" not in kind and content.lstrip().startswith(("{", "[")):
        try:
            return _from_json(content)
        except SpecError as error:
            return _from_yaml_instead(content, error)
    return _from_yaml(content)


def decode(text: bytes | str, largest: int = LARGEST_FILE) -> str:
    """The text of a file. Raises `SpecError`."""
    if len(text) > largest:
        size, most = format_size(len(text)), format_size(largest)
        raise file_error(
            Text(
                f"The file has {size}; a job file may have at most {most}. Put data and long "
                "scripts into separate files",
                f"文件有 {size}；任务文件最大 {most}。数据和长脚本请放到单独的文件里",
            ),
        )
    if isinstance(text, bytes):
        text = _decode_bytes(text)
    text = text.removeprefix("\ufeff")
    if "\x00" in text:
        from danlu.spec.read_yaml import control_line

        raise _binary(control_line(text))
    return text


def _decode_bytes(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise file_error(
            Text("The file is UTF-16; save it as UTF-8", "文件是 UTF-16 编码；请另存为 UTF-8")
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if b"\x00" in data:
            raise _binary(line) from None
        raise file_error(
            Text(
                f"Byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8",
                f"字节 {data[error.start]:#04x} 不是 UTF-8；请把文件存为 UTF-8",
            ),
            line,
        ) from None


def _binary(line: int | None) -> SpecError:
    return file_error(
        Text(
            "The file contains NUL bytes: it is binary, not a job file in YAML or JSON",
            "文件含有 NUL 字节：这是二进制文件，不是 YAML 或 JSON 任务文件",
        ),
        line,
    )


# JSON


class _Twice(ValueError):
    pass


class _Constant(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key)
            seen.add(key)
    return values


def _constant(word: str) -> Any:
    raise _Constant(word)


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def _from_json(text: str) -> list[RawJob]:
    value = _parse_json(text)
    if isinstance(value, dict):
        return [RawJob(value, None, None, (), text)]
    if not isinstance(value, list):
        raise _not_a_job(value, 1)
    _check_amount(len(value))
    _check_all_jobs(value, [None] * len(value))
    return [
        RawJob(job, index + 1 if len(value) > 1 else None, None, (index,), text)
        for index, job in enumerate(value)
    ]


def _parse_json(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except _Twice as error:
        _load_yaml(text)  # the same error, with its line
        key = shorten(str(error))
        raise file_error(
            Text(
                f"Duplicate key {key}; keep one",
                f"键 {key} 在同一对象中出现两次；请只保留一个",
            ),
        ) from None
    except _Constant as error:
        raise file_error(
            Text(
                f"{error} is not a valid number; write a finite one",
                f"{error} 不是可用的数；请写有限的数",
            ),
            value=str(error),
        ) from None
    except json.JSONDecodeError as error:
        raise _json_syntax(error) from None
    except RecursionError:
        raise file_error(
            Text("Nested too deeply for a job", "嵌套过深；任务文件不需要这样")
        ) from None
    except ValueError:
        # Python refuses to parse integers of thousands of digits.
        raise file_error(
            Text(
                "A number has too many digits; use at most 18",
                "有一个数的位数过多；请写最多 18 位的数",
            ),
        ) from None


def _json_syntax(error: json.JSONDecodeError) -> SpecError:
    if not error.doc.strip():
        return _empty()
    near = error.doc[error.pos : error.pos + 30].partition("\n")[0]
    return file_error(
        Text(
            f"Invalid JSON at column {error.colno}, near {shorten(near)}; check commas, double "
            "quotes and brackets",
            f"第 {error.colno} 列 {shorten(near)} 附近不是合法的 JSON；请检查逗号、双引号和括号",
        ),
        error.lineno,
        near,
    )


def _json_lines(text: str) -> dict[Path, int]:
    if "\n" not in text.strip():
        return {}
    try:
        documents = _load_yaml(text)
    except SpecError:
        return {}
    return documents[0].lines if documents else {}


# YAML


def _load_yaml(text: str) -> list[Document]:
    from danlu.spec.read_yaml import load_yaml  # most jobs come as JSON, and it is large

    return load_yaml(text)


def _from_yaml_instead(text: str, json_error: SpecError) -> list[RawJob]:
    """Flow-style YAML starts like JSON. If it is neither, quoted keys tell what was meant."""
    try:
        return _from_yaml(text)
    except SpecError as yaml_error:
        raise (json_error if _LIKE_JSON.match(text) else yaml_error) from None


def _from_yaml(text: str) -> list[RawJob]:
    jobs: list[RawJob] = []
    values: list[Any] = []
    lines: list[int | None] = []
    for document in _load_yaml(text):
        if document.value is None:
            continue
        several = isinstance(document.value, list)
        for index, value in enumerate(document.value if several else [document.value]):
            prefix: Path = (index,) if several else ()
            values.append(value)
            lines.append(document.lines.get(prefix, document.line))
            jobs.append(RawJob(value, len(jobs) + 1, document.lines, prefix))
    _check_amount(len(jobs))
    _check_all_jobs(values, lines)
    if len(jobs) == 1:
        jobs[0].number = None
    return jobs


def _check_amount(amount: int) -> None:
    if amount == 0:
        raise _empty()
    if amount > MOST_JOBS:
        raise file_error(
            Text(
                f"The file contains {amount} jobs; the limit is {MOST_JOBS} per file",
                f"文件含有 {amount} 个任务；一个文件最多 {MOST_JOBS} 个",
            ),
        )


def _check_all_jobs(values: Sequence[Any], lines: Sequence[int | None]) -> None:
    for value, line in zip(values, lines, strict=True):
        if not isinstance(value, dict):
            raise _not_a_job(value, line)


def _not_a_job(value: object, line: int | None) -> SpecError:
    if value is None:
        return _empty()
    shown = shorten(value)
    return file_error(
        Text(
            f"{shown} is not a job; write keys and values, e.g. {_EXAMPLE!r}",
            f"{shown} 不是任务；请写键和值，例如 {_EXAMPLE!r}",
        ),
        line,
        value,
    )


def _empty() -> SpecError:
    return file_error(
        Text(
            f"The file is empty. Write at least what to run, e.g. {_EXAMPLE!r}",
            f"文件是空的。至少要写运行什么，例如 {_EXAMPLE!r}",
        ),
    )
