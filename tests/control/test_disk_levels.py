"""When a disk is too full, and when it will be."""

from __future__ import annotations

import pytest

from danlu.control.disk_levels import DiskState, level_of
from danlu.control.settings import DiskSettings
from danlu.engines.api import Space

G = 1 << 30


def disk(free: int, size: int = 100 * G) -> DiskState:
    return DiskState("8:1", [], Space("8:1", size, free))


@pytest.mark.parametrize(
    ("free", "level"),
    [(50, "ok"), (21, "ok"), (20, "warning"), (10, "high"), (5, "critical"), (0, "critical")],
)
def test_the_level_follows_the_percentage(free: int, level: str) -> None:
    assert level_of(disk(free * G), DiskSettings()) == level


def test_an_amount_in_bytes_counts_whatever_the_percentage() -> None:
    large = disk(40 * G, 10_000 * G)
    assert level_of(large, DiskSettings(warning=99.7, high=99.8, critical=99.9)) == "ok"
    settings = DiskSettings(warning=99.7, high=99.8, critical=99.9, free=50 * G)
    assert level_of(large, settings) == "critical"


def test_it_tells_when_a_disk_that_fills_up_is_full() -> None:
    filling = disk(10 * G)
    assert filling.full_at is None
    for minute in range(11):
        filling.looks.append((minute * 60.0, 20 * G - minute * G))
    assert filling.full_at == pytest.approx(600 + 600)
    emptying = disk(10 * G)
    for minute in range(11):
        emptying.looks.append((minute * 60.0, minute * G))
    assert emptying.full_at is None
