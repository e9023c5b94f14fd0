from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.parts import missing
from tests.support.postgres import HOW_TO_GET_IT, PostgresServer, find_binaries


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    binaries = find_binaries()
    if binaries is None:
        missing("PostgreSQL", HOW_TO_GET_IT)
    server = PostgresServer(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()
