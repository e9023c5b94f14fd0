"""Samples in a file of their own, thinned out as they age, up to a maximum size."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import threading
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from danlu.metrics import tables
from danlu.metrics.tables import COARSE, DAY, FINE, HOUR, LEVELS, MIDDLE, Level
from danlu.metrics.values import METRICS, Kind, Sample, Subject

LARGEST = 1 << 30  # bytes; the default limit
SMALLEST = 1 << 20  # less would not hold an hour of one node
_MARGIN = COARSE.step  # so that readers do not lose rows meanwhile
_LATE = 60  # seconds; a slow engine's samples carry the time of the request
_PATIENCE = 5.0  # seconds to wait for the other connection


class Window(NamedTuple):
    """Evenly spaced times: `since + step * index`."""

    since: int
    step: int
    size: int

    @property
    def until(self) -> int:
        return self.since + self.step * self.size


class Bucket(NamedTuple):
    mean: float | None
    low: float | None
    high: float | None


Row = dict[str, Bucket]  # by metric
Found = dict[int, dict[int, Row]]  # by part, by index in the window


def window(since: float, until: float, points: int, now: float) -> Window:
    """At most `points` steps, none finer than the stored resolution."""
    finest = next((level.step for level in LEVELS if now - since <= level.keep), COARSE.step)
    wanted = max(float(finest), (until - since) / points)
    unit = max(level.step for level in LEVELS if level.step <= wanted)
    step = math.ceil(wanted / unit) * unit
    start = int(since // step * step)
    return Window(start, step, max(1, math.ceil((until - start) / step)))


class Archive:
    """Every method blocks: call it from a worker thread. One writer, many readers."""

    def __init__(self, path: Path, largest: int = LARGEST) -> None:
        self.path = path
        self._largest = largest
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._ids: dict[Subject, int] = {}
        self._tidied: dict[int, float] = {}

    # -- writing ------------------------------------------------------------------------------

    def write(self, samples: Sequence[Sample], now: float | None = None) -> None:
        """Raises OSError on failure; only these samples are lost."""
        with self._lock:
            try:
                self._write(samples, time.time() if now is None else now)
            except sqlite3.OperationalError as error:  # disk full, or file locked
                self._close()
                raise OSError(f"{self.path}: {error}") from error
            except sqlite3.DatabaseError as error:
                self._close()
                self._put_aside()
                raise OSError(f"{self.path}: {error}; starting a new file") from error

    def _write(self, samples: Sequence[Sample], now: float) -> None:
        db = self._opened()
        with db:
            ids = {sample.subject: self._id(db, sample.subject) for sample in samples}
            db.executemany(
                tables.ADD_SAMPLE,
                [(int(sample.at), ids[sample.subject], *_row(sample)) for sample in samples],
            )
        self._ids = ids
        self._tidy(db, now)

    def fill(self, level: Level, samples: Sequence[Sample]) -> None:
        """Adds a past at a given resolution."""
        with self._lock:
            db = self._opened()
            with db:
                subjects = {sample.subject for sample in samples}
                ids = {subject: self._id(db, subject) for subject in subjects}
                db.executemany(
                    tables.add(level),
                    [(int(sample.at), ids[sample.subject], *_row(sample)) for sample in samples],
                )
                latest = max((int(sample.at) for sample in samples), default=0)
                db.execute(tables.ROLLED_UP, (level.step, latest + level.step))

    def close(self) -> None:
        with self._lock:
            self._close()

    def _id(self, db: sqlite3.Connection, subject: Subject) -> int:
        known = self._ids.get(subject)
        if known is not None:
            return known
        found = db.execute(tables.FIND_SUBJECT, subject).fetchone()
        if found is not None:
            return int(found[0])
        return int(db.execute(tables.ADD_SUBJECT, subject).lastrowid or 0)

    # -- ageing -------------------------------------------------------------------------------

    def _tidy(self, db: sqlite3.Connection, now: float) -> None:
        for level in (MIDDLE, COARSE):
            self._roll_up(db, level, now)
        for level, every in ((FINE, 60), (MIDDLE, HOUR), (COARSE, DAY)):
            if self._due(level.step, every, now):
                with db:
                    _cut(db, level.table, now - level.keep - _MARGIN)
                    if level is COARSE:
                        db.execute(tables.FORGET_SUBJECTS)
                        self._ids = {}
        if self._due(0, 60, now):
            self._bound(db)

    def _roll_up(self, db: sqlite3.Connection, level: Level, now: float) -> None:
        upto = int((now - _LATE) // level.step * level.step)
        with db:
            found = db.execute("SELECT until FROM rolled_up WHERE step = ?", (level.step,))
            since = next(found, (0,))[0]
            if since < upto:
                db.execute(tables.roll_up(level), (since, upto))
            if since != upto:  # in the future: the clock was set back
                db.execute(tables.ROLLED_UP, (level.step, upto))

    def _due(self, what: int, every: float, now: float) -> bool:
        last = self._tidied.get(what)
        if last is not None and 0 <= now - last < every:
            return False
        self._tidied[what] = now
        return True

    def _bound(self, db: sqlite3.Connection) -> None:
        """Deletes the oldest tenth of every table until the file is small enough."""
        while (size := _used(db)) > self._largest:
            with db:
                for level in LEVELS:
                    ends = f"SELECT min(at), max(at) FROM {level.table}"  # noqa: S608
                    first, last = db.execute(ends).fetchone()
                    if first is not None and last - first >= 2 * level.step:
                        _cut(db, level.table, first + max(level.step, (last - first) // 10))
                db.execute(tables.FORGET_SUBJECTS)
                self._ids = {}
            if _used(db) >= size:
                break
        db.executescript("PRAGMA incremental_vacuum")  # execute() frees only one page

    # -- reading ------------------------------------------------------------------------------

    def read(
        self, kind: Kind, owner: str, shown: Window, part: int | None = None, now: float = 0.0
    ) -> Found:
        """Raises OSError if the file cannot be read. Empty if there is none yet."""
        if not self.path.exists():
            return {}
        try:
            with contextlib.closing(_connect(self._uri)) as db:
                db.execute("PRAGMA query_only = ON")
                if _version(db) != tables.VERSION:
                    return {}
                return _read(db, kind, owner, shown, part, now or time.time())
        except sqlite3.Error as error:
            raise OSError(f"{self.path}: {error}") from error

    # -- the file -----------------------------------------------------------------------------

    @property
    def _uri(self) -> str:
        return f"file:{urllib.parse.quote(str(self.path))}"

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            # Created here with a mode that keeps other users out.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._db = _prepared(self._uri)
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._db, self._ids = None, {}

    def _put_aside(self) -> None:
        """Moves an unusable file aside, so that measuring goes on."""
        self.path.replace(self.path.with_name(f"{self.path.name}.broken"))
        for end in ("-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)


def _read(
    db: sqlite3.Connection, kind: Kind, owner: str, shown: Window, part: int | None, now: float
) -> Found:
    values = {
        "kind": kind,
        "owner": owner,
        "part": part,
        "since": shown.since,
        "step": shown.step,
        **_stretches(shown, now),
    }
    found: Found = {}
    for row in db.execute(tables.READ, values):
        found.setdefault(row[0], {})[row[1]] = _buckets(row[2:])
    return found


def _connect(name: str) -> sqlite3.Connection:
    db = sqlite3.connect(name, timeout=_PATIENCE, uri=True, check_same_thread=False)
    db.execute("PRAGMA cache_size = -512")  # KiB: rarely read, never twice
    return db


def _prepared(name: str) -> sqlite3.Connection:
    db = _connect(name)
    try:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        # No fsync per commit: a power cut may lose the last samples, nothing else.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA journal_size_limit = 4194304")
        found = _version(db)
        if found not in (0, tables.VERSION):
            raise sqlite3.DatabaseError(f"written by another version ({found})")
        if found == 0:
            db.executescript(f"BEGIN;{tables.SCHEMA}PRAGMA user_version = {tables.VERSION};COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _used(db: sqlite3.Connection) -> int:
    pages, free, size = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _cut(db: sqlite3.Connection, table: str, before: float) -> None:
    db.execute(f"DELETE FROM {table} WHERE at < ?", (int(before),))  # noqa: S608


def _row(sample: Sample) -> list[float | None]:
    return [sample.values.get(name) for name in METRICS]


def _stretches(shown: Window, now: float) -> dict[str, int]:
    """The level for each period: the finest one still stored."""
    fine = _up(now - FINE.keep, MIDDLE.step)
    middle = _up(now - MIDDLE.keep, COARSE.step)
    ends = {FINE: (fine, 1 << 62), MIDDLE: (middle, fine), COARSE: (0, middle)}
    found = {}
    for level, (first, last) in ends.items():
        found[f"from_{level.step}"] = max(first, shown.since)
        found[f"to_{level.step}"] = min(last, shown.until)
    return found


def _up(at: float, step: int) -> int:
    return math.ceil(at / step) * step


def _buckets(values: Sequence[float | None]) -> Row:
    found = {}
    for place, name in enumerate(METRICS):
        bucket = Bucket(*values[3 * place : 3 * place + 3])
        if bucket.mean is not None:
            found[name] = bucket
    return found
