from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from danlu.cli import texts
from danlu.cli.formats import clock, duration, moment, number, seconds, size


@pytest.fixture(autouse=True)
def english() -> None:
    texts.use("en")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m00s"),
        (3599, "59m59s"),
        (3600, "1h00m"),
        (90000, "1d01h"),
    ],
)
def test_durations_are_short(value: float, shown: str) -> None:
    assert duration(value) == shown


@pytest.fixture
def shanghai() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as there:
        there.setenv("TZ", "Asia/Shanghai")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("shanghai")
def test_moments_are_relative_within_a_day_and_dates_beyond() -> None:
    now = 1_700_000_000.0
    assert moment(now - 90, now) == "1m30s ago"
    assert moment(now + 90, now) == "in 1m30s"
    assert moment(now - 3 * 86400, now) == "11-12 06:13"
    assert moment(now - 400 * 86400, now) == "2022-10-11"
    assert moment(None) == "-"
    assert clock(now) == "2023-11-15 06:13:20"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1K"),
        (1536, "1.5K"),
        (64 << 30, "64G"),
        (3 << 50, "3P"),
    ],
)
def test_sizes_have_binary_units(value: float | None, shown: str) -> None:
    assert size(value) == shown


def test_numbers_have_no_needless_point() -> None:
    assert [number(v) for v in (2.0, 0.5, None, 3)] == ["2", "0.5", "-", "3"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400)]
    + [(bad, None) for bad in ("", "m", "x", "-1", "1w", "nan", "inf", "1e99")],
)
def test_times_are_read(text: str, value: float | None) -> None:
    assert seconds(text) == value
