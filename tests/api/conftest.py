from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from danlu.engines.local.check import Abilities
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.engine import LocalEngine
from tests.api.harness import Harness
from tests.api.people_harness import PeopleHarness
from tests.support.folders import let_in
from tests.support.server import DanluServer, free_port
from tests.support.tools import give_made

CLUSTER = """
[server]
circle_of_trust = true
proxies = ["127.0.0.77"]

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

[registry]
port = {port}

[volumes.fast]
source = "{fast}"
target = "/fast"
everywhere = false
"""


# As on a machine that has neither namespaces nor cgroups; what needs them is skipped then.
BARE = os.environ.get("DANLU_TEST_BARE") == "1"
if BARE:
    CLUSTER += """
[engine]
namespaces = "off"
cgroups = "off"
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    folder = tmp_path_factory.mktemp("api")
    fast = folder / "fast"
    fast.mkdir()
    let_in(fast)
    server = DanluServer(folder / "data", CLUSTER.format(fast=fast, port=free_port()))
    give_made(server.data)
    server.start()
    yield server
    server.cleanup()


@pytest.fixture
def harness(server: DanluServer) -> Iterator[Harness]:
    harness = Harness(server)
    yield harness
    harness.clear()
    harness.http.close()


@pytest.fixture
def people_harness(harness: Harness) -> Iterator[PeopleHarness]:
    people_harness = PeopleHarness(harness)
    yield people_harness
    people_harness.close()


@pytest.fixture(scope="session")
def abilities() -> Abilities:
    """What this machine can do: some promises need namespaces, some cgroups."""

    async def look() -> Abilities:
        with tempfile.TemporaryDirectory() as folder:
            choice: Literal["auto", "off"] = "off" if BARE else "auto"
            engine = LocalEngine(LocalConfig(Path(folder), userns=choice, cgroups=choice))
            await engine.start()
            try:
                return engine.abilities
            finally:
                await engine.close()

    return asyncio.run(look())
