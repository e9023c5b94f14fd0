from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.files.desk import Desk
from tests.files.people import CONFIG, Someone, join
from tests.support.server import DanluServer


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    found = Desk(tmp_path)
    yield found
    await found.helpers.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    found = DanluServer(tmp_path_factory.mktemp("files") / "data", CONFIG)
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def alice(server: DanluServer) -> Someone:
    return join(server, "alice")


@pytest.fixture(scope="module")
def bob(server: DanluServer) -> Someone:
    return join(server, "bob")
