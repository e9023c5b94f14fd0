"""What a database has to offer; `sqlite` and `postgres` are the two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from danlu.store.errors import StoreError
from danlu.store.tx import Row, Tx


class Connection(ABC):
    """One connection, used by one thread."""

    tx: Tx

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def rollback(self) -> None: ...

    @abstractmethod
    def execute(self, sql: str) -> list[Row]:
        """Plain text without parameters: savepoints and table definitions."""

    @abstractmethod
    def pieces(self, sql: str, rows: int) -> Iterator[list[Row]]:
        """A long answer, so many rows at a time; inside a transaction."""

    @abstractmethod
    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """One statement for many rows, its values by position."""

    @abstractmethod
    def close(self) -> None:
        """Never raises."""


class Database(ABC):
    dialect: str
    where: str  # for messages: never with a password
    survives_errors: bool  # a failed statement leaves the rest of its transaction as it was

    @abstractmethod
    def connect(self, *, reader: bool = False) -> Connection: ...

    @abstractmethod
    def raw(self) -> Any:
        """A plain connection for the migrations."""

    def create(self) -> None:  # noqa: B027 - a server on a network has nothing to make
        """Make the place for a database, where that is ours to make."""

    @abstractmethod
    def trouble(self, error: BaseException) -> StoreError | None:
        """The trouble the database is in; None: the error is the statement's own."""

    @abstractmethod
    def own(self, error: Exception) -> Exception:
        """A statement's own error, as callers shall see it."""

    @abstractmethod
    def surely_undone(self, error: BaseException) -> bool:
        """True where a COMMIT that failed like this can never turn out to have been done."""

    @abstractmethod
    def reusable(self, error: BaseException) -> bool:
        """Whether a connection can be used again after this trouble."""


def database(url: str) -> Database:
    scheme = url.split(":", 1)[0]
    if scheme == "sqlite":
        from danlu.store.sqlite import Sqlite

        return Sqlite(url)
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        from danlu.store.postgres import Postgres

        return Postgres(url)
    raise StoreError(
        f"Unknown database: {scheme}. Write sqlite:////folder/danlu.db or "
        "postgresql://user:password@host/name",
        f"未知的数据库：{scheme}。请写 sqlite:////目录/danlu.db 或 "
        "postgresql://用户:密码@主机/库名",
    )
