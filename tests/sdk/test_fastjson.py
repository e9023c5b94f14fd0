"""Our JSON is the standard library's, without its import."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.sdk.fastjson import dumps, loads

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_reads_back_here_and_elsewhere(value: object) -> None:
    assert loads(dumps(value)) == value
    assert json.loads(dumps(value)) == value
    assert loads(json.dumps(value, indent=2)) == value


@given(st.text())
def test_a_text_is_json_for_us_exactly_when_it_is_for_the_standard_library(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        with pytest.raises(ValueError):
            loads(text)
    else:
        assert loads(text) == expected


def _refuse(name: str) -> float:
    raise ValueError(name)


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[1] 2", "NaN", "[Infinity]", '{"a" 1}', "'a'", '"\x01"', "[1,]", "\ud800"],
)
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text)


def test_bytes_that_are_not_utf8_are_a_value_error() -> None:
    with pytest.raises(ValueError):
        loads(b'"\xff"')


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_json_does_not_have_are_refused(value: float) -> None:
    with pytest.raises(ValueError):
        dumps([value])


def test_values_json_does_not_have_are_refused() -> None:
    with pytest.raises(TypeError, match="set cannot be written"):
        dumps({"a": {1}})


def test_neither_json_nor_re_is_imported() -> None:
    code = (
        "import sys; from danlu.sdk.fastjson import loads, dumps; loads(dumps({'a': [1.5]}));"
        "sys.exit(bool({'json', 're'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
