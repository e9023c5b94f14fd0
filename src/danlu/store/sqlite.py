"""SQLite: one file, WAL, every commit on disk before it is acknowledged."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, unquote

from danlu.spec.text import Text
from danlu.store.database import Connection, Database
from danlu.store.errors import StoreAway, StoreConflict, StoreError, StoreFull, StoreReadOnly
from danlu.store.reserve import Reserve
from danlu.store.tx import Row, Tx

BUSY_MS = 2000
PATIENT_MS = 60_000  # while another server makes the tables, on a slow disk
CACHE_KIB = 2048

_BUSY, _LOCKED, _READONLY, _IOERR = 5, 6, 8, 10
_CORRUPT, _FULL, _CANTOPEN, _NOTADB = 11, 13, 14, 26
_IOERR_WRITE = _IOERR | (3 << 8)
_TROUBLES = frozenset(
    {_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB, 7, 15, 22, 23}
)


class Gone(Exception):
    """The file was moved or replaced while it was open."""


class Sqlite(Database):
    dialect = "sqlite"
    survives_errors = True

    def __init__(self, url: str) -> None:
        self.path = _path(url)
        self.where = self.path
        self._reserve = Reserve(self.path)

    def reserve(self) -> None:
        self._reserve.renew()

    def close(self) -> None:
        self._reserve.close()

    def connect(self, *, reader: bool = False, patient: bool = False) -> Connection:
        return SqliteConnection(self.path, reader, PATIENT_MS if patient else BUSY_MS)

    def raw(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, timeout=PATIENT_MS / 1000)

    def create(self) -> None:
        """Creates the file, readable by its owner only: it contains secrets."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unopenable(error) from error
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                with contextlib.suppress(PermissionError):
                    os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)

    def keep_copy(self, revision: str) -> str | None:
        kept = f"{self.path}.before-{revision}"
        part = f"{kept}.part"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        # It contains secrets; SQLite accepts an empty file that is there already.
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            connection = self.raw()
            try:
                connection.execute("VACUUM INTO ?", (part,))
            finally:
                connection.close()
            os.replace(part, kept)
        except BaseException:
            os.unlink(part)
            raise
        return kept

    def trouble(self, error: BaseException) -> StoreError | None:
        if isinstance(error, Gone):
            return _away(
                Text(f"{self.path} was moved, removed or replaced", "文件被移动、删除或替换")
            )
        if not isinstance(error, sqlite3.Error):
            return None
        code = _code(error)
        if code not in _TROUBLES:
            return None
        if code == _FULL or (code in (_IOERR, _CANTOPEN) and self._disk_full()):
            return self._full()
        if code == _READONLY or (code in (_IOERR, _CANTOPEN) and not self._writable()):
            return self._read_only()
        if code in (_BUSY, _LOCKED):
            return _away(
                Text(
                    f"{self.path} is locked by another process ({error})",
                    f"{self.path} 被另一个进程锁住（{error}）",
                ),
            )
        if code in (_CORRUPT, _NOTADB):
            return StoreError(
                Text(
                    f"{self.path} is damaged or not a database ({error}). Stop the server and "
                    "restore a backup, or try .recover of the sqlite3 program",
                    f"{self.path} 已损坏或不是数据库（{error}）。请停止服务器并恢复备份，"
                    "或用 sqlite3 的 .recover 尝试修复",
                ),
            )
        return _away(
            Text(
                f"{self.path} cannot be read or written ({error}). Check the disk",
                f"{self.path} 无法读写（{error}）。请检查磁盘",
            ),
        )

    def own(self, error: Exception) -> Exception:
        if isinstance(error, sqlite3.IntegrityError):
            return StoreConflict(Text(f"The database rejected it: {error}", f"数据库拒绝：{error}"))
        return error

    def surely_undone(self, error: BaseException) -> bool:
        # A failed write left nothing behind. But after a failed fsync the commit may still be in
        # the log, where a later recovery would find it.
        if not isinstance(error, sqlite3.Error):
            return False
        unwritten = getattr(error, "sqlite_errorcode", 0) == _IOERR_WRITE
        return unwritten or _code(error) in (_FULL, _BUSY, _READONLY)

    def reusable(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.Error) and _code(error) in (_FULL, _BUSY, _LOCKED)

    def _disk_full(self) -> bool:
        try:
            return os.statvfs(os.path.dirname(self.path) or ".").f_bavail == 0
        except OSError:
            return False

    def _writable(self) -> bool:
        for path in (self.path, f"{self.path}-wal", f"{self.path}-shm"):
            try:
                os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
            except OSError as error:
                if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
                    return False
        return os.access(os.path.dirname(self.path) or ".", os.W_OK)

    def _unopenable(self, error: OSError) -> StoreError:
        folder = os.path.dirname(self.path) or "."
        if error.errno == errno.ENOSPC:
            return self._full()
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return self._read_only()
        if error.errno == errno.ENOENT:
            return StoreError(
                Text(
                    f"The database's folder {folder} does not exist. Create it, or change the "
                    "database URL",
                    f"数据库所在目录 {folder} 不存在。请创建它，或修改数据库 URL",
                ),
            )
        return StoreError(
            Text(
                f"The database {self.path} cannot be opened: {error.strerror}. Check the path",
                f"无法打开数据库 {self.path}：{error.strerror}。请检查路径",
            ),
        )

    def _full(self) -> StoreFull:
        return StoreFull(
            Text(
                f"The disk of the database {self.path} is full; nothing was saved. Free some "
                "space; the server recovers by itself",
                f"数据库 {self.path} 所在磁盘已满，未保存任何内容。请清理空间后重试，服务器会自行"
                "恢复",
            ),
        )

    def _read_only(self) -> StoreReadOnly:
        return StoreReadOnly(
            Text(
                f"The database {self.path} is not writable; nothing was saved. Make the file, its "
                "folder and its disk writable for the server's user, then try again",
                f"数据库 {self.path} 不可写，未保存任何内容。"
                "请让服务器用户可写该文件、目录和磁盘后重试",
            ),
        )


