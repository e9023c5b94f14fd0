"""Tables and SQL statements of the metrics file, generated from the list of metrics.

`samples_10` is ordered by time: it is written every ten seconds and trimmed at its old end. The
other two are ordered by subject, so that a chart reads one contiguous range.
"""

from __future__ import annotations

from typing import NamedTuple

from danlu.metrics.values import METRICS

HOUR, DAY = 3600, 86400


class Level(NamedTuple):
    step: int  # seconds between two rows
    keep: int  # seconds they are kept

    @property
    def table(self) -> str:
        return f"samples_{self.step}"


FINE, MIDDLE, COARSE = Level(10, HOUR), Level(60, DAY), Level(600, 30 * DAY)
LEVELS = (FINE, MIDDLE, COARSE)

VERSION = 1  # file format; other versions are moved aside, not migrated


def _columns(form: str) -> str:
    return ", ".join(form.format(m=name) for name in METRICS)


SCHEMA = f"""
CREATE TABLE subjects (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, owner TEXT NOT NULL,
    part INTEGER NOT NULL, run TEXT NOT NULL, UNIQUE (kind, owner, part, run)
);
CREATE TABLE rolled_up (step INTEGER PRIMARY KEY, until INTEGER NOT NULL);
CREATE TABLE {FINE.table} (
    at INTEGER NOT NULL, subject INTEGER NOT NULL, {_columns("{m} REAL")},
    PRIMARY KEY (at, subject)
) WITHOUT ROWID;
""" + "".join(
    f"""
CREATE TABLE {level.table} (
    subject INTEGER NOT NULL, at INTEGER NOT NULL, n INTEGER NOT NULL,
    {_columns("{m} REAL, {m}_min REAL, {m}_max REAL")},
    PRIMARY KEY (subject, at)
) WITHOUT ROWID;
"""
    for level in (MIDDLE, COARSE)
)

FIND_SUBJECT = "SELECT id FROM subjects WHERE kind = ? AND owner = ? AND part = ? AND run = ?"
ADD_SUBJECT = "INSERT INTO subjects (kind, owner, part, run) VALUES (?, ?, ?, ?)"
ADD_SAMPLE = (
    f"INSERT OR REPLACE INTO {FINE.table} (at, subject, {_columns('{m}')}) "  # noqa: S608
    f"VALUES (?, ?, {', '.join('?' * len(METRICS))})"
)
ROLLED_UP = "INSERT OR REPLACE INTO rolled_up VALUES (?, ?)"
_USED = " UNION ".join(f"SELECT subject FROM {level.table}" for level in LEVELS)  # noqa: S608
FORGET_SUBJECTS = f"DELETE FROM subjects WHERE id NOT IN ({_USED})"  # noqa: S608


def add(level: Level) -> str:
    """One row for a single sample, with the parameters of ADD_SAMPLE."""
    if level is FINE:
        return ADD_SAMPLE
    columns = _columns("{m}, {m}_min, {m}_max")
    values = ", ".join(f"?{at}, ?{at}, ?{at}" for at in range(3, 3 + len(METRICS)))
    return (
        f"INSERT OR REPLACE INTO {level.table} (at, subject, n, {columns}) "  # noqa: S608
        f"VALUES (?1, ?2, 1, {values})"
    )


def roll_up(level: Level) -> str:
    """Aggregates [?, ?) from the finest table, so that means are exact."""
    bucket = f"at / {level.step} * {level.step}"
    return (
        f"INSERT OR REPLACE INTO {level.table} "  # noqa: S608
        f"SELECT subject, {bucket}, count(*), {_columns('avg({m}), min({m}), max({m})')} "
        f"FROM {FINE.table} WHERE at >= ? AND at < ? GROUP BY subject, at / {level.step}"
    )


def read() -> str:
    """Buckets of one owner: (part, bucket, then mean, min and max of every metric).

    Each level covers the period given for it.
    """
    parts = []
    for level in LEVELS:
        fine = level is FINE
        spread = _columns("{m}, {m}, {m}" if fine else "{m}, {m}_min, {m}_max")
        # The join order matters: by time for the finest level, by subject for the others.
        joined = f"{level.table} CROSS JOIN subjects" if fine else f"subjects JOIN {level.table}"
        parts.append(
            f"SELECT part, at, {'1' if fine else 'n'} AS n, {spread} "  # noqa: S608
            f"FROM {joined} ON subjects.id = {level.table}.subject "
            f"WHERE at >= :from_{level.step} AND at < :to_{level.step} "
            "AND kind = :kind AND owner = :owner AND (:part IS NULL OR part = :part)"
        )
    named = _columns("{m}, {m}_min, {m}_max")
    totals = _columns(
        "round(sum({m} * n) / sum(iif({m} IS NULL, 0, n)), 3), min({m}_min), max({m}_max)"
    )
    return (
        f"WITH found (part, at, n, {named}) AS ({' UNION ALL '.join(parts)}) "  # noqa: S608
        f"SELECT part, (at - :since) / :step, {totals} FROM found GROUP BY 1, 2"
    )


READ = read()
