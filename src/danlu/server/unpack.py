"""Unpacks a backup: into a draft folder first, then into place, atomically per item."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from danlu.files import archive, sparse
from danlu.files.archive import Broken, Readable
from danlu.files.backup import KEY_SUFFIX, OF_USERS, PRIVATE
from danlu.server.below import OF_ONE_ENTRY, Below, Look, remove_tree
from danlu.spec.text import Text
from danlu.store import copying, migrate
from danlu.store.database import Database, database
from danlu.store.loading import Loading

_KINDS = ("tables", "settings", "private", "logs", *OF_USERS)


@dataclass(slots=True)
class Restored:
    made_at: float
    rows: dict[str, int] = field(default_factory=dict)
    logs: int = 0
    homes: int = 0
    running: int = 0  # jobs that were running when the backup was made
    config: bytes | None = None
    aside: Path | None = None  # where the previous data was moved
    skipped: list[str] = field(default_factory=list)  # what users had that cannot be put here
    skipped_count: int = 0

    def skip(self, name: str) -> None:
        self.skipped_count += 1
        if len(self.skipped) < archive.MOST_SKIPPED:
            self.skipped.append(name)


class Unpacking:
    """Into a folder inside the data folder, so that moving into place is a rename."""

    def __init__(self, data: Path, head: dict[str, Any], target: Loading) -> None:
        self.restored = Restored(float(head["made_at"]))
        self._data = data
        self._head = head
        self._target = target
        self._links: list[tuple[str, str, Look]] = []
        self._folders: dict[str, Look] = {}
        self._unfinished: str | None = None  # a file with holes of which more is to come
        self.draft = data / f".restoring-{os.getpid()}"
        self.draft.mkdir(mode=0o700)
        self._below = Below(self.draft)

    def take(self, info: tarfile.TarInfo, source: Readable) -> None:
        kind, _, rest = info.name.partition("/")
        parts = rest.split("/")
        if kind not in _KINDS or not rest or any(part in ("", ".", "..") for part in parts):
            raise Broken(
                Text(
                    f"The backup contains an unexpected entry: {info.name!r}",
                    f"备份中有意外的内容：{info.name!r}",
                ),
            )
        if kind == "tables":
            self._rows(parts[0], source)
        elif kind == "settings":
            self.restored.config = source.read()
        elif kind == "private":
            self._private(parts, source)
        elif kind == "logs":
            self._file(info, source)
            self.restored.logs += 1
        else:
            self._home(info, source)

    def finish(self) -> None:
        """Links last, so that nothing is written through one; then the modes of folders."""
        for name, target, look in self._links:
            with self._one(name):
                self._below.link(name, target, look)
                self.restored.homes += 1
        for name, look in reversed(self._folders.items()):
            with self._one(name):
                self._below.finish_folder(name, look)

    def discard(self) -> None:
        self._below.close()
        remove_tree(self.draft)

    @contextlib.contextmanager
    def _one(self, name: str) -> Iterator[None]:
        """One user's one entry must not keep everybody's from being restored."""
        try:
            yield
        except OSError as error:
            if error.errno not in OF_ONE_ENTRY:
                raise
            self.restored.skip(name)

    def _rows(self, table: str, source: Readable) -> None:
        columns = self._head["tables"].get(table)
        if columns is None:
            raise Broken(Text(f"The backup lacks the table {table}", f"备份缺少表 {table}"))
        lines = source.read().splitlines()
        rows = self._target.add(table, columns, lines)
        self.restored.rows[table] = self.restored.rows.get(table, 0) + rows

    def _private(self, parts: list[str], source: Readable) -> None:
        name = parts[0]
        if len(parts) > 1 or not (name in PRIVATE or name.endswith(KEY_SUFFIX)):
            raise Broken(
                Text(
                    f"The backup contains an unexpected entry: {name!r}",
                    f"备份中有意外的内容：{name!r}",
                )
            )
        path = self.draft / "private" / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _write(str(path), source, 0o600)

    def _home(self, info: tarfile.TarInfo, source: Readable) -> None:
        look = Look.of(info)
        if info.issym():
            self._links.append((info.name, info.linkname, look))
            return
        with self._one(info.name):
            if info.isdir():
                self._below.folder(info.name)
                self._folders[info.name] = look
            elif sparse.HEADER in info.pax_headers:
                if not self._with_holes(info, source, look):
                    return
            else:
                self._file(info, source)
            self.restored.homes += 1

    def _with_holes(self, info: tarfile.TarInfo, source: Readable, look: Look) -> bool:
        """Returns whether it is the file's first entry."""
        try:
            part = sparse.Part.of(info.pax_headers[sparse.HEADER])
            if part.number > 0 and self._unfinished != info.name:
                return False  # its beginning was skipped
            self._unfinished = None
            self._below.file_with_holes(info.name, part, source, look)
        except ValueError:
            raise Broken(
                Text(f"{info.name} in the backup is damaged", f"备份中的 {info.name} 已损坏")
            ) from None
        self._unfinished = info.name if part.more else None
        return part.number == 0

    def _file(self, info: tarfile.TarInfo, source: Readable) -> None:
        if not info.isreg():
            raise Broken(
                Text(f"{info.name} in the backup is not a file", f"备份中的 {info.name} 不是文件")
            )
        self._below.file(info.name, source, Look.of(info))


