"""What a benchmark's rows say."""

import json

import pytest
from bench.table import KEYS, Goal, Row, as_json, as_table


def test_a_row_as_json_has_exactly_the_promised_keys() -> None:
    values = json.loads(as_json(Row("danlu run true (ms)", 60.0, 40.0, "srun true")))
    assert tuple(values) == KEYS
    assert KEYS == ("what", "danlu", "anchor", "anchor_name", "ratio", "goal", "met")


@pytest.mark.parametrize(
    ("danlu", "anchor", "goal", "met"),
    [
        (80.0, 40.0, Goal("at most", 2, "x"), True),
        (80.1, 40.0, Goal("at most", 2, "x"), False),
        (150.0, 50.0, Goal("at least", 3, "x"), True),
        (149.0, 50.0, Goal("at least", 3, "x"), False),
        (10.0, 40.0, Goal("at most", 10, "ms"), True),
        (10.1, 40.0, Goal("at most", 10, "ms"), False),
        (10.0, None, Goal("at most", 10, "ms"), True),
    ],
)
def test_a_goal_in_x_judges_the_ratio_and_any_other_the_figure(
    danlu: float, anchor: float | None, goal: Goal, met: bool
) -> None:
    assert Row("something", danlu, anchor, "anchor", goal).met is met


def test_a_ratio_without_an_anchor_is_neither_met_nor_missed() -> None:
    row = Row("something", 80.0, None, "srun true", Goal("at most", 2, "x"))
    assert row.ratio is None
    assert row.met is None


def test_what_could_not_be_done_misses_its_goal() -> None:
    assert Row("something", None, 1.0, "anchor", Goal("at most", 2, "ms")).met is False


def test_a_goal_is_judged_by_what_was_measured_not_by_what_is_shown() -> None:
    row = Row("something", 10.04, None, None, Goal("at most", 10, "ms"))
    assert json.loads(as_json(row))["danlu"] == 10.0
    assert row.met is False


def test_the_table_lines_its_columns_up_and_says_no_loudly() -> None:
    rows = [
        Row("short", 1.0, 2.0, "anchor", Goal("at most", 2, "x")),
        Row("a longer thing", 1234.5, 2.0, "anchor", Goal("at most", 2, "x")),
    ]
    head, first, second = as_table(rows).splitlines()
    assert head.index("anchor's name") == first.index("anchor") == second.index("anchor")
    assert "1,234" in second
    assert first.endswith("yes")
    assert second.endswith("NO")
