from __future__ import annotations

import asyncio

import pytest

from danlu.control.backoff import Backoff


async def test_each_wait_is_twice_as_long_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    backoff = Backoff(0.1, 0.5)
    for _ in range(5):
        await backoff.wait()
    assert waits == [0.1, 0.2, 0.4, 0.5, 0.5]
    backoff.reset()
    await backoff.wait()
    assert waits[-1] == 0.1
