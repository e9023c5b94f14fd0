"""Tables line up on screen, whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.cli.table import clip, printable, width, wrapped, write_table


def test_chinese_characters_take_two_columns() -> None:
    assert [width(text) for text in ("abc", "训练", "a训", "é", "e\u0301", "")] == [
        3,
        4,
        3,
        1,
        1,
        0,
    ]


def test_columns_line_up_with_chinese_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(["任务", "GPU", "命令"], [["alice/训练-1", "2", "python"], ["b", "10", "ls"]], " >")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "任务          GPU  命令",
        "alice/训练-1    2  python",
        "b              10  ls",
    ]
    assert {
        width(line[: line.index(word)])
        for line, word in zip(lines, ["命", "py", "ls"], strict=True)
    } == {19}


@given(st.text(alphabet="ab 训练,", max_size=60), st.integers(2, 20))
def test_wrapping_loses_nothing_and_fits(text: str, room: int) -> None:
    lines = wrapped(text, room)
    assert all(width(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_nothing_is_cut_or_coloured_where_no_terminal_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_table(["A", "B"], [["x", "y" * 500]], state=0, states=["failed"])
    out = capsys.readouterr().out
    assert "y" * 500 in out
    assert "\x1b" not in out


def test_a_name_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(["A"], [["evil\x1b[2J\nname\x07"]])
    assert capsys.readouterr().out == "A\nevil [2J name\n"


@given(st.text(), st.integers(1, 40))
def test_clipped_text_never_takes_more_room(text: str, room: int) -> None:
    shown = printable(text)
    assert width(clip(shown, room)) <= room
    assert clip(shown, room) == shown or clip(shown, room).endswith("…")
