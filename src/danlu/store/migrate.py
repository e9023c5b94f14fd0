"""Brings a database to the tables this version needs. Alembic is loaded only for older ones."""

from __future__ import annotations

import os

from sqlalchemy.schema import CreateIndex, CreateTable, Index

from danlu.store import tables
from danlu.store.database import Connection, Database
from danlu.store.errors import StoreError, StoreNewer
from danlu.store.tx import dialect_of

REVISIONS = ("0001", "0002", "0003", "0004")
"""All of `migrations/versions`, oldest first: known without loading Alembic."""

MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
LOCK = "SELECT pg_advisory_xact_lock(7310572)"
TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
}


def prepare(database: Database) -> None:
    """Create or upgrade. Two servers may do this at once: one waits for the other."""
    try:
        database.create()
        connection = database.connect()
        try:
            found = _version_or_create(connection, database)
        finally:
            connection.close()
        if found not in REVISIONS:
            raise _newer(database, found)
        if found != REVISIONS[-1]:
            upgrade(database)
    except StoreError:
        raise
    except Exception as error:
        raise database.trouble(error) or _refused(database, error) from error


def upgrade(database: Database, to: str = "head") -> None:
    """Run the migrations. Loads Alembic."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import NullPool, create_engine, event

    url = "sqlite://" if database.dialect == "sqlite" else "postgresql+psycopg://"
    engine = create_engine(url, creator=database.raw, poolclass=NullPool)
    # Whole or not at all: the driver by itself would commit each definition on its own.
    first = "BEGIN IMMEDIATE" if database.dialect == "sqlite" else LOCK
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(first))
    config = Config()
    config.set_main_option("script_location", MIGRATIONS.replace("%", "%%"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, to)


def _version_or_create(connection: Connection, database: Database) -> str:
    connection.begin()
    if database.dialect == "postgresql":
        connection.execute(LOCK)
    found = present(connection, database)
    if found is not None:
        connection.rollback()
        return found
    for definition in definitions(database.dialect):
        connection.execute(definition)
    connection.commit()
    return REVISIONS[-1]


def present(connection: Connection, database: Database) -> str | None:
    """The version of the tables that are there; None: no Danlu has been here."""
    names = {row[0] for row in connection.execute(TABLES[database.dialect])}
    if tables.version.name not in names:
        taken = sorted(names & tables.metadata.tables.keys())
        if taken:
            raise _foreign(database, taken)
        return None
    rows = connection.execute("SELECT version_num FROM alembic_version")
    return str(rows[0][0]) if rows else ""


def definitions(dialect: str) -> list[str]:
    """A new database in one go: what all migrations together would make."""
    made: list[str] = []
    for table in (*tables.metadata.sorted_tables, tables.version):
        made.append(str(CreateTable(table).compile(dialect=dialect_of(dialect))))
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        made += [_index(index, dialect) for index in indexes]
    made += tables.APPEND_ONLY[dialect]
    made.append(tables.FIRST_LEADER)
    made.append(f"INSERT INTO alembic_version (version_num) VALUES ('{REVISIONS[-1]}')")  # noqa: S608
    return made


def _index(index: Index, dialect: str) -> str:
    where = index.info.get("where")
    made = str(CreateIndex(index).compile(dialect=dialect_of(dialect)))
    return made if where is None else f"{made} WHERE {where}"


def _newer(database: Database, found: str) -> StoreNewer:
    return StoreNewer(
        f"{database.where} was last used by a newer Danlu (its tables are version {found or '?'}, "
        f"this one knows up to {REVISIONS[-1]}). Install the newer Danlu, or put back a backup "
        "made before the upgrade",
        f"{database.where} 上次由更新版本的 Danlu 使用（表版本 {found or '?'}，"
        f"本版本最高支持 {REVISIONS[-1]}）。请安装新版 Danlu，或恢复升级前的备份",
    )


def _foreign(database: Database, names: list[str]) -> StoreError:
    listed = ", ".join(names)
    return StoreError(
        f"{database.where} belongs to another program: it has tables ({listed}) that Danlu did not "
        "make. Give Danlu a database of its own",
        f"{database.where} 属于别的程序：其中有不是 Danlu 建的表（{listed}）。"
        "请给 Danlu 单独的数据库",
    )


def _refused(database: Database, error: Exception) -> StoreError:
    return StoreError(
        f"{database.where} cannot be prepared: {error}. Check that its user may create tables",
        f"无法准备 {database.where}：{error}。请检查数据库用户是否有建表权限",
    )
