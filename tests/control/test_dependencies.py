"""Races around jobs that wait for jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from danlu.store.tx import Tx
from tests.control.harness import Harness
from tests.engines.harness import eventually


async def test_a_job_that_ends_while_another_is_told_to_wait_for_it_counts(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    ended = await harness.submit(name="ended", command="true")
    await harness.ended(ended)
    first = await harness.submit(name="first", command=f"while [ ! -e {go} ]; do sleep 0.02; done")
    await harness.until(first, "running")
    settle, read = harness.controller.dependencies.settle, harness.store.read

    async def settle_slowly() -> None:
        async def slow(query: Callable[[Tx], Any]) -> Any:
            found = await read(query)
            go.touch()
            await eventually(lambda: first.id not in harness.controller.context.jobs)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(harness.store, "read", slow)
            await settle()

    monkeypatch.setattr(harness.controller.dependencies, "settle", settle_slowly)
    job = await harness.submit(
        command="true", after=[f"ended-{ended.number}", f"first-{first.number}"]
    )
    found = await harness.ended(job)
    assert (found.state, found.detail) == ("succeeded", {})
