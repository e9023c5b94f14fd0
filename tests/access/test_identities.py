"""Who is whom on the machine: numbers are given once and never again."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.access import identities
from danlu.access.identities import Identities, Mapped, NoNumber, Uids
from danlu.access.registry import Registry
from danlu.store import Store, Tx, groups, users
from danlu.store.rows import GroupRow, UserRow

SOME = Uids(900_000, 900_004)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/danlu.db")
    yield opened
    await opened.close()


async def user(store: Store, name: str, uids: Uids | None = SOME) -> UserRow:
    def op(tx: Tx) -> UserRow:
        uid, gid = identities.for_user(tx, uids, f"id-{name}", name)
        row = UserRow(f"id-{name}", name, "member", "x", 1.0, uid=uid, gid=gid)
        users.insert_user(tx, row)
        return row

    return await store.write(op)


async def group(store: Store, name: str, uids: Uids | None = SOME) -> GroupRow:
    def op(tx: Tx) -> GroupRow:
        gid = identities.for_group(tx, uids, f"id-{name}", name)
        row = GroupRow(f"id-{name}", name, 1.0, gid)
        groups.insert_group(tx, row)
        return row

    return await store.write(op)


async def test_users_and_groups_get_the_numbers_of_the_range_in_turn(store: Store) -> None:
    alice, bob = await user(store, "alice"), await user(store, "bob")
    vision = await group(store, "vision")
    assert (alice.uid, alice.gid) == (900_000, 900_000)
    assert (bob.uid, bob.gid) == (900_001, 900_001)
    assert vision.gid == 900_002


async def test_without_root_nobody_has_a_number(store: Store) -> None:
    alice = await user(store, "alice", None)
    assert (alice.uid, alice.gid) == (None, None)
    assert (await group(store, "vision", None)).gid is None


async def test_a_number_is_not_given_again_when_its_user_gets_another(store: Store) -> None:
    alice = await user(store, "alice")
    uid, gid = await store.write(lambda tx: identities.assign(tx, SOME, alice.id, 5_000_001))
    assert (uid, gid) == (5_000_001, 5_000_001)
    assert (await user(store, "bob")).uid == 900_001
    with pytest.raises(NoNumber, match="used before"):
        await store.write(lambda tx: identities.assign(tx, SOME, "id-bob", 900_000))
    back, _ = await store.write(lambda tx: identities.assign(tx, SOME, alice.id, 900_000))
    assert back == 900_000, "one's own old number can be had again"


async def test_a_range_that_is_used_up_says_where_to_set_a_larger_one(store: Store) -> None:
    for name in "abcde":
        await user(store, name)
    with pytest.raises(NoNumber, match=r"900000-900004.*\[uids\] range"):
        await user(store, "f")


async def test_another_range_goes_on_with_fresh_numbers(store: Store) -> None:
    await user(store, "a")
    assert (await user(store, "b", Uids(910_000, 910_009))).uid == 910_000
    assert (await user(store, "c", SOME)).uid == 900_001


@pytest.mark.parametrize("number", [0, 1, 42, 999, -1, 2**31, 2**32])
async def test_numbers_of_the_system_are_never_given(store: Store, number: int) -> None:
    with pytest.raises(NoNumber, match="from 1000"):
        await store.write(lambda tx: identities.assign(tx, SOME, "x", number))
    with pytest.raises(NoNumber, match="from 1000"):
        await store.write(lambda tx: identities.assign(tx, SOME, "x", 5_000_001, number))


async def test_what_the_admin_wrote_down_comes_first(store: Store) -> None:
    uids = replace(
        SOME, users={"alice": Mapped(900_000, 900_003, (7000,))}, groups={"vision": 900_001}
    )
    alice, bob = await user(store, "alice", uids), await user(store, "bob", uids)
    vision = await group(store, "vision", uids)
    assert (alice.uid, alice.gid) == (900_000, 900_003)
    assert vision.gid == 900_001
    assert bob.uid == 900_002, "what is written down for others is left out"


async def test_numbers_of_people_of_the_machine_are_left_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "foreign_ranges", lambda: [(899_000, 900_001)])
    assert (await user(store, "alice")).uid == 900_002
    known = max(entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid < 2**31 - 10)
    assert (await user(store, "bob", Uids(max(known, 1000), known + 2000))).uid != known


def test_the_ranges_of_user_namespaces_are_read_from_the_machine() -> None:
    found = identities.foreign_ranges()
    assert found == sorted(found)
    if os.path.exists("/etc/subuid"):
        for line in Path("/etc/subuid").read_text().splitlines():
            first, count = line.split(":")[1:3]
            assert (int(first), int(first) + int(count) - 1) in found


async def test_old_accounts_get_numbers_at_the_start(store: Store) -> None:
    await user(store, "alice", None)
    await group(store, "vision", None)
    await store.write(lambda tx: identities.complete(tx, SOME))
    await store.write(lambda tx: identities.complete(tx, SOME))
    alice = await store.read(lambda tx: users.get_user(tx, "alice"))
    vision = await store.read(lambda tx: groups.get_group(tx, "vision"))
    assert alice is not None
    assert vision is not None
    assert (alice.uid, alice.gid, vision.gid) == (900_000, 900_000, 900_001)


async def test_what_is_written_down_later_holds_from_the_next_start_on(store: Store) -> None:
    await user(store, "alice")
    uids = replace(SOME, users={"alice": Mapped(5_000_001)})
    await store.write(lambda tx: identities.complete(tx, uids))
    alice = await store.read(lambda tx: users.get_user(tx, "alice"))
    assert alice is not None
    assert (alice.uid, alice.gid) == (5_000_001, 5_000_001)
    person = await Identities(store, uids).person("alice")
    assert person.numbers == (900_000, 5_000_001)


async def test_an_identity_has_the_groups_of_now(store: Store) -> None:
    alice, vision = await user(store, "alice"), await group(store, "vision")
    await group(store, "speech")
    known = Identities(store, SOME)
    assert (await known.person("alice")).identity(None).groups == ()
    await store.write(lambda tx: groups.put_member(tx, alice.id, vision.id, False, 1.0))
    known.forget()
    found = (await known.person("alice")).identity("vision", 0o027)
    assert (found.user, found.group, found.uid, found.gid) == ("alice", "vision", 900_000, 900_000)
    assert found.groups == (900_001,)
    assert found.names == (("vision", 900_001),)
    assert found.umask == 0o027
    await store.write(lambda tx: groups.remove_member(tx, alice.id, vision.id))
    known.forget()
    assert (await known.person("alice")).identity(None).groups == ()


async def test_new_files_are_for_oneself_and_ones_own_group() -> None:
    person = identities.Person("alice", 900_000, 900_000)
    assert identities.umask_of(SOME, person) == 0o007
    assert identities.umask_of(SOME, replace(person, gid=100_100)) == 0o027
    assert identities.umask_of(replace(SOME, umask=0o022), person) == 0o022
    assert identities.umask_of(None, identities.Person("alice")) == 0o022


async def test_two_servers_on_one_machine_never_assign_the_same_number(tmp_path: Path) -> None:
    path = tmp_path / "machine" / "uids.db"
    numbers: list[int | None] = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        own = Store.open(f"sqlite:///{folder}/danlu.db")
        uids = replace(SOME, registry=Registry(name, folder, path))
        numbers += [(await user(own, "alice", uids)).uid, (await group(own, "vision", uids)).gid]
        await own.close()
    assert numbers == [900_000, 900_001, 900_002, 900_003]
    again = Registry("one", tmp_path / "one", path)
    assert again.claim([900_000, 900_001]) and not again.claim([900_002, 900_004])
    assert again.taken().keys() == {900_002, 900_003}
    assert path.stat().st_mode & 0o777 == 0o600


async def test_trials_in_a_temporary_folder_give_their_numbers_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    path, elsewhere = tmp_path / "uids.db", tmp_path / "a disk that is away"
    trial = tmp_path / "temporary" / "trial"
    trial.mkdir(parents=True)
    assert Registry("trial", trial, path).claim([900_000])
    assert Registry("real", elsewhere, path).claim([900_001])
    assert Registry("new", tmp_path, path).taken().keys() == {900_000, 900_001}
    trial.rmdir()
    assert Registry("new", tmp_path, path).taken().keys() == {900_001}
