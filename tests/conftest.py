from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.postgres import HOW_TO_GET_IT, PostgresServer, find_binaries


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    binaries = find_binaries()
    if binaries is None:
        if os.environ.get("CI") == "true":
            pytest.fail(HOW_TO_GET_IT)
        pytest.skip(HOW_TO_GET_IT)
    server = PostgresServer(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()
