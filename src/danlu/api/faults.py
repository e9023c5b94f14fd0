"""What is wrong with a value of a request, in both languages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from danlu.spec.refs import NAME_PATTERN

Pair = tuple[str, str]

_WORDS: dict[str, Pair] = {
    "missing": ("is missing", "缺失"),
    "extra_forbidden": ("is no key here", "不是可用的键"),
    "int_parsing": ("is not a whole number", "不是整数"),
    "int_type": ("is not a whole number", "不是整数"),
    "int_from_float": ("is not a whole number", "不是整数"),
    "int_parsing_size": ("is too large a number", "数值过大"),
    "float_parsing": ("is not a number", "不是数字"),
    "float_type": ("is not a number", "不是数字"),
    "finite_number": ("is not a finite number", "不是有限的数"),
    "bool_parsing": ("is neither true nor false", "不是 true 或 false"),
    "bool_type": ("is neither true nor false", "不是 true 或 false"),
    "string_type": ("is not text", "不是文本"),
    "list_type": ("is not a list", "不是列表"),
    "dict_type": ("is not a mapping", "不是键值表"),
    "greater_than_equal": ("must be {ge} or more", "不能小于 {ge}"),
    "greater_than": ("must be more than {gt}", "必须大于 {gt}"),
    "less_than_equal": ("must be {le} or less", "不能大于 {le}"),
    "less_than": ("must be less than {lt}", "必须小于 {lt}"),
    "string_too_short": (
        "must have at least {min_length} characters",
        "至少要有 {min_length} 个字符",
    ),
    "string_too_long": (
        "may have at most {max_length} characters",
        "最多 {max_length} 个字符",
    ),
    "too_short": ("must have at least {min_length} entries", "至少要有 {min_length} 项"),
    "too_long": ("may have at most {max_length} entries", "最多 {max_length} 项"),
}
_FORMS: dict[str, Pair] = {
    f"^{NAME_PATTERN}$": (
        "is not a name; write 1 to 64 letters (a-z, A-Z), digits, '_', '.' or '-', beginning with "
        "a letter, a digit or '_'",
        "不是名称；请写 1 到 64 个英文字母、数字、'_'、'.' 或 '-'，以英文字母、数字或 '_' 开头",
    ),
}
_CHOICE = re.compile(r"\^(-\?)?\(([\w|-]+)\)\$")


def fault_words(kind: str, context: Mapping[str, Any]) -> Pair:
    """Empty for a kind that has no words of its own."""
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        choice = _CHOICE.fullmatch(pattern)
        if choice is None:
            return _FORMS.get(pattern, ("", ""))
        listed = choice[2].replace("|", ", ")
        en, zh = f"must be one of: {listed}", f"只能是：{listed}"
        if choice[1]:
            return f"{en}; with - in front, the other way round", f"{zh}；前面加 - 则倒序"
        return en, zh
    if kind in ("enum", "literal_error"):
        listed = str(context.get("expected", "")).replace("'", "").replace(" or ", ", ")
        return f"must be one of: {listed}", f"只能是：{listed}"
    if kind == "string_too_short" and context.get("min_length") == 1:
        return "must not be empty", "不能为空"
    en, zh = _WORDS.get(kind, ("", ""))
    shown = {key: f"{v:g}" if isinstance(v, float) else v for key, v in context.items()}
    return en.format_map(shown), zh.format_map(shown)