def _write(path: str, source: Readable, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        while piece := source.read(archive.PIECE):
            file.write(piece)


class Placing:
    """From the draft into the data folder; can be undone until the database has committed."""

    def __init__(self, data: Path, draft: Path) -> None:
        self._data = data
        self._draft = draft
        self._moves: list[tuple[Path, Path]] = []
        self._stamp = time.strftime("%Y%m%d-%H%M%S")
        self.aside: Path | None = None

    def place(self) -> None:
        private = self._draft / "private"
        for path in sorted(private.iterdir()) if private.is_dir() else ():
            self.put(path, self._data / path.name)
        for kind in ("logs", *OF_USERS):
            if (self._draft / kind).is_dir():
                self._merge(kind)

    def put(self, source: Path, target: Path) -> None:
        if target.exists() or target.is_symlink():
            self.set_aside(target)
        self._move(source, target)

    def set_aside(self, path: Path) -> None:
        """On the same disk, so this is a rename."""
        if path.is_relative_to(self._data):
            place = self._aside() / path.relative_to(self._data)
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            place = path.with_name(f"{path.name}.before-restore-{self._stamp}")
        self._move(path, place)

    def undo(self) -> None:
        for source, target in reversed(self._moves):
            os.replace(target, source)
        if self.aside is not None:
            shutil.rmtree(self.aside, ignore_errors=True)

    def _merge(self, kind: str) -> None:
        for entry in sorted((self._draft / kind).iterdir()):
            target = self._data / kind / entry.name
            target.parent.mkdir(mode=0o700, exist_ok=True)
            if kind != "logs" or not target.is_dir():
                self.put(entry, target)
                continue
            # Logs only grow: of two with the same name, the longer one contains the other.
            for log in sorted(entry.iterdir()):
                there = target / log.name
                if not there.exists() or there.stat().st_size < log.stat().st_size:
                    self.put(log, there)

    def _move(self, source: Path, target: Path) -> None:
        os.replace(source, target)
        self._moves.append((source, target))

    def _aside(self) -> Path:
        if self.aside is None:
            self.aside = self._data / f"before-restore-{self._stamp}"
            self.aside.mkdir(mode=0o700)
        return self.aside


def upgraded(path: str, head: dict[str, Any], draft: Path) -> Database:
    """The rows of an older backup, migrated to this version in a temporary database."""
    found = database(f"sqlite:///{draft / 'older.db'}")
    found.create()
    migrate.upgrade(found, str(head["revision"]))
    connection = found.connect()
    connection.begin()
    connection.execute("DELETE FROM leader")

    def take(info: tarfile.TarInfo, source: Readable) -> None:
        kind, _, rest = info.name.partition("/")
        if kind == "tables":
            table = rest.partition("/")[0]
            copying.load(connection, table, head["tables"][table], source.read().splitlines())

    try:
        archive.read(path, take)
        connection.commit()
    except sqlite3.Error as error:
        raise Broken(Text(f"Its rows do not match: {error}", f"数据行不匹配：{error}")) from None
    finally:
        connection.close()
    migrate.upgrade(found)
    return found