class SqliteConnection(Connection):
    def __init__(self, path: str, reader: bool, busy_ms: int = BUSY_MS) -> None:
        self._path = path
        self._begin = "BEGIN" if reader else "BEGIN IMMEDIATE"
        self._raw = sqlite3.connect(
            f"file:{quote(path)}?mode=rw",  # never create an empty file in place of a missing one
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            timeout=busy_ms / 1000,
        )
        try:
            self._inode = os.stat(path).st_ino
            for pragma in (
                "journal_mode=WAL",
                "synchronous=FULL",
                "foreign_keys=ON",
                "recursive_triggers=ON",  # REPLACE must not bypass the triggers on events
                f"cache_size=-{CACHE_KIB}",
                "journal_size_limit=67108864",
                f"query_only={'ON' if reader else 'OFF'}",
            ):
                self._raw.execute(f"PRAGMA {pragma}").fetchall()
        except BaseException:
            self._raw.close()
            raise
        self.tx = Tx(self._raw.cursor(), "sqlite")

    def begin(self) -> None:
        # SQLite would keep writing to a file that has been unlinked.
        try:
            same = os.stat(self._path).st_ino == self._inode
        except OSError as error:
            raise Gone(str(error)) from error
        if not same:
            raise Gone(self._path)
        self._raw.execute(self._begin)
        self.tx.fresh()

    def commit(self) -> None:
        self._raw.execute("COMMIT")

    def rollback(self) -> None:
        # Some errors (a full disk) roll back on their own.
        if self._raw.in_transaction:
            self._raw.execute("ROLLBACK")
        self.tx.fresh()

    def execute(self, sql: str) -> list[Row]:
        return self._raw.execute(sql).fetchall()

    def pieces(self, sql: str, rows: int) -> Iterator[list[Row]]:
        cursor = self._raw.execute(sql)
        while found := cursor.fetchmany(rows):
            yield found

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._raw.executemany(sql, rows)

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._raw.close()


def _path(url: str) -> str:
    """`sqlite:////absolute/path` or `sqlite:///relative/path`."""
    if not url.startswith("sqlite:///") or not url.removeprefix("sqlite:///").strip("/"):
        raise StoreError(
            Text(
                f"The database URL {url} names no file. Use sqlite:////folder/danlu.db (four "
                "slashes for an absolute path)",
                f"数据库 URL {url} 没有指明文件。请写 sqlite:////目录/danlu.db（从根开始的路径用四"
                "个斜杠）",
            ),
        )
    return os.path.abspath(unquote(url.removeprefix("sqlite:///").split("?", 1)[0]))


def _code(error: sqlite3.Error) -> int:
    # The low byte of an extended code is its primary code; errors of the Python module have none.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _away(message: Text) -> StoreAway:
    return StoreAway(message + Text(".", "。"))
