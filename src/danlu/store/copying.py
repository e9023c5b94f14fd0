"""All tables as text that either database can load: the content of a backup.

One line per row, a JSON list of its columns; a copy of SQLite loads into PostgreSQL and back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Boolean, Table, select

from danlu.spec.text import Text
from danlu.store import migrate, tables
from danlu.store.database import Connection, Database
from danlu.store.errors import StoreError
from danlu.store.tx import Row, dialect_of

NOT_COPIED = frozenset({"batches"})
"""Writer marks: useless to any other server."""

ROWS = 1000


def copied_tables() -> list[Table]:
    """Referenced tables come first."""
    return [table for table in tables.metadata.sorted_tables if table.name not in NOT_COPIED]


def columns_of(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def dump(connection: Connection, table: Table) -> Iterator[tuple[int, bytes]]:
    """The table in chunks: row count and lines. Runs inside the caller's transaction."""
    order = list(table.primary_key.columns)
    query = select(*table.columns).order_by(*order)
    text = str(query.compile(dialect=dialect_of(connection.tx.dialect)))
    flags = [i for i, column in enumerate(table.columns) if isinstance(column.type, Boolean)]
    for rows in connection.pieces(text, ROWS):
        lines = [json.dumps(_plain(row, flags), separators=(",", ":")) for row in rows]
        yield len(rows), ("\n".join(lines) + "\n").encode("ascii")


def _plain(row: Row, flags: list[int]) -> list[Any]:
    values = list(row)
    for index in flags:  # SQLite stores booleans as 0 and 1
        values[index] = None if values[index] is None else bool(values[index])
    return values


def load(connection: Connection, table: str, columns: list[str], lines: Iterable[bytes]) -> int:
    """Inserts rows into a table of this version, or of the version that made the copy."""
    mark = "?" if connection.tx.dialect == "sqlite" else "%s"
    names = ", ".join(f'"{name}"' for name in columns)
    marks = ", ".join([mark] * len(columns))
    text = f'INSERT INTO "{table}" ({names}) VALUES ({marks})'  # noqa: S608 - names are checked
    rows = [json.loads(line) for line in lines]
    for row in rows:
        if not isinstance(row, list) or len(row) != len(columns):
            raise ValueError(f"a row of {table} does not have {len(columns)} columns")
    if rows:
        connection.insert(text, rows)
    return len(rows)


def is_empty(database: Database) -> bool:
    """Whether no Danlu has used this database before. Raises StoreError."""
    try:
        connection = database.connect()
    except Exception as error:
        raise database.trouble(error) or StoreError(Text(str(error), str(error))) from error
    try:
        return not migrate.present(connection, database)
    finally:
        connection.close()
