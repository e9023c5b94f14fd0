from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.control.desk import Desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    await desk.open()
    yield desk
    await desk.clear()
    await desk.close()
