"""The engine conformance suite on a real Slurm."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.engines.conformance import Conformance
from tests.engines.harness import EngineHarness
from tests.real.slurm.harness import SlurmHarness, engine_on
from tests.support.slurm import Slurm


class TestSlurm(Conformance):
    @pytest.fixture
    async def harness(self, shared_slurm: Slurm) -> AsyncIterator[EngineHarness]:
        harness = SlurmHarness(
            lambda data: engine_on(shared_slurm, data), shared_slurm.fresh_folder()
        )
        await harness.start()
        yield harness
        await harness.close()
