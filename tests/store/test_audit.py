"""The audit log is append-only, groups and invitations are kept as they were given."""

from __future__ import annotations

import pytest

from danlu.store import Store, Tx, audit, groups, signups, users
from danlu.store.database import Connection
from danlu.store.rows import GroupRow, InviteRow, RequestRow, UserRow


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET actor = 'forged'",
        "DELETE FROM audit",
        "REPLACE INTO audit VALUES (1, 0, 'eve', 'x', 'y', '{}', '')",
        "TRUNCATE audit",
    ],
)
def test_nobody_changes_what_was_done(connection: Connection, change: str) -> None:
    dialect = type(connection).__name__
    if change.startswith("REPLACE") and "Postgres" in dialect:
        change = (
            "INSERT INTO audit VALUES (1, 0, 'eve', 'x', 'y', '{}', '') "
            "ON CONFLICT (seq) DO UPDATE SET actor = 'forged'"
        )
    if change.startswith("TRUNCATE") and "Sqlite" in dialect:
        change = "DELETE FROM audit WHERE 1"
    connection.begin()
    audit.append(connection.tx, 1.5, "alice", "login", "alice", {"why": "马"}, "192.0.2.1")
    audit.append(connection.tx, 2.5, "bob", "login", "bob")
    connection.commit()
    with pytest.raises(Exception, match="append-only"):
        connection.execute(change)
    found = audit.lines(connection.tx)
    assert [(line.seq, line.actor, line.data) for line in found] == [
        (2, "bob", {}),
        (1, "alice", {"why": "马"}),
    ]


async def test_lines_are_found_by_who_what_and_when(store: Store) -> None:
    def some(tx: Tx) -> None:
        for number in range(6):
            actor = "alice" if number % 2 else "bob"
            audit.append(tx, float(number), actor, f"act.{number % 3}", f"t{number}")

    await store.write(some)

    async def things(**query: object) -> list[str]:
        found = await store.read(lambda tx: audit.lines(tx, **query))  # type: ignore[arg-type]
        return [line.thing for line in found]

    assert await things(actor="alice") == ["t5", "t3", "t1"]
    assert await things(act="act.0") == ["t3", "t0"]
    assert await things(thing="t4", actor="bob") == ["t4"]
    assert await things(since=3.0) == ["t5", "t4", "t3"]
    assert await things(before_seq=3, limit=1) == ["t1"]


async def test_people_are_in_groups_until_they_leave_or_the_group_ends(store: Store) -> None:
    def make(tx: Tx) -> None:
        for name in ("alice", "bob"):
            users.insert_user(tx, UserRow(name, name, "member", "h", 1.0))
        for name in ("vision", "speech"):
            groups.insert_group(tx, GroupRow(name, name, 1.0))
            assert groups.put_member(tx, "alice", name, name == "vision", 2.0)
        assert groups.put_member(tx, "bob", "vision", False, 3.0)
        assert not groups.put_member(tx, "bob", "vision", True, 4.0)

    await store.write(make)
    mine = await store.read(lambda tx: groups.groups_of(tx, "alice"))
    assert [(m.group, m.leader) for m in mine] == [("speech", False), ("vision", True)]
    theirs = await store.read(lambda tx: groups.members_of(tx, "vision"))
    assert [(m.user, m.leader, m.joined_at) for m in theirs] == [
        ("alice", True, 2.0),
        ("bob", True, 3.0),
    ]
    await store.write(lambda tx: groups.update_group(tx, "vision", status="removed"))
    left = await store.read(lambda tx: groups.groups_of(tx, "alice"))
    assert [m.group for m in left] == ["speech"]
    assert await store.write(lambda tx: groups.leave_all(tx, "alice")) == 2
    assert await store.read(lambda tx: groups.groups_of(tx, "alice")) == []


async def test_an_invitation_is_used_up(store: Store) -> None:
    invite = InviteRow("i1", "hash of a code", "abcd", None, "admin", 1.0, None, 2)

    def use(tx: Tx) -> bool:
        return signups.use_invite(tx, "i1")

    await store.write(lambda tx: signups.insert_invite(tx, invite))
    assert [await store.write(use) for _ in range(3)] == [True, True, False]
    kept = await store.read(lambda tx: signups.find_invite(tx, "hash of a code"))
    assert kept is not None and (kept.used, kept.group) == (2, None)
    assert invite.hash not in repr(kept)


async def test_a_request_is_there_until_it_is_settled(store: Store) -> None:
    row = RequestRow("r1", "bob", "Bob", "h", "vision", "please", 1.0, "192.0.2.1")
    await store.write(lambda tx: signups.insert_request(tx, row))
    assert await store.read(lambda tx: signups.get_request(tx, "bob")) == row
    assert await store.read(signups.count_requests) == 1
    assert await store.write(lambda tx: signups.settle_request(tx, "r1"))
    assert await store.read(signups.list_requests) == []
