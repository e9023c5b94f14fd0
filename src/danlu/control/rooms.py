"""What the parts of the control loop share: the rooms they reach into."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from danlu.access.identities import Identities
from danlu.control.active import Active
from danlu.control.bulletin import Bulletin
from danlu.control.folders import Folders
from danlu.control.learning import Learning
from danlu.control.ledger import Ledger
from danlu.control.queue import Queue
from danlu.control.rulebook import Rulebook
from danlu.control.settings import Settings
from danlu.control.volumes import Volumes
from danlu.engines.api import Engine
from danlu.store.errors import Deposed, StoreError
from danlu.store.store import Store
from danlu.store.tx import Tx

log = logging.getLogger("danlu.control")
T = TypeVar("T")


@dataclass(slots=True)
class Rooms:
    store: Store
    engine: Engine
    settings: Settings
    epoch: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    queue: Queue = field(default_factory=Queue)
    learning: Learning = field(default_factory=Learning)
    bulletin: Bulletin = field(default_factory=Bulletin)
    jobs: dict[str, Active] = field(default_factory=dict)  # by job id
    attempts: dict[str, Active] = field(default_factory=dict)  # by attempt id
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    deposed: asyncio.Event = field(default_factory=asyncio.Event)
    on_started: Callable[[Active], None] = lambda job: None
    identities: Identities = field(init=False)
    rulebook: Rulebook = field(init=False)
    volumes: Volumes = field(init=False)
    folders: Folders = field(init=False)

    def __post_init__(self) -> None:
        self.identities = Identities(self.store, self.settings.uids)
        self.rulebook = Rulebook(self.settings.policy, self.settings.quotas)
        self.volumes = Volumes(self.settings)
        self.folders = Folders(self.settings, self.volumes)

    async def persist(self, op: Callable[[Tx], T]) -> T:
        """Writes what has happened: however long the database is away, it is not dropped."""
        pause = 0.05
        while True:
            try:
                return await self.store.write(op)
            except Deposed:
                self.deposed.set()
                raise
            except StoreError as trouble:
                log.warning("cannot write yet, trying again in %.2g s: %s", pause, trouble)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 2.0)


def now() -> float:
    return time.time()
