"""The wording of validation errors, in both languages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from danlu.spec.refs import NAME_PATTERN
from danlu.spec.text import EMPTY, Text

_WORDS: dict[str, Text] = {
    "missing": Text("is missing", "缺失"),
    "extra_forbidden": Text("is not a known key", "不是可用的键"),
    "int_parsing": Text("is not an integer", "不是整数"),
    "int_type": Text("is not an integer", "不是整数"),
    "int_from_float": Text("is not an integer", "不是整数"),
    "int_parsing_size": Text("is too large", "数值过大"),
    "float_parsing": Text("is not a number", "不是数字"),
    "float_type": Text("is not a number", "不是数字"),
    "finite_number": Text("is not a finite number", "不是有限的数"),
    "bool_parsing": Text("must be true or false", "不是 true 或 false"),
    "bool_type": Text("must be true or false", "不是 true 或 false"),
    "string_type": Text("is not text", "不是文本"),
    "list_type": Text("is not a list", "不是列表"),
    "dict_type": Text("is not a mapping", "不是键值表"),
    "greater_than_equal": Text("must be {ge} or more", "不能小于 {ge}"),
    "greater_than": Text("must be more than {gt}", "必须大于 {gt}"),
    "less_than_equal": Text("must be {le} or less", "不能大于 {le}"),
    "less_than": Text("must be less than {lt}", "必须小于 {lt}"),
    "string_too_short": Text(
        "must have at least {min_length} characters",
        "至少要有 {min_length} 个字符",
    ),
    "string_too_long": Text(
        "must have at most {max_length} characters",
        "最多 {max_length} 个字符",
    ),
    "too_short": Text("must have at least {min_length} entries", "至少要有 {min_length} 项"),
    "too_long": Text("must have at most {max_length} entries", "最多 {max_length} 项"),
}
_FORMS: dict[str, Text] = {
    f"^{NAME_PATTERN}$": Text(
        "is not a valid name; use 1 to 64 letters (a-z, A-Z), digits, '_', '.' or '-', starting "
        "with a letter, a digit or '_'",
        "不是有效的名称；请写 1 到 64 个英文字母、数字、'_'、'.' 或 '-'，"
        "以英文字母、数字或 '_' 开头",
    ),
}
_CHOICE = re.compile(r"\^(-\?)?\(([\w|-]+)\)\$")


def fault_words(kind: str, context: Mapping[str, Any]) -> Text:
    """Empty for a kind without a message of its own."""
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        choice = _CHOICE.fullmatch(pattern)
        if choice is None:
            return _FORMS.get(pattern, EMPTY)
        listed = choice[2].replace("|", ", ")
        order = Text("; with a leading -, in reverse", "；前面加 - 则倒序") if choice[1] else EMPTY
        return Text(f"must be one of: {listed}", f"只能是：{listed}") + order
    if kind in ("enum", "literal_error"):
        listed = str(context.get("expected", "")).replace("'", "").replace(" or ", ", ")
        return Text(f"must be one of: {listed}", f"只能是：{listed}")
    if kind == "string_too_short" and context.get("min_length") == 1:
        return Text("must not be empty", "不能为空")
    shown = {key: f"{v:g}" if isinstance(v, float) else v for key, v in context.items()}
    return _WORDS.get(kind, EMPTY).format(shown)
