"""The harness for engines whose nodes are this machine."""

from __future__ import annotations

from tests.engines.harness import EngineHarness
from tests.support.folders import files_with
from tests.support.processes import processes_with


class LocalHarness(EngineHarness):
    async def alive(self, marker: str) -> int:
        return len(processes_with(marker))

    async def stored(self, text: bytes) -> list[str]:
        return files_with(self.data, text)
