from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.server import DanluServer

CLUSTER = """
[[nodes]]
name = "n1"
cpus = 24
memory = "200G"
gpus = "4:RTX3090"

[[nodes]]
name = "n2"
cpus = 24
memory = "200G"
gpus = "4:A100"
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("cli") / "data", CLUSTER)
    server.start()
    yield server
    server.cleanup()
