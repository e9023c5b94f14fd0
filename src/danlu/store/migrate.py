"""Migrates a database to this version's tables. Alembic is loaded only for older ones."""

from __future__ import annotations

import logging
import os

from sqlalchemy.schema import CreateIndex, CreateTable, Index

from danlu.spec.text import Text
from danlu.store import tables
from danlu.store.database import Connection, Database
from danlu.store.errors import StoreError, StoreNewer
from danlu.store.tx import dialect_of

REVISIONS = (
    *("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010"),
    *("0011", "0012", "0013", "0014", "0015", "0016"),
)
"""All of `migrations/versions`, oldest first, known without loading Alembic."""

MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
LOCK = "SELECT pg_advisory_xact_lock(7310572)"
TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
}


log = logging.getLogger("danlu.store")


def prepare(database: Database) -> None:
    """Creates or upgrades the tables. Two servers may do this at once: one waits for the other."""
    try:
        database.create()
        connection = database.connect(patient=True)
        try:
            found = _version_or_create(connection, database)
        finally:
            connection.close()
        if found not in REVISIONS:
            raise _newer(database, found)
        if found != REVISIONS[-1]:
            kept = database.keep_copy(REVISIONS[REVISIONS.index(found) + 1])
            where = f"; it was copied to {kept} first" if kept else ""
            log.info("upgrading %s from table version %s%s", database.where, found, where)
            upgrade(database)
    except StoreError:
        raise
    except Exception as error:
        raise database.trouble(error) or _refused(database, error) from error


def upgrade(database: Database, to: str = "head") -> None:
    """Runs the migrations. Loads Alembic."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import NullPool, create_engine, event

    url = "sqlite://" if database.dialect == "sqlite" else "postgresql+psycopg://"
    engine = create_engine(url, creator=database.raw, poolclass=NullPool)
    # All or nothing: by default the driver would commit each definition separately.
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
        connection.execute("SET LOCAL lock_timeout = '60s'")
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
    """The version of the existing tables; None: no Danlu has used this database."""
    names = {row[0] for row in connection.execute(TABLES[database.dialect])}
    if tables.version.name not in names:
        taken = sorted(names & tables.metadata.tables.keys())
        if taken:
            raise _foreign(database, taken)
        return None
    rows = connection.execute("SELECT version_num FROM alembic_version")
    return str(rows[0][0]) if rows else ""


def definitions(dialect: str) -> list[str]:
    """Creates a new database in one step: the result of all migrations."""
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
        Text(
            f"{database.where} was last used by a newer Danlu (table version {found or '?'}; this "
            f"one supports up to {REVISIONS[-1]}). Install the newer version, or restore a backup "
            "made before the upgrade",
            f"{database.where} 上次由更新版本的 Danlu 使用（表版本 {found or '?'}，"
            f"本版本最高支持 {REVISIONS[-1]}）。请安装新版 Danlu，或恢复升级前的备份",
        ),
    )


def _foreign(database: Database, names: list[str]) -> StoreError:
    listed = ", ".join(names)
    return StoreError(
        Text(
            f"{database.where} belongs to another program: it has tables ({listed}) that Danlu did "
            "not create. Give Danlu its own database",
            f"{database.where} 属于别的程序：其中有不是 Danlu 建的表（{listed}）。"
            "请给 Danlu 单独的数据库",
        ),
    )


def _refused(database: Database, error: Exception) -> StoreError:
    return StoreError(
        Text(
            f"{database.where} cannot be set up: {error}. Check that its user may create tables",
            f"无法准备 {database.where}：{error}。请检查数据库用户是否有建表权限",
        ),
    )
