"""A lab of two nodes with four GPUs each, and somebody who knows other platforms' commands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dialects.harness import ShimHarness
from tests.support.folders import let_in
from tests.support.server import DanluServer

LAB = """
[server]
circle_of_trust = true

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

[queues.vision]
nodes = ["n2"]

[volumes.slow]
source = "{slow}"
target = "/slow"
everywhere = false
"""

# As on a machine that has neither namespaces nor cgroups; what needs them is skipped then.
BARE = os.environ.get("DANLU_TEST_BARE") == "1"
if BARE:
    LAB += """
[engine]
namespaces = "off"
cgroups = "off"
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    folder = tmp_path_factory.mktemp("dialects")
    slow = folder / "slow"
    (slow / "alice").mkdir(parents=True)
    let_in(slow / "alice")
    (slow / "alice" / "hello.txt").write_text("from the slow volume\n")
    server = DanluServer(folder / "data", LAB.format(slow=slow))
    server.start()
    yield server
    server.cleanup()


@pytest.fixture
def shim_harness(server: DanluServer, tmp_path: Path) -> Iterator[ShimHarness]:
    shim_harness = ShimHarness(server, let_in(tmp_path))
    yield shim_harness
    shim_harness.clear()
