"""The README's pictures and its comparison with other platforms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGEST = 150_000  # bytes
READMES = {"README.md": "en", "README.zh-CN.md": "zh"}


@pytest.mark.parametrize("name", READMES)
def test_its_pictures_are_there_in_its_language_and_small(name: str) -> None:
    shown = re.findall(r"!\[[^]]+\]\((docs/pictures/[^)]+)\)", (ROOT / name).read_text())
    assert [Path(path).stem for path in shown] == [
        f"{page}-{READMES[name]}" for page in ("map", "why", "job")
    ]
    for path in shown:
        assert (ROOT / path).stat().st_size <= LARGEST
        assert (ROOT / path).read_bytes()[8:12] == b"WEBP"


@pytest.mark.parametrize("name", READMES)
def test_whatever_it_says_about_others_has_a_source(name: str) -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (ROOT / name).read_text().splitlines()
        if line.startswith("| ") and "](https://" in line
    ]
    assert len(rows) >= 7
    for platform, *cells in rows:
        assert len(cells) == 3, platform
        for cell in cells:
            assert not cell or re.search(r"\]\(https://[^)]+\)", cell), f"{platform}: {cell}"
    sources = [re.findall(r"\]\((https://[^)]+)\)", " ".join(cells)) for _, *cells in rows]
    other = "README.zh-CN.md" if name == "README.md" else "README.md"
    text = (ROOT / other).read_text()
    assert all(source in text for found in sources for source in found)
