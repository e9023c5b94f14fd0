"""Sizes and durations read as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.spec.errors import Wrong, shorten
from danlu.spec.units import (
    LARGEST_SIZE,
    LONGEST_DURATION,
    G,
    K,
    M,
    T,
    exact_duration,
    exact_size,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (0, 0),
        (1024, K),
        ("1024", K),
        (2048.0, 2 * K),
        ("64G", 64 * G),
        ("64g", 64 * G),
        ("64GB", 64 * G),
        ("64GiB", 64 * G),
        ("64 Gib", 64 * G),
        (" 1.5 G ", G + G // 2),
        ("0.1G", G // 10),
        ("512M", 512 * M),
        ("2T", 2 * T),
        ("9007199254740993", 9007199254740993),
    ],
    ids=shorten,
)
def test_a_size_is_read(written: object, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize(
    "written",
    [
        "",
        "G",
        "-1",
        "1X",
        "1.5.5G",
        "1e3",
        "ten",
        True,
        None,
        [],
        {},
        -1,
        1.5,
        float("nan"),
        float("inf"),
        10**5000,
        "9" * 5000,
        "9" * 20 + "T",
        1 << 61,
        "٣G",
        "1\n2",
    ],
    ids=shorten,
)
def test_what_is_no_size_is_refused_in_both_languages(written: object) -> None:
    with pytest.raises(Wrong) as caught:
        parse_size(written)
    assert caught.value.findings[0].message.en
    assert caught.value.findings[0].message.zh


@given(st.integers(0, LARGEST_SIZE))
def test_an_exact_size_reads_back(size: int) -> None:
    assert parse_size(exact_size(size)) == size


@given(st.integers(K, LARGEST_SIZE))
def test_a_shown_size_is_never_larger_than_the_size(size: int) -> None:
    assert size - size // 10 <= parse_size(format_size(size)) <= size


@pytest.mark.parametrize(
    ("size", "text"),
    [(100, "100B"), (K, "1K"), (64 * G, "64G"), (G + G // 2, "1.5G"), (0, "0B")],
    ids=shorten,
)
def test_sizes_are_shown_short(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (90, 90),
        (0.5, 0.5),
        ("90", 90),
        ("1.5", 1.5),
        ("90s", 90),
        ("90m", 5400),
        ("12h", 43200),
        ("2d", 172800),
        ("1w", 604800),
        ("1.5h", 5400),
        ("1h30m", 5400),
        ("1d 12h", 129600),
        ("90 min", 5400),
        ("2H", 7200),
        ("1:30", 90),
        ("90:00", 5400),
        ("1:30:00", 5400),
        ("36:00:00", 129600),
        ("1-12", 129600),
        ("1-12:30", 131400),
        ("1-12:00:00", 129600),
        ("0", 0),
    ],
    ids=shorten,
)
def test_a_duration_is_read(written: object, seconds: float) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    "written",
    [
        "",
        "h",
        "-5",
        "soon",
        "1:60:00",
        "1:00:60",
        "1-24:00:00",
        "1:2:3:4",
        "30m1h",
        True,
        None,
        [],
        -1,
        float("nan"),
        float("inf"),
        10**5000,
        "9" * 12,
        "1-",
        "1-2-3",
        "٣h",
    ],
    ids=shorten,
)
def test_what_is_no_duration_is_refused_in_both_languages(written: object) -> None:
    with pytest.raises(Wrong) as caught:
        parse_duration(written)
    assert caught.value.findings[0].message.en
    assert caught.value.findings[0].message.zh


@given(st.floats(0, LONGEST_DURATION) | st.integers(0, int(LONGEST_DURATION)).map(float))
def test_an_exact_duration_reads_back(seconds: float) -> None:
    assert parse_duration(exact_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.5, "0.5s"),
        (45, "45s"),
        (59.96, "60s"),
        (90, "1m30s"),
        (3600, "1h"),
        (5400, "1h30m"),
        (93784, "1d2h"),
        (172800, "2d"),
        (-90, "-1m30s"),
    ],
    ids=shorten,
)
def test_durations_are_shown_short(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
