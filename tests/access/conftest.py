from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.store import Store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/danlu.db")
    yield opened
    await opened.close()
