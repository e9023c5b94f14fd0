"""A folder with very many entries: its first page takes bounded work, the others are exact."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from danlu.files.helper import listing
from tests.files.desk import PATIENCE, Desk

COUNT = 30_000


def fill(folder: Path, count: int) -> None:
    folder.mkdir()
    (folder / "first").touch()
    for number in range(count - 1):
        os.link(folder / "first", folder / f"name-{number:06d}")


class Slow:
    """Names as a slow disk gives them: each step takes as long as a first page may."""

    def __init__(self) -> None:
        self.steps = 0
        self.stats = 0
        self._read = listing._read

    def read(self, folder: int, hidden: bool, names: listing.Names) -> Generator[None, None, None]:
        for _ in self._read(folder, hidden, names):
            self.steps += 1
            time.sleep(listing.FIRST / 4)
            yield


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    found = Slow()
    monkeypatch.setattr(listing, "_read", found.read)
    monkeypatch.setattr(listing, "_kept", type(listing._kept)())
    return found


def test_the_first_page_reads_no_further_than_it_may(slow: Slow, tmp_path: Path) -> None:
    fill(tmp_path / "many", COUNT)
    settled = time.time() - 10
    os.utime(tmp_path / "many", (settled, settled))
    folder = os.open(tmp_path / "many", os.O_RDONLY)
    try:
        names, reading = listing._names(folder, True, False)
        assert reading and not names.complete
        assert slow.steps <= 6 and len(names) <= 6 * listing.STEP, "of fifteen"
        again, _ = listing._names(folder, True, True)
        assert again.complete and len(again) == COUNT
        assert slow.steps == COUNT // listing.STEP, "read once, by the request before"
        assert again.page(0, 2) == ["first", "name-000000"]
        kept, reading = listing._names(folder, True, False)
        assert kept is again and not reading
    finally:
        os.close(folder)


def test_pages_look_only_at_their_own_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "many", COUNT)
    seen = []
    real = listing.entry_in
    monkeypatch.setattr(listing, "entry_in", lambda fd, where: seen.append(1) or real(fd, where))
    answers: list[dict[str, Any]] = []
    request = _Request(tmp_path, answers, sort="-size", limit=50)
    listing.list_folder(request)  # type: ignore[arg-type]
    assert len(seen) == 50 and answers[0]["next_offset"] == 50


class _Request:
    def __init__(self, top: Path, answers: list[dict[str, Any]], **values: Any) -> None:
        from danlu.files.helper.beneath import Root, place

        self.values: dict[str, Any] = values
        self._place = place(Root(os.open(top, os.O_PATH), "/userhome", "userhome", False), "many")
        self.answer = lambda **told: answers.append(told)

    def place(self) -> Any:
        return self._place

    def number(self, key: str, default: int = 0) -> int:
        return int(self.values.get(key, default))

    def text(self, key: str) -> str:
        return str(self.values.get(key, ""))


async def test_all_pages_together_are_the_folder(desk: Desk) -> None:
    fill(desk.home / "many", 10_000)
    desk.give_all()
    found, at = [], 0
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while at is not None:
        assert asyncio.get_running_loop().time() < deadline
        page = await desk.ask("list", path="many", offset=at, limit=2000, whole=True)
        assert not page["reading"] and page["total"] == 10_000
        found += [entry["name"] for entry in page["entries"]]
        at = page["next_offset"]
    assert found == sorted(os.listdir(desk.home / "many"))
