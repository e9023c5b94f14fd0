"""State and dependencies shared by the parts of the control loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from danlu.access.identities import Identities
from danlu.control.backoff import Backoff
from danlu.control.disk_watch import DiskWatch
from danlu.control.engines import Engines
from danlu.control.images import ImageTroubles, MayUse
from danlu.control.learning import Learning
from danlu.control.ledger import Ledger
from danlu.control.live_job import LiveJob
from danlu.control.live_jobs import LiveJobs
from danlu.control.notifier import Notifier
from danlu.control.own_images import OwnImages
from danlu.control.presence import Kernels, Presence
from danlu.control.queue import Queue
from danlu.control.rulebook import Rulebook
from danlu.control.settings import Settings
from danlu.control.shares import Shares
from danlu.control.workers import Workers
from danlu.engines.api import Engine
from danlu.files.bundles.stores import BundleStores
from danlu.files.counting import Counting
from danlu.files.datasets import Datasets
from danlu.files.folders import Folders
from danlu.files.volumes import Volumes
from danlu.metrics.archive import Archive
from danlu.metrics.reader import Reader
from danlu.metrics.sampler import Sampler
from danlu.store.errors import Deposed, StoreError
from danlu.store.store import Store
from danlu.store.tx import Tx

log = logging.getLogger("danlu.control")
T = TypeVar("T")


@dataclass(slots=True)
class Context:
    store: Store
    engines: Engines
    settings: Settings
    epoch: int = 0
    installation: str = ""  # label on everything this installation launches
    ledger: Ledger = field(default_factory=Ledger)
    queue: Queue = field(default_factory=Queue)
    learning: Learning = field(default_factory=Learning)
    notifier: Notifier = field(default_factory=Notifier)
    jobs: LiveJobs = field(default_factory=LiveJobs)
    attempts: dict[str, LiveJob] = field(default_factory=dict)  # by attempt id
    workers: Workers = field(default_factory=Workers)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    deposed: asyncio.Event = field(default_factory=asyncio.Event)
    on_started: Callable[[LiveJob], None] = lambda job: None
    on_data_changed: Callable[[], None] = lambda: None  # jobs may fit elsewhere
    disks: DiskWatch = field(init=False)
    identities: Identities = field(init=False)
    presence: Presence = field(default_factory=Presence)
    kernels: Kernels | None = None  # None: nobody knows of any
    shares: Shares = field(default_factory=Shares)
    image_trouble: ImageTroubles = field(default_factory=dict)  # by node and image
    may_use_image: MayUse | None = None  # None: everybody may use every image
    own_images: OwnImages | None = None  # None: the platform has no registry
    rulebook: Rulebook = field(init=False)
    volumes: Volumes = field(init=False)
    folders: Folders = field(init=False)
    datasets: Datasets = field(init=False)
    bundles: BundleStores = field(init=False)
    counting: Counting = field(default_factory=Counting)
    image_uses: dict[tuple[str, str], float] = field(default_factory=dict)  # as last noted
    sampler: Sampler = field(init=False)
    metrics: Reader = field(init=False)

    def __post_init__(self) -> None:
        self.disks = DiskWatch(self.engines, self.settings.limits)
        self.identities = Identities(self.store, self.settings.uids)
        self.rulebook = Rulebook(self.settings.policy, self.settings.quotas)
        self.volumes = Volumes(self.settings.files)
        self.datasets = Datasets(self.volumes)
        self.folders = Folders(self.settings.files, self.volumes, self.settings.uids)
        self.bundles = BundleStores(self.settings.files, self.settings.uids)
        archive = Archive(self.settings.files.metrics, self.settings.metrics_size)
        self.sampler = Sampler(self.engines.there, archive, self.settings.sample_every)
        self.metrics = Reader(archive)

    def engine_of(self, job: LiveJob) -> Engine:
        """The engine that runs the job, or would run it."""
        if job.attempt is not None:
            return self.engines.named(job.attempt.engine)
        return self.engine_for(job.row.queue)

    def engine_for(self, queue: str) -> Engine:
        """The engine of a queue."""
        return self.engines.named(self.rulebook.policy.queue(queue).engine)

    def engine_at(self, node: str) -> Engine:
        """The engine whose node this is."""
        return self.engines.named(self.ledger.engine_of(node))

    async def persist(self, op: Callable[[Tx], T]) -> T:
        """Retries until the database is back, so that facts are never lost."""
        backoff = Backoff(0.05, 2.0)
        while True:
            try:
                return await self.store.write(op)
            except Deposed:
                self.deposed.set()
                raise
            except StoreError as trouble:
                log.warning("cannot write yet, trying again in %.2g s: %s", backoff.pause, trouble)
                await backoff.wait()


def now() -> float:
    return time.time()
