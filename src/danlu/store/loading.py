"""Loads a copy into a database: all or nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable

from danlu.spec.text import Text
from danlu.store import copying, migrate, tables
from danlu.store.codec import dumps
from danlu.store.database import Connection, Database
from danlu.store.errors import StoreError
from danlu.store.tables import ACTIVE

_TRIGGER_FUNCTIONS = (
    "SELECT DISTINCT p.proname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
    "JOIN pg_class c ON c.oid = t.tgrelid "
    "WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal"
)


class Loading:
    """One transaction, from creating the tables to the last row."""

    def __init__(self, database: Database, aside: str | None = None) -> None:
        """`aside`: where existing tables are moved; without it they are an error."""
        self._database = database
        self._epoch = 0  # of the leader of the tables moved aside
        self._columns: dict[str, list[str]] = {}
        database.create()
        self._connection = database.connect()
        try:
            self._connection.begin()
            if database.dialect == "postgresql":
                self._connection.execute(migrate.LOCK)
                self._connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            if migrate.present(self._connection, database) is not None:
                self._set_aside(aside)
            for definition in migrate.definitions(database.dialect):
                self._connection.execute(definition)
            self._connection.execute("DELETE FROM leader")
        except BaseException:
            self._connection.close()
            raise

    def add(self, table: str, columns: list[str], lines: Iterable[bytes]) -> int:
        return copying.load(self._connection, table, columns, lines)

    def copy_from(self, connection: Connection) -> None:
        """Everything from another database of this version."""
        for table in copying.copied_tables():
            columns = copying.columns_of(table)
            for _, lines in copying.dump(connection, table):
                self.add(table.name, columns, lines.splitlines())

    def settle(self, made_at: float) -> int:
        """Marks what ran when the copy was made as not running here; returns how many jobs.

        The attempts are left to the server: those its engine does not know are lost and retried as
        usual. But nothing that may have run before is launched again under the same id.
        """
        execute = self._connection.execute
        epoch = int(execute("SELECT max(epoch) FROM leader")[0][0] or 0)
        execute(f"UPDATE leader SET epoch = {max(epoch, self._epoch) + 1}")  # noqa: S608
        found = execute(f"SELECT job_id FROM attempts WHERE {ACTIVE} ORDER BY job_id")  # noqa: S608
        execute(
            f"UPDATE attempts SET started_at = created_at WHERE started_at IS NULL AND {ACTIVE}"  # noqa: S608
        )
        last = execute("SELECT max(seq) FROM events")[0][0] or 0
        data = dumps({"made_at": made_at})
        jobs = [row[0] for row in found]
        rows = [
            [seq, job_id, time.time(), "restored", "danlu", data]
            for seq, job_id in enumerate([*jobs, None], last + 1)
        ]
        columns = ["seq", "job_id", "at", "kind", "actor", "data"]
        copying.load(self._connection, "events", columns, [dumps(row).encode() for row in rows])
        return len(jobs)

    def commit(self) -> None:
        try:
            self._connection.commit()
        finally:
            self._connection.close()

    def undo(self) -> None:
        try:
            self._connection.rollback()
        finally:
            self._connection.close()

    def _set_aside(self, schema: str | None) -> None:
        database, execute = self._database, self._connection.execute
        if schema is None or database.dialect != "postgresql":
            raise StoreError(
                Text(
                    f"{database.where} is in use: it contains the tables of a Danlu. Use an empty "
                    "database, or --force to move them aside",
                    f"{database.where} 已在使用：其中有 Danlu 的表。请使用空数据库，"
                    "或用 --force 将其移到一边",
                ),
            )
        self._epoch = int(execute("SELECT coalesce(max(epoch), 0) FROM leader")[0][0])
        present = {row[0] for row in execute(migrate.TABLES["postgresql"])}
        ours = [*tables.metadata.tables, tables.version.name]
        functions = [str(row[0]) for row in execute(_TRIGGER_FUNCTIONS)]
        execute(f'CREATE SCHEMA "{schema}"')
        for table in ours:
            if table in present:
                execute(f'ALTER TABLE "{table}" SET SCHEMA "{schema}"')
        for function in functions:
            execute(f'ALTER FUNCTION "{function}"() SET SCHEMA "{schema}"')
