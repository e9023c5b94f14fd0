"""The real server with one more kind of engine, `batch`, which is away while a file exists."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from danlu.control.settings import Settings
from danlu.engines.api import Engine, Unreachable
from danlu.server import run
from danlu.server.__main__ import main
from danlu.server.engines import KINDS, EngineConfig, Kind, Surroundings
from tests.engines.queueing import BatchSystem, QueueingEngine
from tests.support.server import DanluServer

AWAY = "TEST_BATCH_AWAY"
REPO = Path(__file__).parents[2]


class SwitchedEngine(QueueingEngine):
    def _reach(self) -> None:
        if os.path.exists(os.environ[AWAY]):
            raise Unreachable("the batch system does not answer")


class BatchServer(DanluServer):
    """Talks to a server that runs this module."""

    module = "tests.server.batch_server"

    def __init__(self, data: Path, config: str) -> None:
        self._away = data.parent / "away"
        super().__init__(data, config, extra_env={AWAY: str(self._away), "PYTHONPATH": str(REPO)})

    def set_away(self, away: bool) -> None:
        if away:
            self._away.touch()
        else:
            self._away.unlink(missing_ok=True)


def _make(config: EngineConfig, around: Surroundings) -> Engine:
    folder = around.data / "elsewhere"
    folder.mkdir(mode=0o700, exist_ok=True)
    return SwitchedEngine(BatchSystem(folder), config.name)


def _impatient(config: Any, uids: Any, settings: Any = run._settings) -> Settings:
    found: Settings = settings(config, uids)
    return replace(found, inventory_every=0.2, away_after=0.2)


if __name__ == "__main__":
    KINDS["batch"] = Kind(_make)
    run._settings = _impatient
    sys.exit(main())
