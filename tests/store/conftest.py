"""Every test that asks for `url`, `store` or `connection` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from danlu.store import Store, migrate
from danlu.store.database import Connection, database
from tests.support.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/danlu.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    opened = Store.open(url)
    yield opened
    await opened.close()


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    """A writer's connection, for what needs no threads."""
    opened = database(url)
    migrate.prepare(opened)
    connection = opened.connect()
    yield connection
    connection.close()
