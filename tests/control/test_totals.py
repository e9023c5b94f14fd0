"""Room is counted as kept only while somebody waits for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.control.context import Context, now
from danlu.control.engines import Engines
from danlu.control.live_job import LiveJob, activate
from danlu.control.planner import Planner
from danlu.control.settings import Settings
from danlu.engines.api import GpuInfo, Inventory, NodeInfo
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.engine import LocalEngine
from danlu.files.settings import FileSettings
from danlu.spec.complete import complete
from danlu.spec.defaults import Defaults
from danlu.spec.placement import Placement
from danlu.spec.states import State
from danlu.store.rows import AttemptRow, JobRow
from danlu.store.store import Store

GPUS = tuple(GpuInfo(index, "RTX3090") for index in range(2))
NODES = tuple(NodeInfo(name, 16, 64 << 30, GPUS) for name in ("n1", "n2"))


@pytest.fixture
async def context(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Nothing runs in them: no loop, no engine that starts anything."""
    store = Store.open(f"sqlite:///{tmp_path / 'danlu.db'}")
    engines = Engines([LocalEngine(LocalConfig(tmp_path))])
    context = Context(store, engines, Settings(FileSettings(tmp_path), Defaults()))
    context.ledger.learn(Inventory(NODES))
    yield context
    await store.close()


def submitted(context: Context, seq: int, gpus: int, time_limit: str) -> LiveJob:
    values = {"command": "true", "gpus": gpus, "cpus": 1, "memory": "1G", "nodes": ["n1"]}
    spec = complete({**values, "time_limit": time_limit})
    row = JobRow(f"j{seq}", "alice", "x", seq, "train", State.QUEUED, {}, "default", 0, now(), seq)
    job = context.jobs[row.id] = activate(row, spec)
    return job


def test_room_is_counted_as_kept_only_while_somebody_waits_for_it(context: Context) -> None:
    planner = Planner(context)
    running, first, late = (
        submitted(context, seq, gpus, limit)
        for seq, gpus, limit in ((1, 1, "1h"), (2, 2, "1h"), (3, 1, "2h"))
    )
    place = Placement("n1", (0,))
    running.attempt = AttemptRow("a1", "j1", 1, State.RUNNING, 1, (place,), now(), started_at=now())
    context.attempts["a1"] = running
    start = planner.start_of(running)
    assert start is not None
    context.ledger.hold("a1", "j1", running.shapes, start.places)
    context.queue.add(first)
    context.queue.add(late)
    assert planner.decide().starts == ()  # the first needs both GPUs; the late one would delay it
    kept = planner.totals().all
    assert (kept.used, kept.reserved, kept.free) == (1000, 1000, 2000)

    # Both are stopped. The queue is empty: there is no pass that would forget the first one's room.
    for job in (late, first):
        context.queue.remove(job)
    left = planner.totals().all
    assert (left.used, left.reserved, left.free) == (1000, 0, 3000)
