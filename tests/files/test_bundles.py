"""Bundles as the worker keeps them: lists that clients made up, working folders, cleaning."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import stat
import time
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from danlu.access.identities import Person
from danlu.files.bundles.stores import BundleStores, Trouble
from danlu.files.settings import FileSettings

ROOT = os.geteuid() == 0
ALICE = Person("alice", 210_001, 210_001) if ROOT else Person("alice")
BOB = Person("bob", 210_002, 210_002) if ROOT else Person("bob")
DAY = 86400
LIMITS = {"most_files": 1000, "most_bytes": 1 << 20}


@pytest.fixture
def stores(tmp_path: Path) -> BundleStores:
    tmp_path.chmod(0o711)
    for person in (ALICE, BOB):
        home = tmp_path / "home" / person.name
        home.mkdir(parents=True)
        home.chmod(0o700)
        if person.uid is not None:
            os.chown(home, person.uid, person.gid or 0)
    return BundleStores(FileSettings(tmp_path), None)


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def file(
    path: str, text: bytes, mode: int = 0o644, mtime: int = 1_700_000_000_000_000_000
) -> list[Any]:
    return ["f", path, mode, len(text), digest(text), mtime]


async def _one(data: bytes) -> AsyncIterator[bytes]:
    yield data


def offer(stores: BundleStores, entries: Any, person: Person = ALICE) -> dict[str, Any]:
    packed = zlib.compress(json.dumps(entries).encode())
    return asyncio.run(stores.upload(person, {"op": "offer", **LIMITS}, _one(packed)))


def put(
    stores: BundleStores, id: str, *texts: bytes, person: Person = ALICE, room: int = 1 << 20
) -> dict[str, Any]:
    body = b"".join(
        hashlib.sha256(text).digest() + len(text).to_bytes(8, "big") + text for text in texts
    )
    ask = {"op": "put", "id": id, "room": room, **LIMITS}
    return asyncio.run(stores.upload(person, ask, _one(body)))


def refused(stores: BundleStores, entries: Any) -> str:
    with pytest.raises(Trouble) as caught:
        offer(stores, entries)
    return caught.value.code


def test_a_folder_arrives_as_it_was(stores: BundleStores, tmp_path: Path) -> None:
    odd = "caf\udce9 \n\u4e2d"
    entries = [
        ["d", "bin", 0o755],
        file("bin/run", b"#!/bin/sh\n", 0o755),
        file(odd, b""),
        ["d", "empty", 0o750],
        ["l", "link", "bin/run"],
        file("train.py", b"print(1)\n"),
    ]
    entries.sort(key=lambda entry: entry[1])
    first = offer(stores, entries)
    assert sorted(entries[n][1] for n in first["missing"]) == sorted(["bin/run", odd, "train.py"])
    second = put(stores, first["id"], b"#!/bin/sh\n", b"print(1)\n", b"")
    assert second["ready"]
    assert offer(stores, entries)["ready"]

    made = asyncio.run(stores.check_out(ALICE, first["id"], "job-1", "train-1"))
    folder = tmp_path / "home/alice" / made["folder"]

    assert (folder / "train.py").read_text() == "print(1)\n"
    assert stat.S_IMODE((folder / "bin/run").stat().st_mode) == 0o755
    assert (folder / "train.py").stat().st_mtime_ns == 1_700_000_000_000_000_000
    assert (folder / "link").readlink() == Path("bin/run")
    assert list((folder / "empty").iterdir()) == []
    assert (folder / odd).exists()
    if ROOT:
        owners = {path.lstat().st_uid for path in folder.rglob("*")}
        assert owners == {ALICE.uid}
    (folder / "train.py").write_text("changed")
    again = asyncio.run(stores.check_out(ALICE, first["id"], "job-2", "train-2"))
    other = tmp_path / "home/alice" / again["folder"]
    assert (other / "train.py").read_text() == "print(1)\n"
    assert not asyncio.run(stores.check_out(ALICE, first["id"], "job-1", "train-1"))["made"]
    assert (folder / "train.py").read_text() == "changed"


def test_knowing_a_hash_is_not_having_the_file(stores: BundleStores) -> None:
    """Bob names the hash of Alice's file: he has to send it himself."""
    entries = [file("secret", b"of alice")]
    id = offer(stores, entries)["id"]
    put(stores, id, b"of alice")

    bobs = offer(stores, entries, BOB)

    assert bobs["missing"] == [0]
    with pytest.raises(Trouble):
        asyncio.run(stores.check_out(BOB, id, "job-3", "x-1"))


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ([file("../x", b"")], "bad_name"),
        ([file("/etc/x", b"")], "bad_name"),
        ([file("a/b", b"")], "bad_name"),  # its folder is not listed
        ([["l", "a", "b"], file("a/x", b"")], "bad_name"),  # through a link
        ([file("a\0b", b"")], "bad_name"),
        ([file("x" * 256, b"")], "bad_name"),
        ([file("a/./b", b"")], "bad_name"),
        ([["l", "a", "../b"]], "link_leads_out"),
        ([["l", "a", "/etc/passwd"]], "link_leads_out"),
        ([["l", "a", "b/../../c"]], "link_leads_out"),
        ([file("b", b""), file("a", b"")], "not_a_list"),
        ([file("a", b""), file("a", b"")], "not_a_list"),
        ([["f", "a", 0o644, -1, digest(b""), 0]], "not_a_list"),
        ([["f", "a", 0o644, 1, "../../x", 0]], "not_a_list"),
        ([["f", "a", True, 1, digest(b""), 0]], "not_a_list"),
        ([["c", "a", 0o644]], "not_a_list"),
        ({"a": 1}, "not_a_list"),
        ([["f", "a", 0o644, 2 << 20, digest(b""), 0]], "too_large"),
        ([file(f"{n:05}", b"") for n in range(1001)], "too_many_files"),
    ],
)
def test_a_made_up_list_is_refused(stores: BundleStores, entries: Any, code: str) -> None:
    assert refused(stores, entries) == code


