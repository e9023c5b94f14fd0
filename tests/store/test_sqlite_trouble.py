"""A full disk, a read-only file, a lock held by somebody else, a file that went away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from danlu.store import Store, StoreAway, StoreError, StoreFull, StoreReadOnly, events
from danlu.store.tx import Tx
from tests.store.reading import all_events
from tests.store.samples import an_event, healthy
from tests.support.disks import freezable_folder, immutable

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/danlu.db", deadline=0.5)
    yield opened
    await opened.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("this machine does not let root mount a tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def append(store: Store, text: str) -> None:
    def op(tx: Tx) -> None:
        events.append(tx, [an_event(text=text)])

    await store.write(op)


async def surely(store: Store, text: str) -> None:
    """Once, however slow the disk: what came too late is never done, so it may be tried again."""
    while True:
        with contextlib.suppress(StoreAway):
            return await append(store, text)


async def texts(store: Store) -> list[str]:
    found = await store.read(all_events)
    return [event.data["text"] for event in found]


def fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@root
async def test_a_full_disk_is_named_at_once_and_recovers(small_disk: Path) -> None:
    store = Store.open(f"sqlite:///{small_disk}/danlu.db")
    await append(store, "before")
    fill(small_disk / "ballast")
    outcomes = await asyncio.gather(
        *(append(store, f"refused {n}" + "x" * 50_000) for n in range(10)), return_exceptions=True
    )
    assert all(isinstance(outcome, StoreFull) for outcome in outcomes), outcomes
    assert isinstance(store.health.problem, StoreFull)
    assert await texts(store) == ["before"]
    (small_disk / "ballast").unlink()
    await healthy(store)
    await append(store, "after")
    assert await texts(store) == ["before", "after"]
    await store.close()


@root
def test_a_disk_that_is_full_from_the_start_is_named(small_disk: Path) -> None:
    fill(small_disk / "ballast")
    with pytest.raises(StoreFull):
        Store.open(f"sqlite:///{small_disk}/danlu.db")


@root
async def test_what_is_committed_survives_a_disk_that_fills_up_again_and_again(
    small_disk: Path,
) -> None:
    store = Store.open(f"sqlite:///{small_disk}/danlu.db")
    kept: list[str] = []
    for n in range(30):
        try:
            await append(store, f"{n}" + "x" * 100_000)
            kept.append(f"{n}" + "x" * 100_000)
        except StoreFull:
            break
    else:
        pytest.fail("the disk never became full")
    await store.close()
    (small_disk / "danlu.db-shm").unlink(missing_ok=True)
    for name in ("danlu.db", "danlu.db-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(small_disk / name, small_disk.parent / name)
    again = Store.open(f"sqlite:///{small_disk.parent}/danlu.db")
    assert await texts(again) == kept
    await again.close()


@root
async def test_a_file_made_immutable_is_named_read_only_and_recovers(tmp_path: Path) -> None:
    with freezable_folder(tmp_path) as folder:
        store = Store.open(f"sqlite:///{folder}/danlu.db")
        await append(store, "before")
        log = folder / "danlu.db-wal"
        assert immutable("+", log)
        try:
            with pytest.raises(StoreReadOnly, match="not writable"):
                await append(store, "refused")
            assert await texts(store) == ["before"]
        finally:
            assert immutable("-", log)
        await append(store, "after")
        assert await texts(store) == ["before", "after"]
        await store.close()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_a_file_one_may_not_write_is_named_when_opening(open_folder: Path) -> None:
    """In a process without root's rights, for root may write any file."""
    path = open_folder / "danlu.db"
    path.touch(0o444)
    program = (
        "import os, sys\n"
        "from danlu.store import Store, StoreReadOnly, sqlite\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: Store.open(sys.argv[1])\n"
        "except StoreReadOnly as error: print(error.message.en, error.message.zh)\n"
    )
    command = [sys.executable, "-c", program, f"sqlite:///{path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "not writable" in done.stdout and "不可写" in done.stdout


async def test_a_lock_held_by_another_process_is_waited_for_and_then_named(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/danlu.db", deadline=0.5)
    other = sqlite3.connect(tmp_path / "danlu.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreAway):
        await append(store, "refused")
    other.execute("ROLLBACK")
    other.close()
    await surely(store, "after")
    assert await texts(store) == ["after"]
    await store.close()


async def test_a_short_lock_goes_unnoticed(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/danlu.db")
    other = sqlite3.connect(tmp_path / "danlu.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(append(store, "patient"))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()
    await waiting
    await store.close()


async def test_nothing_is_acknowledged_into_a_file_that_was_moved_away(
    store: Store, tmp_path: Path
) -> None:
    await surely(store, "before")
    os.rename(tmp_path / "danlu.db", tmp_path / "elsewhere.db")
    with pytest.raises(StoreAway):
        await append(store, "refused")
    os.rename(tmp_path / "elsewhere.db", tmp_path / "danlu.db")
    await surely(store, "after")
    assert await texts(store) == ["before", "after"]


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        asyncio.run(open_write_and_look(tmp_path))
    finally:
        os.umask(before)


async def open_write_and_look(folder: Path) -> None:
    store = Store.open(f"sqlite:///{folder}/danlu.db")
    await append(store, "something")
    assert {"danlu.db", "danlu.db-wal"} <= set(os.listdir(folder))
    for name in os.listdir(folder):
        assert os.stat(folder / name).st_mode & 0o077 == 0, name
    await store.close()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "danlu.db").write_bytes(b"this is a letter to my grandmother" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store.open(f"sqlite:///{tmp_path}/danlu.db")


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        Store.open(f"sqlite:///{tmp_path}/nowhere/danlu.db")
