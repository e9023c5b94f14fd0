from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.files.desk import Desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    found = Desk(tmp_path)
    yield found
    await found.helpers.close()
