"""A folder with very many entries: its first page takes bounded work, the others are exact."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from danlu.files.helper import folder_names, listing
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
        self._read = folder_names._read

    def read(
        self, folder: int, hidden: bool, names: folder_names.Names
    ) -> Generator[None, None, None]:
        for _ in self._read(folder, hidden, names):
            self.steps += 1
            time.sleep(folder_names.FIRST / 4)
            yield


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    found = Slow()
    monkeypatch.setattr(folder_names, "_read", found.read)
    monkeypatch.setattr(folder_names, "_kept", type(folder_names._kept)())
    return found


def test_the_first_page_reads_no_further_than_it_may(slow: Slow, tmp_path: Path) -> None:
    fill(tmp_path / "many", COUNT)
    settled = time.time() - 10
    os.utime(tmp_path / "many", (settled, settled))
    folder = os.open(tmp_path / "many", os.O_RDONLY)
    try:
        names, reading = folder_names.names_of(folder, True, False)
        assert reading and not names.complete
        assert slow.steps <= 6 and len(names) <= 6 * folder_names.STEP, "of fifteen"
        again, _ = folder_names.names_of(folder, True, True)
        assert again.complete and len(again) == COUNT
        assert slow.steps == COUNT // folder_names.STEP, "read once, by the request before"
        assert again.page(0, 2) == ["first", "name-000000"]
        kept, reading = folder_names.names_of(folder, True, False)
        assert kept is again and not reading
    finally:
        os.close(folder)


def test_a_folder_that_keeps_changing_has_stable_pages(slow: Slow, tmp_path: Path) -> None:
    """As when a job writes into it: each look finds another time, and never an end of reading."""
    many = tmp_path / "many"
    fill(many, COUNT)
    folder = os.open(many, os.O_RDONLY)
    try:
        before, _ = folder_names.names_of(folder, True, True)
        assert len(before) == COUNT
        (many / "a-new-one").touch()
        first, reading = folder_names.names_of(folder, True, False)
        later, _ = folder_names.names_of(folder, True, True, later=True)
        assert first is before and later is before, "not the names that were read by chance"
        assert not reading and slow.steps == COUNT // folder_names.STEP, "it was read just now"
        before.ended -= 3600
        first, reading = folder_names.names_of(folder, True, False)
        assert first is before and reading, "the page of before, while it is read again"
        deadline = time.monotonic() + PATIENCE
        while first is before:
            assert time.monotonic() < deadline
            first, _ = folder_names.names_of(folder, True, False)
        assert len(first) == COUNT + 1 and first.page(0, 1) == ["a-new-one"]
        whole, _ = folder_names.names_of(folder, True, True)
        assert len(whole) == COUNT + 1
    finally:
        os.close(folder)


def test_a_folder_known_to_take_long_is_not_waited_for(
    slow: Slow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = tmp_path / "many"
    fill(many, COUNT)
    folder = os.open(many, os.O_RDONLY)
    try:
        before, _ = folder_names.names_of(folder, True, True)
        (many / "a-new-one").touch()
        before.began, before.ended = before.began - 3600, before.ended - 3600
        read_on: list[folder_names.Reading] = []
        finish = folder_names.Reading.finish
        monkeypatch.setattr(folder_names.Reading, "finish", lambda self: read_on.append(self))
        for _ in range(2):  # the second finds the reading of the first
            first, reading = folder_names.names_of(folder, True, False)
            assert first is before and reading
        assert slow.steps == COUNT // folder_names.STEP, "the request itself read nothing"
        deadline = time.monotonic() + PATIENCE
        while not read_on:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert len(read_on) == 1
        finish(read_on[0])
        after, reading = folder_names.names_of(folder, True, False)
        assert len(after) == COUNT + 1 and not reading
    finally:
        os.close(folder)


def test_the_first_of_very_many_names_are_looked_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(folder_names, "VERY_MANY", 100)
    names = folder_names.Names(["b-folder", "a-folder"], [f"{n:03d}" for n in range(300, 0, -1)])
    expected = ["a-folder", "b-folder", *(f"{n:03d}" for n in range(1, 301))]
    looked: list[int] = []
    real = folder_names.heapq.nsmallest
    monkeypatch.setattr(
        folder_names.heapq, "nsmallest", lambda n, of: looked.append(n) or real(n, of)
    )
    assert names.page(0, 50) == expected[:50]
    count = len(looked)
    assert count and names.page(0, 50) == expected[:50] and names.page(20, 10) == expected[20:30]
    assert len(looked) == count
    assert names.page(50, 50) == expected[50:100] and len(looked) > count
    assert names.page(290, 50) == expected[290:]


def test_who_asks_for_all_names_gets_those_of_now(slow: Slow, tmp_path: Path) -> None:
    many = tmp_path / "many"
    fill(many, COUNT)
    one, two = (os.open(many, os.O_RDONLY) for _ in range(2))
    try:
        assert folder_names.names_of(one, True, False)[1], "still being read"
        (many / "zz-meanwhile").touch()
        whole, reading = folder_names.names_of(two, True, True)
        assert not reading and whole.page(COUNT, 1) == ["zz-meanwhile"]
    finally:
        os.close(one)
        os.close(two)


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
