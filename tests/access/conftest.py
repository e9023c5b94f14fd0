from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import hypothesis
import pytest

from danlu.store import Store

# Other work may share the machine: how long an example takes says nothing about the code.
hypothesis.settings.register_profile("any-machine", deadline=None)
hypothesis.settings.load_profile("any-machine")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/danlu.db")
    yield opened
    await opened.close()
