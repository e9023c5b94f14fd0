from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.folders import let_in
from tests.support.parts import missing
from tests.support.postgres import HOW_TO_GET_IT, PostgresServer, find_binaries


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """pytest's own, where tasks can read and write too."""
    return let_in(tmp_path)


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