def test_what_is_no_list_at_all_is_refused(stores: BundleStores) -> None:
    for packed in (b"", b"x", zlib.compress(b"[" * 100_000), zlib.compress(b" " * (65 << 20))):
        with pytest.raises(Trouble) as caught:
            asyncio.run(stores.upload(ALICE, {"op": "offer", **LIMITS}, _one(packed)))
        assert caught.value.code in ("not_a_list", "list_too_long")


def test_setuid_bits_are_not_kept(stores: BundleStores, tmp_path: Path) -> None:
    id = offer(stores, [file("su", b"x", 0o6755)])["id"]
    put(stores, id, b"x")
    made = asyncio.run(stores.check_out(ALICE, id, "job-1", "x-1"))
    assert stat.S_IMODE((tmp_path / "home/alice" / made["folder"] / "su").stat().st_mode) == 0o755


def test_contents_are_checked_and_only_what_was_asked_for_is_taken(stores: BundleStores) -> None:
    id = offer(stores, [file("a", b"right")])["id"]
    wrong = bytes.fromhex(digest(b"right")) + (5).to_bytes(8, "big") + b"wrong"
    for body, code in (
        (wrong, "changed"),
        (wrong[:-2], "cut_off"),
        (wrong[:20], "cut_off"),
        (hashlib.sha256(b"else").digest() + (4).to_bytes(8, "big") + b"else", "not_asked_for"),
    ):
        with pytest.raises(Trouble) as caught:
            ask = {"op": "put", "id": id, "room": 1 << 20, **LIMITS}
            asyncio.run(stores.upload(ALICE, ask, _one(body)))
        assert caught.value.code == code
    with pytest.raises(Trouble, match="no_room"):
        put(stores, id, b"right", room=4)
    assert put(stores, id, b"right")["ready"]


def test_an_old_working_folder_keeps_what_the_job_wrote(
    stores: BundleStores, tmp_path: Path
) -> None:
    entries = [["d", "src", 0o755], file("src/a.py", b"a"), file("src/b.py", b"b"), file("z", b"z")]
    id = offer(stores, entries)["id"]
    put(stores, id, b"a", b"b", b"z")
    folder = (
        tmp_path / "home/alice" / asyncio.run(stores.check_out(ALICE, id, "j", "t-1"))["folder"]
    )
    time.sleep(0.02)
    (folder / "src/a.py").write_text("edited")
    (folder / "model.pt").write_text("weights")

    asyncio.run(stores.slim(ALICE, "j"))

    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert left == ["model.pt", "src", "src/a.py"]


def test_a_folder_that_is_in_the_way_is_left_alone(stores: BundleStores, tmp_path: Path) -> None:
    id = offer(stores, [file("a", b"a")])["id"]
    put(stores, id, b"a")
    taken = tmp_path / "home/alice/carried/t-1"
    taken.mkdir(parents=True)
    for path in (taken, taken.parent):
        os.chown(path, *(ALICE.uid or -1, ALICE.gid or -1))
    (taken / "mine").write_text("kept")

    made = asyncio.run(stores.check_out(ALICE, id, "0123456789abcdef", "t-1"))

    assert made["folder"] == "carried/t-1-456789abcdef"
    assert os.listdir(taken) == ["mine"]


@pytest.mark.skipif(not ROOT, reason="needs root: several users")
def test_a_link_in_a_home_leads_nowhere_its_owner_could_not_go(
    stores: BundleStores, tmp_path: Path
) -> None:
    id = offer(stores, [file("a", b"a")])["id"]
    put(stores, id, b"a")
    (tmp_path / "home/alice/carried").symlink_to(tmp_path / "home/bob")

    with pytest.raises(Trouble):
        asyncio.run(stores.check_out(ALICE, id, "j", "t-1"))

    assert os.listdir(tmp_path / "home/bob") == []


def test_cleaning_keeps_what_is_needed(stores: BundleStores, tmp_path: Path) -> None:
    keep = offer(stores, [file("a", b"shared"), file("b", b"kept")])["id"]
    put(stores, keep, b"shared", b"kept")
    drop = offer(stores, [file("a", b"shared"), file("c", b"dropped")])["id"]
    put(stores, drop, b"dropped")
    store = tmp_path / "bundles/alice"
    fresh = asyncio.run(stores.collect(ALICE, [keep]))
    assert fresh == {"bytes": 17, "removed": 0}, "what was just sent is never taken away"
    for path in store.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - DAY,) * 2)

    assert asyncio.run(stores.collect(ALICE, [keep])) == {"bytes": 10, "removed": 7}

    assert os.listdir(store / "trees") == [keep]
    assert offer(stores, [file("a", b"shared"), file("b", b"kept")])["ready"]
    assert offer(stores, [file("a", b"shared"), file("c", b"dropped")])["missing"] == [1]
