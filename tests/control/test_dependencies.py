"""Races around jobs that wait for jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from danlu.store.tx import Tx
from tests.control.desk import Desk
from tests.engines.world import eventually


async def test_a_job_that_ends_while_another_is_told_to_wait_for_it_counts(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    ended = await desk.submit(name="ended", command="true")
    await desk.ended(ended)
    first = await desk.submit(name="first", command=f"while [ ! -e {go} ]; do sleep 0.02; done")
    await desk.until(first, "running")
    settle, read = desk.controller.dependencies.settle, desk.store.read

    async def settle_slowly() -> None:
        async def slow(query: Callable[[Tx], Any]) -> Any:
            found = await read(query)
            go.touch()
            await eventually(lambda: first.id not in desk.controller.rooms.jobs)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(desk.store, "read", slow)
            await settle()

    monkeypatch.setattr(desk.controller.dependencies, "settle", settle_slowly)
    job = await desk.submit(
        command="true", after=[f"ended-{ended.number}", f"first-{first.number}"]
    )
    found = await desk.ended(job)
    assert (found.state, found.detail) == ("succeeded", {})
