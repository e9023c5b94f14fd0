"""PostgreSQL through psycopg 3."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import conninfo

from danlu.spec.text import Text
from danlu.store.database import Connection, Database
from danlu.store.errors import StoreAway, StoreConflict, StoreError, StoreFull, StoreReadOnly
from danlu.store.tx import Row, Tx

# Detects a vanished server within seconds.
_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 2,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "danlu",
}
# A server frozen in the middle of a transaction must not block the others for long.
_WRITER = (
    "SET lock_timeout = '2s'",
    "SET idle_in_transaction_session_timeout = '5s'",
    "SET default_transaction_isolation = 'read committed'",
)

_PASSING = ("08", "57", "40")  # connection, shutdown or crash, lost to another transaction
_PASSING_CODES = frozenset({"53300", "55P03", "25P03"})


class NotCommitted(Exception):
    """The database answered ROLLBACK to a COMMIT: an earlier statement had failed."""


class Postgres(Database):
    dialect = "postgresql"
    survives_errors = False

    def __init__(self, url: str) -> None:
        self._url = "postgresql:" + url.split(":", 1)[1]
        try:
            parts = conninfo.conninfo_to_dict(self._url)
        except psycopg.Error as error:
            raise StoreError(
                Text(
                    f"Invalid database URL ({_line(error)}). Use "
                    "postgresql://user:password@host/name",
                    f"无法解析数据库 URL（{_line(error)}）。请写 postgresql://用户:密码@主机/库名",
                ),
            ) from None
        self._options = {key: value for key, value in _DEFAULTS.items() if key not in parts}
        host = parts.get("host") or parts.get("hostaddr") or "the local socket"
        self.where = f"PostgreSQL {parts.get('dbname') or 'default'} at {host}"

    def connect(self, *, reader: bool = False, patient: bool = False) -> Connection:
        raw = psycopg.connect(self._url, autocommit=True, prepare_threshold=1, **self._options)
        return PostgresConnection(raw, reader)

    def raw(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._url, **self._options)

    def trouble(self, error: BaseException) -> StoreError | None:
        if isinstance(error, NotCommitted):
            return self._away(error)
        if not isinstance(error, psycopg.Error):
            return None
        code = error.sqlstate or ""
        if code == "53100":
            return StoreFull(
                Text(
                    f"The disk of {self.where} is full; nothing was saved. Free some space there; "
                    "the server recovers by itself",
                    f"{self.where} 的磁盘已满，未保存任何内容。请清理空间后重试，服务器会自行恢复",
                ),
            )
        if code == "25006":
            return StoreReadOnly(
                Text(
                    f"{self.where} is read-only; nothing was saved. Make it writable (it may be a "
                    "standby, or default_transaction_read_only is on), then try again",
                    f"{self.where} 为只读，未保存任何内容。请恢复可写"
                    "（可能是备库，或 default_transaction_read_only 已打开）后重试",
                ),
            )
        lost = not code and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if lost or code[:2] in _PASSING or code in _PASSING_CODES:
            return self._away(error)
        if code[:2] in ("53", "58", "XX"):
            return StoreError(
                Text(
                    f"{self.where} reports an error: {_line(error)}. Check its own log",
                    f"{self.where} 出现故障：{_line(error)}。请查看它自己的日志",
                ),
            )
        return None

    def own(self, error: Exception) -> Exception:
        if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
            return StoreConflict(
                Text(f"The database rejected it: {_line(error)}", f"数据库拒绝：{_line(error)}")
            )
        return error

    def surely_undone(self, error: BaseException) -> bool:
        return isinstance(error, NotCommitted)

    def reusable(self, error: BaseException) -> bool:
        return isinstance(error, psycopg.Error) and error.sqlstate in ("55P03", "53100", "40P01")

    def _away(self, error: BaseException) -> StoreAway:
        return StoreAway(
            Text(
                f"{self.where} does not answer ({_line(error)}). Check that it is running and that "
                "the URL is right.",
                f"{self.where} 没有响应（{_line(error)}）。请检查它是否在运行、URL 是否正确。",
            ),
        )


class PostgresConnection(Connection):
    def __init__(self, raw: psycopg.Connection[Any], reader: bool) -> None:
        self._raw = raw
        self._cursor = raw.cursor()
        self._begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY" if reader else "BEGIN"
        self.tx = Tx(self._cursor, "postgresql")
        try:
            if not reader:
                for setting in _WRITER:
                    raw.execute(setting)
                # Only ever raised: an admin may have chosen something stronger than "on".
                row = raw.execute("SHOW synchronous_commit").fetchone()
                if row and row[0] == "off":
                    raw.execute("SET synchronous_commit = on")
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        self.tx.fresh()
        self._cursor.execute(self._begin, prepare=False)

    def commit(self) -> None:
        self._cursor.execute("COMMIT", prepare=False)
        if self._cursor.statusmessage != "COMMIT":
            raise NotCommitted(f"{self._cursor.statusmessage} instead of COMMIT")

    def rollback(self) -> None:
        self.tx.fresh()
        self._cursor.execute("ROLLBACK", prepare=False)

    def execute(self, sql: str) -> list[Row]:
        cursor = self._raw.execute(sql.encode(), prepare=False)
        return cursor.fetchall() if cursor.description else []

    def pieces(self, sql: str, rows: int) -> Iterator[list[Row]]:
        self.execute(f"DECLARE danlu_pieces NO SCROLL CURSOR FOR {sql}")
        while found := self.execute(f"FETCH {rows} FROM danlu_pieces"):
            yield found
        self.execute("CLOSE danlu_pieces")

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._raw.cursor().executemany(sql.encode(), rows)

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._raw.close()


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
