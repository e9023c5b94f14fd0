"""A transaction as queries see it, and statements compiled once per database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from sqlalchemy.engine import Dialect
from sqlalchemy.sql import Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement

Params = Mapping[str, Any]
Row = tuple[Any, ...]
NOTHING: Params = {}


class Statement:
    """A Core statement and its SQL for each database. All values are named parameters."""

    __slots__ = ("clause", "texts", "writes")

    def __init__(self, clause: Executable) -> None:
        self.clause = clause
        self.texts: dict[str, str] = {}
        self.writes = bool(getattr(clause, "is_dml", False))

    def text(self, dialect: str) -> str:
        found = self.texts.get(dialect)
        return found if found is not None else self._compile(dialect)

    def _compile(self, dialect: str) -> str:
        assert isinstance(self.clause, ClauseElement)
        compiled = self.clause.compile(dialect=dialect_of(dialect))
        assert isinstance(compiled, SQLCompiler)
        hidden = [name for name, bind in compiled.binds.items() if not bind.required]
        if hidden:
            raise TypeError(f"a statement may not carry values of its own: {hidden} in {compiled}")
        self.texts[dialect] = str(compiled)
        return self.texts[dialect]


@cache
def dialect_of(name: str) -> Dialect:
    # Imported on demand: a server uses only one, and each costs memory.
    if name == "sqlite":
        from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

        return SQLiteDialect_pysqlite(paramstyle="named")
    from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

    return PGDialect_psycopg()  # type: ignore[no-untyped-call]


class Cursor(Protocol):
    """The common interface of sqlite3 and psycopg."""

    @property
    def rowcount(self) -> int: ...
    def execute(self, sql: str, params: Any = ..., /) -> Any: ...
    def executemany(self, sql: str, params: Any, /) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Tx:
    """Runs statements inside its connection's open transaction."""

    __slots__ = ("_cursor", "dialect", "failure", "memo", "writes")

    def __init__(self, cursor: Cursor, dialect: str) -> None:
        self._cursor = cursor
        self.dialect = dialect
        self.writes = 0  # number of statements of this transaction that changed something
        self.failure: Exception | None = None  # recorded even if an op swallows it
        self.memo: dict[object, int] = {}  # last numbers assigned; valid until a rollback

    def fresh(self) -> None:
        """Forgets the state of the transaction: it begins, or was rolled back."""
        self.writes = 0
        self.failure = None
        self.memo.clear()

    def rows(self, statement: Statement, params: Params = NOTHING) -> list[Row]:
        try:
            self._cursor.execute(statement.text(self.dialect), params)
            # Fetch everything: with RETURNING a statement is complete only then.
            found = self._cursor.fetchall()
        except Exception as error:
            self.failure = error
            raise
        if statement.writes:
            self.writes += 1
        return found

    def row(self, statement: Statement, params: Params = NOTHING) -> Row | None:
        found = self.rows(statement, params)
        return found[0] if found else None

    def run(self, statement: Statement, params: Params = NOTHING) -> int:
        """Returns how many rows it changed."""
        try:
            self._cursor.execute(statement.text(self.dialect), params)
        except Exception as error:
            self.failure = error
            raise
        self.writes += 1
        return self._cursor.rowcount

    def many(self, statement: Statement, params: Sequence[Params]) -> None:
        try:
            self._cursor.executemany(statement.text(self.dialect), params)
        except Exception as error:
            self.failure = error
            raise
        self.writes += 1
