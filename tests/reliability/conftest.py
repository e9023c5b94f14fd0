from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import DanluServer

SLOTS = """
[[nodes]]
name = "n1"
cpus = 24
memory = "200G"
gpus = "4:RTX3090"

[[nodes]]
name = "n2"
cpus = 24
memory = "200G"
gpus = "4:RTX3090"
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path / "data", SLOTS)
    server.start()
    yield server
    server.cleanup()
