"""The interface of a database; `sqlite` and `postgres` implement it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from danlu.spec.text import Text
from danlu.store.errors import StoreError
from danlu.store.tx import Row, Tx


class Connection(ABC):
    """A connection, used by one thread."""

    tx: Tx

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def rollback(self) -> None: ...

    @abstractmethod
    def execute(self, sql: str) -> list[Row]:
        """Plain SQL without parameters: savepoints and table definitions."""

    @abstractmethod
    def pieces(self, sql: str, rows: int) -> Iterator[list[Row]]:
        """A long result in chunks of so many rows; inside a transaction."""

    @abstractmethod
    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """One statement for many rows, with positional values."""

    @abstractmethod
    def close(self) -> None:
        """Never raises."""


class Database(ABC):
    dialect: str
    where: str  # for messages: never with a password
    survives_errors: bool  # a failed statement leaves the rest of its transaction intact

    @abstractmethod
    def connect(self, *, reader: bool = False, patient: bool = False) -> Connection:
        """`patient`: waits long for another server that makes the tables."""

    @abstractmethod
    def raw(self) -> Any:
        """A plain connection for the migrations."""

    def create(self) -> None:  # noqa: B027 - a server on a network has nothing to make
        """Creates the folder or file of the database, if that is up to us."""

    def keep_copy(self, revision: str) -> str | None:
        """Copies the database before it is upgraded; returns where to, None if it cannot."""
        return None

    def reserve(self) -> None:  # noqa: B027 - the disk of a server on a network is not ours
        """Keeps some disk space for later writes; called after commits. Never raises."""

    def close(self) -> None:  # noqa: B027
        """Called when all connections are closed."""

    @abstractmethod
    def trouble(self, error: BaseException) -> StoreError | None:
        """The trouble the database is in; None: the error is the statement's own."""

    @abstractmethod
    def own(self, error: Exception) -> Exception:
        """A statement's own error, as callers should see it."""

    @abstractmethod
    def surely_undone(self, error: BaseException) -> bool:
        """True if a COMMIT that failed like this cannot have taken effect."""

    @abstractmethod
    def reusable(self, error: BaseException) -> bool:
        """Whether the connection can be used again after this error."""


def database(url: str) -> Database:
    scheme = url.split(":", 1)[0]
    if scheme == "sqlite":
        from danlu.store.sqlite import Sqlite

        return Sqlite(url)
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        from danlu.store.postgres import Postgres

        return Postgres(url)
    raise StoreError(
        Text(
            f"Unknown database: {scheme}. Use sqlite:////folder/danlu.db or "
            "postgresql://user:password@host/name",
            f"未知的数据库：{scheme}。请写 sqlite:////目录/danlu.db 或 "
            "postgresql://用户:密码@主机/库名",
        ),
    )
