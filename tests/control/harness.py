"""The control loop with a real store and a real engine, in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from danlu.access.principal import Principal
from danlu.control.context import Context
from danlu.control.controller import Controller
from danlu.control.engines import Engines
from danlu.control.logs import Logs, Wanted
from danlu.control.lookup import Lookup
from danlu.control.settings import Settings
from danlu.control.submit import Submitter
from danlu.engines.api import Engine
from danlu.engines.local.config import LocalConfig, NodeConfig
from danlu.engines.local.engine import LocalEngine
from danlu.files.settings import FileSettings
from danlu.spec.complete import Submission, complete
from danlu.spec.defaults import Defaults
from danlu.store.rows import JobRow
from danlu.store.store import Store

PATIENCE = 120  # seconds; only so that a broken loop fails a test instead of hanging it
NODES = (
    NodeConfig("n1", 8, 64 << 30, (("RTX3090", 4),)),
    NodeConfig("n2", 8, 64 << 30, (("RTX3090", 4),)),
)


def local(data: Path) -> Engine:
    return LocalEngine(LocalConfig(data, NODES))


class Harness:
    engine: Engine

    def __init__(self, folder: Path, make: Callable[[Path], Engine] = local) -> None:
        """`make` gives an engine on the data folder, anew at each start."""
        self.data = folder / "data"
        self.data.mkdir(mode=0o700, exist_ok=True)
        self._make = make
        self.more: dict[str, Any] = {}  # settings

    async def open(self) -> None:
        self.store = Store.open(f"sqlite:///{self.data / 'danlu.db'}")
        self.engine = self._make(self.data)
        # A hint that got lost is made up for soon, not after the usual quarter of a minute.
        settings = Settings(
            FileSettings(self.data),
            Defaults(),
            inventory_every=0.1,
            sweep_every=0.3,
            engine_patience=5.0,
            away_after=0.3,
            **self.more,
        )
        self.controller = Controller(Context(self.store, Engines([self.engine]), settings))
        self.lookup = Lookup(self.store)
        self.submitter = Submitter(self.controller, self.lookup)
        self.logs = Logs(self.controller.context, self.lookup)
        await self.controller.start()

    async def close(self) -> None:
        await self.controller.close()
        await self.store.close()

    async def restart(self) -> None:
        """As stopping the server and starting it again: tasks go on meanwhile."""
        await self.close()
        await self.open()

    async def clear(self) -> None:
        while jobs := list(self.controller.context.jobs.values()):
            for job in jobs:
                await self.controller.stop(job, "test", 0.0)
            await asyncio.sleep(0.02)

    async def submit(self, **job: Any) -> JobRow:
        return (await self.submit_all(**job))[0]

    async def submit_all(self, **job: Any) -> list[JobRow]:
        return await self.submit_as(Principal("alice"), **job)

    async def submit_as(self, who: Principal, **job: Any) -> list[JobRow]:
        asked = [Submission(complete({"cpus": 0.5, "memory": "64M", **job}))]
        rows, _ = await self.submitter.submit(asked, who)
        return rows

    async def look(self, job: JobRow) -> JobRow:
        found = await self.lookup.job(job.id)
        assert found is not None
        return found

    async def until(self, job: JobRow, *states: str) -> JobRow:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.look(job)
                if found.state in states:
                    return found
                assert not found.state.final, f"{found.ref} is {found.state}: {found.reason}"
                await asyncio.sleep(0.02)

    async def ended(self, job: JobRow) -> JobRow:
        return await self.until(job, "succeeded", "failed", "stopped")

    async def stop(self, job: JobRow, grace: float = 0.0) -> None:
        await self.controller.stop(self.controller.context.jobs[job.id], "test", grace)

    async def printed(self, job: JobRow, text: bytes) -> None:
        """Waits until the job has printed this."""
        got = b""
        async with asyncio.timeout(PATIENCE):
            async for piece in self.logs.follow(Wanted(job)):
                got += piece
                if text in got:
                    return
        raise AssertionError(f"it ended after {got!r}")

    async def log(self, job: JobRow) -> bytes:
        return b"".join([piece async for piece in self.logs.read(Wanted(job))])
