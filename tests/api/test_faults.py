"""What is wrong with a request is said in words, in both languages."""

from __future__ import annotations

import pytest

from danlu.api.faults import fault_words
from danlu.spec.refs import NAME_PATTERN
from danlu.spec.text import EMPTY


@pytest.mark.parametrize(
    ("kind", "context", "en", "zh"),
    [
        ("greater_than_equal", {"ge": 0.0}, "must be 0 or more", "不能小于 0"),
        ("string_too_short", {"min_length": 1}, "must not be empty", "不能为空"),
        ("string_too_short", {"min_length": 10}, "must have at least 10 characters", "10 个字符"),
        (
            "string_pattern_mismatch",
            {"pattern": "^(admin|member)$"},
            "must be one of: admin, member",
            "只能是：admin, member",
        ),
        (
            "string_pattern_mismatch",
            {"pattern": "^-?(name|state)$"},
            "must be one of: name, state; with a leading -, in reverse",
            "前面加 - 则倒序",
        ),
        (
            "string_pattern_mismatch",
            {"pattern": f"^{NAME_PATTERN}$"},
            "is not a valid name; use 1 to 64 letters (a-z, A-Z), digits, '_', '.' or '-', "
            "starting with a letter, a digit or '_'",
            "不是有效的名称",
        ),
        ("literal_error", {"expected": "'a' or 'b'"}, "must be one of: a, b", "只能是：a, b"),
    ],
)
def test_a_fault_has_words(kind: str, context: dict[str, object], en: str, zh: str) -> None:
    words = fault_words(kind, context)
    assert words.en == en
    assert zh in words.zh


def test_what_has_no_words_of_its_own_is_left_to_the_library() -> None:
    assert fault_words("string_pattern_mismatch", {"pattern": "^[a-z]+$"}) == EMPTY
    assert fault_words("something_new", {}) == EMPTY
