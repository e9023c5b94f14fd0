"""Uids and gids assigned by all Danlu servers of this machine.

Each server only knows its own people. If two of them gave one number to different people, their
tasks could read and end each other's.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

PATH = Path("/var/lib/danlu/uids.db")
_TABLE = (
    "CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY, installation TEXT NOT NULL, "
    "data TEXT NOT NULL, at REAL NOT NULL)"
)
_CLAIM = (
    "INSERT INTO numbers VALUES (?, ?, ?, ?) ON CONFLICT (number) DO UPDATE "
    "SET data = excluded.data WHERE installation = excluded.installation"
)


class Registry:
    def __init__(self, installation: str, data: Path, path: Path = PATH) -> None:
        """Raises OSError or sqlite3.Error if this machine's registry cannot be used."""
        self._installation, self._data, self._path = installation, str(data.absolute()), path
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        with self._open() as db:
            db.execute(_TABLE)
            self._release(db)

    def taken(self) -> dict[int, str]:
        """The numbers of other servers, with their data folders."""
        query = "SELECT number, data FROM numbers WHERE installation <> ?"
        with self._open() as db:
            return dict(db.execute(query, (self._installation,)))

    def claim(self, numbers: Iterable[int]) -> bool:
        """False: another server was faster with one of them. Claiming again changes nothing."""
        with self._open() as db:
            rows = [(n, self._installation, self._data, time.time()) for n in set(numbers)]
            return sum(db.execute(_CLAIM, row).rowcount for row in rows) == len(rows)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._path, timeout=30)) as db, db:
            db.execute("BEGIN IMMEDIATE")
            yield db

    def _release(self, db: sqlite3.Connection) -> None:
        """Trials in a temporary folder leave nothing behind that carries their numbers. All others
        keep theirs forever, also if the folder is gone: it may be on a disk that is away.
        """
        temporary = os.path.realpath(tempfile.gettempdir()) + "/"
        folders = [row[0] for row in db.execute("SELECT DISTINCT data FROM numbers")]
        gone = [each for each in folders if each.startswith(temporary) and not os.path.exists(each)]
        db.executemany("DELETE FROM numbers WHERE data = ?", [(each,) for each in gone])
