from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from tests.support.server import DanluServer

# Other work may share the machine: how long an example takes says nothing about the code.
hypothesis.settings.register_profile("any-machine", deadline=None)
hypothesis.settings.load_profile("any-machine")

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
