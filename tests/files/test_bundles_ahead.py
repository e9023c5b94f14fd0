"""The next working folder is made ahead where copying takes long."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from danlu.files.bundles.ahead import SMALLEST
from danlu.files.bundles.stores import BundleStores
from tests.files import test_bundles as small
from tests.files.test_bundles import ALICE, file

stores = small.stores
LARGE = os.urandom(1 << 20) * (SMALLEST >> 20)
ROOM = {"most_files": 1000, "most_bytes": 2 * len(LARGE)}
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "LIMITS", ROOM)


def brought(stores: BundleStores, entries: list[Any], *texts: bytes) -> str:
    id = str(small.offer(stores, entries)["id"])
    if texts:
        small.put(stores, id, *texts, room=2 * len(LARGE))
    return id


async def _ahead(stores: BundleStores) -> None:
    """Until the folder for the next job is there."""
    limit = time.monotonic() + PATIENCE
    while "ahead.json" not in os.listdir(stores.folder_of("alice")):
        assert time.monotonic() < limit, "no folder is made ahead"
        await asyncio.sleep(0.05)


def worked(stores: BundleStores, id: str, number: int, wait: bool = True) -> dict[str, Any]:
    async def work() -> dict[str, Any]:
        made = await stores.check_out(ALICE, id, f"job-{number}", f"x-{number}")
        if not made["ahead"]:
            pytest.skip("this file system shares blocks, so nothing is made ahead")
        if wait:
            await _ahead(stores)
        return made

    return asyncio.run(work())


def test_the_next_job_gets_a_folder_with_only_the_change_copied(
    stores: BundleStores, tmp_path: Path
) -> None:
    home = tmp_path / "home/alice"
    first = [["d", "d", 0o755], file("d/large", LARGE), file("gone", b"x"), file("run", b"one")]
    second = [["d", "d", 0o755], file("d/large", LARGE, 0o755), file("run", b"two"), file("z", b"")]
    made = worked(stores, brought(stores, first, LARGE, b"x", b"one"), 1)
    assert made["copied"] == len(LARGE) + 4
    (home / made["folder"] / "d/large").write_bytes(b"the first job's own")

    then = worked(stores, brought(stores, second, b"two", b""), 2)

    assert then["copied"] == 3
    folder = home / then["folder"]
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert found == ["d", "d/large", "run", "z"]
    assert (folder / "d/large").read_bytes() == LARGE
    assert (folder / "d/large").stat().st_mode & 0o777 == 0o755
    assert (folder / "run").read_bytes() == b"two"
    assert (home / made["folder"] / "d/large").read_bytes() == b"the first job's own"
    again = worked(stores, brought(stores, first), 3, wait=False)
    assert (home / again["folder"] / "run").read_bytes() == b"one"


def test_a_job_that_comes_early_uses_what_is_there(stores: BundleStores, tmp_path: Path) -> None:
    entries = [file(f"{n:03}", LARGE[: 1 << 20] + bytes([n])) for n in range(40)]
    id = brought(stores, entries, *(LARGE[: 1 << 20] + bytes([n]) for n in range(40)))

    async def at_once() -> list[dict[str, Any]]:
        made = []
        for number in range(6):
            made.append(await stores.check_out(ALICE, id, f"job-{number}", f"x-{number}"))
            await asyncio.sleep(0.5 + 0.02 * number)
        return made

    for made in asyncio.run(at_once()):
        folder = tmp_path / "home/alice" / made["folder"]
        assert sorted(os.listdir(folder)) == [entry[1] for entry in entries]
        for n in range(40):
            assert (folder / f"{n:03}").read_bytes() == LARGE[: 1 << 20] + bytes([n])


@pytest.mark.parametrize("change", ["changed", "added", "linked"])
def test_what_somebody_touched_is_not_used(
    stores: BundleStores, tmp_path: Path, change: str
) -> None:
    entries = [["d", "d", 0o755], file("d/large", LARGE), file("run", b"one")]
    id = brought(stores, entries, LARGE, b"one")
    worked(stores, id, 1)
    place = Path(stores.folder_of("alice"), "ahead")
    time.sleep(0.05)
    if change == "changed":
        at = place.joinpath("run").stat()
        (place / "run").write_bytes(b"two")
        os.utime(place / "run", ns=(at.st_atime_ns, at.st_mtime_ns))
    elif change == "added":
        (place / "d/extra").write_bytes(b"not brought along")
    else:
        os.link(place / "run", tmp_path / "other")

    folder = tmp_path / "home/alice" / worked(stores, id, 2, wait=False)["folder"]

    assert sorted(os.listdir(folder / "d")) == ["large"]
    assert (folder / "run").read_bytes() == b"one"
    assert (folder / "run").stat().st_nlink == 1


def test_a_folder_that_nobody_takes_is_removed(stores: BundleStores) -> None:
    id = brought(stores, [file("large", LARGE)], LARGE)
    worked(stores, id, 1)
    place = Path(stores.folder_of("alice"), "ahead")
    assert asyncio.run(stores.collect(ALICE, [id]))["removed"] == 0
    assert place.is_dir()

    assert asyncio.run(stores.collect(ALICE, [id], unused=0.0))["removed"] == len(LARGE)

    assert not place.exists()
