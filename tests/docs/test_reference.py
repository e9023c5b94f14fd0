"""What is made from the code is as the code is now."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.reference.__main__ import made

from tests.docs.markdown import ROOT

FILES = made()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_made_file_is_fresh(path: Path) -> None:
    assert path.exists(), "run scripts/docs"
    assert path.read_text() == FILES[path], "it is stale: run scripts/docs"
