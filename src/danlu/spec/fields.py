"""Readers for single values: text, numbers, names, paths.

Each takes a value from a file and returns the parsed one, or raises `Wrong` saying what is allowed.
Numbers and flags may also be text, since YAML and command lines hardly distinguish them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar
from unicodedata import normalize

from danlu.spec.errors import wrong
from danlu.spec.ids import is_uuid
from danlu.spec.refs import JOB_NAME_PATTERN, NAME_PATTERN
from danlu.spec.text import Text
from danlu.spec.units import format_duration, format_size, parse_duration, parse_size

LONGEST_WORD = 131_071
"""Bytes of one argument or variable; Linux cannot start a program with a longer one."""

LONGEST_PATH = 4095

_NAME = re.compile(NAME_PATTERN, re.ASCII)
_JOB_NAME = re.compile(JOB_NAME_PATTERN)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
# Lone surrogates cannot be encoded.
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff]")
_NOT_IN_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

E = TypeVar("E", bound=StrEnum)


def read_text(value: object) -> str:
    """Text that can be passed to a program; newlines and tabs are fine."""
    text = _as_text(value)
    if _NOT_IN_TEXT.search(text):
        raise wrong(
            text,
            Text(
                "contains a control character (such as NUL) that cannot be passed to a program; "
                "remove it",
                "含有无法传给程序的控制字符（例如 NUL）；请删除",
            ),
        )
    # At most four bytes per character: only long texts need to be measured.
    if len(text) * 4 > LONGEST_WORD and len(text.encode()) > LONGEST_WORD:
        raise wrong(
            text,
            Text(
                f"is longer than {LONGEST_WORD} bytes; put it into a file and use its name",
                f"超过 {LONGEST_WORD} 字节；请写入文件，再填写文件名",
            ),
        )
    return text


def read_line(value: object, longest: int = LONGEST_PATH) -> str:
    """Non-empty text on one line."""
    text = read_text(value)
    if len(text.encode()) > longest:
        raise wrong(text, Text(f"is longer than {longest} bytes", f"超过 {longest} 字节"))
    if not text.strip() or _NOT_IN_LINE.search(text):
        raise wrong(
            text,
            Text(
                "is not allowed here; write one non-empty line of text",
                "此处不可用；请写一行非空文字",
            ),
        )
    return text


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() <= 128:
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    raise wrong(value, Text("is not text; write it in quotes", "不是文字；请加引号"))


def read_name(value: object) -> str:
    text = value if isinstance(value, str) else _as_text(value)
    if _NAME.fullmatch(text):
        return text
    raise wrong(
        text,
        Text(
            "is not a valid name; use 1 to 64 letters (a-z, A-Z), digits, '_', '.' or '-', "
            "starting with a letter, a digit or '_'",
            "不是合法名称；请用 1 到 64 个字母（a-z、A-Z）、数字、'_'、'.'、'-'，"
            "并以字母、数字或 '_' 开头",
        ),
    )


def read_job_name(value: object) -> str:
    """As other names, with letters and digits of every language: `训练-3` is a job."""
    text = normalize("NFC", value if isinstance(value, str) else _as_text(value))
    if _JOB_NAME.fullmatch(text):
        return text
    raise wrong(
        text,
        Text(
            "is not a valid job name; use 1 to 64 letters, digits, '_', '.' or '-', starting with "
            "a letter, a digit or '_'",
            "不是合法的任务名称；请用 1 到 64 个文字、字母、数字、'_'、'.'、'-'，"
            "并以文字、字母、数字或 '_' 开头",
        ),
    )


def read_id(value: object) -> str:
    text = _as_text(value).strip().lower()
    if is_uuid(text):
        return text
    raise wrong(
        value,
        Text(
            "is not an id; use a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057, or omit it",
            "不是 id；请写 UUID，例如 01890a5d-ac96-774b-bcce-b302099a8057，或不写",
        ),
    )


def read_absolute(value: object) -> str:
    text = read_line(value)
    if text.startswith("/"):
        return text
    raise wrong(
        text,
        Text(
            "is not an absolute path; it must start with '/', e.g. /userhome/project",
            "不是绝对路径；请以 '/' 开头，例如 /userhome/project",
        ),
    )


def read_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "yes", "on"):
            return True
        if word in ("false", "no", "off"):
            return False
    raise wrong(value, Text("must be true or false", "应为 true 或 false"))


def read_number(value: object) -> float | None:
    """A finite number, or None if it is not one."""
    if isinstance(value, str):
        if not _DECIMAL.fullmatch(value.strip()):
            return None
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Checked before the conversion: a huge integer cannot become a float.
    if not abs(value) <= 1e300:
        return None
    return float(value)


def integer(low: int, high: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        number: object = value
        is_text = isinstance(value, str) and _INTEGER.fullmatch(value.strip())
        if is_text or (isinstance(value, float) and value.is_integer()):
            number = int(value)  # type: ignore[call-overload]
        if isinstance(number, int) and not isinstance(number, bool) and low <= number <= high:
            return number
        raise wrong(
            value,
            Text(f"is not an integer from {low} to {high}", f"不是 {low} 到 {high} 的整数"),
        )

    return read


def decimal(low: float, high: float) -> Callable[[object], float]:
    def read(value: object) -> float:
        number = read_number(value)
        if number is not None and low <= number <= high:
            return number
        raise wrong(
            value,
            Text(f"is not a number from {low:g} to {high:g}", f"不是 {low:g} 到 {high:g} 的数"),
        )

    return read


def size(low: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        number = parse_size(value)
        if number >= low:
            return number
        least = format_size(low)
        raise wrong(value, Text(f"is too small; the minimum is {least}", f"太小；至少 {least}"))

    return read


def duration(low: float, high: float) -> Callable[[object], float]:
    def read(value: object) -> float:
        number = parse_duration(value)
        if low <= number <= high:
            return number
        span = format_duration(low), format_duration(high)
        raise wrong(
            value,
            Text(f"is out of range: {span[0]} to {span[1]}", f"超出 {span[0]} 到 {span[1]} 的范围"),
        )

    return read


def choice(kinds: type[E]) -> Callable[[object], E]:
    words: dict[object, E] = {kind.value: kind for kind in kinds}

    def read(value: object) -> E:
        found = words.get(value.strip().lower()) if isinstance(value, str) else None
        if found is not None:
            return found
        every = ", ".join(map(str, words))
        raise wrong(value, Text(f"is not one of: {every}", f"不是以下之一：{every}"))

    return read
