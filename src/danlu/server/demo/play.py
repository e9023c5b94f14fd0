"""While the demo runs, its people keep submitting jobs, as visitors may too."""

from __future__ import annotations

import asyncio
import json
import logging
import random

from danlu.access.errors import Unfit
from danlu.access.principal import Asker, Principal
from danlu.server.demo.cast import GPUS, MEMBERS, NODES, USUAL, Work, request
from danlu.services.services import Services
from danlu.services.submitting import File
from danlu.spec.errors import SpecError
from danlu.store.errors import StoreError

log = logging.getLogger("danlu.demo")
EVERY = 8.0  # seconds between two looks at the cluster
BUSY = len(NODES) * GPUS - 5  # GPUs held or asked for, up to which new jobs arrive
WAITING = 8  # jobs in the queue, up to which people submit more
FAILS = Work("vit-huge", "alice", 1, 97, 23)


class Play:
    def __init__(self, ours: Services) -> None:
        self._ours = ours
        self._chance = random.Random()

    async def run(self) -> None:
        await self._submit(FAILS, 600, env={"DEMO_FAILS_AT": "10"})
        while True:
            who = _as("admin", "admin")
            totals = self._ours.cluster.totals(who)
            held = totals.gpus.all
            if (held.total - held.free - held.reserved) // 1000 < BUSY + 3:
                await self._next(totals.waiting)
            await asyncio.sleep(EVERY)

    async def _next(self, waiting: int) -> None:
        """Small jobs as long as many wait, so that the map keeps changing."""
        small = [work for work in USUAL if work.gpus == 1 and work.owner != "wangsi"]
        work = self._chance.choice(small if waiting >= WAITING else USUAL)
        fails = self._chance.random() < 0.08
        seconds = self._chance.uniform(90, 900)
        env = {"DEMO_FAILS_AT": str(int(seconds))} if fails else {}
        await self._submit(work, seconds, env=env)

    async def _submit(self, work: Work, seconds: float, env: dict[str, str]) -> None:
        values = request(work, seconds)
        values["env"] = {**values["env"], **env}
        body = json.dumps(values).encode()
        try:
            await self._ours.submitting.submit(
                Asker(_as(work.owner)), File(body, "application/json")
            )
        except (SpecError, Unfit, StoreError) as error:  # a visitor changed quotas, or the disk
            log.info("%s could not submit %s: %s", work.owner, work.name, error)


def _as(name: str, role: str = "member") -> Principal:
    groups = frozenset(member.group for member in MEMBERS if member.name == name)
    return Principal(name, role, groups=groups, kind="machine")
