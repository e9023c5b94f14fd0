"""Groups and their members."""

from __future__ import annotations

import time
from dataclasses import dataclass

from danlu.access import identities, rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere, Unfit
from danlu.access.gate import Gate
from danlu.access.identities import Identities, NoNumber
from danlu.access.names import check_name, check_text
from danlu.access.principal import Asker
from danlu.access.signup import good_invite
from danlu.spec.ids import uuid7
from danlu.spec.text import Text
from danlu.store import groups, signups, users
from danlu.store.rows import GroupRow, MemberRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Group:
    row: GroupRow
    members: list[MemberRow]


class Groups:
    def __init__(self, store: Store, gate: Gate, known: Identities) -> None:
        self._store = store
        self._gate = gate
        self._known = known

    async def seen(self, asker: Asker) -> list[Group]:
        """The groups a principal may see."""

        def query(tx: Tx) -> list[Group]:
            by_group: dict[str, list[MemberRow]] = {}
            for member in groups.all_members(tx):
                by_group.setdefault(member.group, []).append(member)
            rows = [row for row in groups.list_groups(tx) if row.status == "active"]
            return [Group(row, by_group.get(row.name, [])) for row in rows]

        found = await self._store.read(query)
        return [group for group in found if rules.sees_group(asker.who, group.row.name)]

    async def show(self, asker: Asker, name: str) -> Group:
        _seen(asker, name)
        return await self._store.read(lambda tx: _found(tx, name))

    async def add(self, asker: Asker, name: str, text: str = "") -> Group:
        _managed(asker)
        row = GroupRow(uuid7(), check_name(name), time.time(), note=check_text(text, "note"))

        def op(tx: Tx) -> Group:
            if groups.get_group(tx, name) is not None:
                raise Clash(
                    "name_taken",
                    Text(
                        f"The name {name} is or was in use; choose another",
                        f"名称 {name} 已被使用或曾被使用；请换一个",
                    ),
                )
            row.gid = self._number(tx, row)
            groups.insert_group(tx, row)
            note(tx, asker, "group.added", name, gid=row.gid)
            return Group(row, [])

        group = await self._store.write(op)
        self._known.forget()
        return group

    async def change(self, asker: Asker, name: str, text: str) -> Group:
        _seen(asker, name)
        _managed(asker)
        told = check_text(text, "note")

        def op(tx: Tx) -> Group:
            groups.update_group(tx, _found(tx, name).row.id, note=told)
            note(tx, asker, "group.changed", name, note=told)
            return _found(tx, name)

        return await self._store.write(op)

    async def remove(self, asker: Asker, name: str) -> Group:
        """Members keep their accounts; the name and gid are never reused."""
        _seen(asker, name)
        _managed(asker)

        def op(tx: Tx) -> tuple[Group, list[str]]:
            group = _found(tx, name)
            ids = _ids(tx, group)
            groups.empty(tx, group.row.id)
            groups.update_group(tx, group.row.id, status="removed")
            note(tx, asker, "group.removed", name, members=[m.user for m in group.members])
            return group, ids

        group, ids = await self._store.write(op)
        self._changed(ids)
        return group

    async def put_member(
        self, asker: Asker, name: str, user: str, leader: bool | None = None
    ) -> Group:
        """Adds a member. `leader` sets or clears that role; None leaves it unchanged."""
        _seen(asker, name)
        if not rules.adds_members(asker.who):
            raise _invite_instead(name)

        def op(tx: Tx) -> tuple[Group, str]:
            group, person = _found(tx, name), _person(tx, user)
            before = next((m for m in group.members if m.user == user), None)
            leads = leader if leader is not None else before is not None and before.leader
            if before is None or before.leader != leads:
                groups.put_member(tx, person.id, group.row.id, leads, time.time())
                act = "member.added" if before is None else "member.changed"
                note(tx, asker, act, name, user=user, leader=leads)
            return _found(tx, name), person.id

        group, user_id = await self._store.write(op)
        self._changed([user_id])
        return group

    async def join(self, asker: Asker, code: str) -> Group:
        """Redeems an invitation: how someone with an account enters a group."""
        if not rules.redeems_invites(asker.who):
            raise NotAllowed(
                Text(
                    "Admins do not join by invitation; use: danlu group add-member GROUP USER",
                    "管理员不通过邀请码入组；请用：danlu group add-member 组 用户",
                ),
            )

        def op(tx: Tx) -> Group:
            invite = good_invite(tx, code)
            if invite.group is None:
                raise Unfit(
                    "code",
                    Text(
                        "is for signing up and not for joining a group",
                        "是注册用的邀请码，不能用来入组",
                    ),
                )
            group = _found(tx, invite.group)
            if any(member.user == asker.name for member in group.members):
                raise Clash(
                    "already_member",
                    Text(f"You are already in {invite.group}", f"你已在 {invite.group} 中"),
                )
            signups.use_invite(tx, invite.id)
            groups.put_member(tx, asker.who.user_id, group.row.id, False, time.time())
            told = {"invitation": invite.id, "by": invite.created_by}
            note(tx, asker, "member.joined", group.row.name, **told)
            return _found(tx, invite.group)

        group = await self._store.write(op)
        self._changed([asker.who.user_id])
        return group

    async def remove_member(self, asker: Asker, name: str, user: str) -> Group:
        _seen(asker, name)
        if not rules.takes_out(asker.who, name, user):
            raise NotAllowed(
                Text(
                    f"Only a leader of {name} or an admin may do this",
                    f"只有 {name} 的组长或管理员可以执行",
                ),
            )

        def op(tx: Tx) -> tuple[Group, str]:
            group = _found(tx, name)
            if all(member.user != user for member in group.members):
                raise NotThere(Text(f"{user[:40]} in {name}", f"{user[:40]}（{name} 中）"))
            person = _person(tx, user)
            groups.remove_member(tx, person.id, group.row.id)
            note(tx, asker, "member.removed", name, user=user)
            return _found(tx, name), person.id

        group, user_id = await self._store.write(op)
        self._changed([user_id])
        return group

    def _changed(self, user_ids: list[str]) -> None:
        self._gate.forget(user_ids)
        self._known.forget()

    def _number(self, tx: Tx, row: GroupRow) -> int | None:
        try:
            return identities.for_group(tx, self._known.uids, row.id, row.name)
        except NoNumber as error:
            raise Unfit("gid", error.message) from None


def _missing(name: str) -> NotThere:
    return NotThere(Text(f"group {name[:40]}", f"组 {name[:40]}"))


def _seen(asker: Asker, name: str) -> None:
    if not rules.sees_group(asker.who, name):
        raise _missing(name)


def _managed(asker: Asker) -> None:
    if not rules.manages_groups(asker.who):
        raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))


def _invite_instead(name: str) -> NotAllowed:
    return NotAllowed(
        Text(
            "Only an admin can add members directly. A leader creates a code with "
            f"danlu invite create --group {name}, and they join with danlu group join CODE",
            f"只有管理员可以直接添加成员。组长请用 danlu invite create --group {name} 生成邀请码，"
            "对方用 danlu group join 邀请码 加入",
        ),
    )


def _found(tx: Tx, name: str) -> Group:
    row = groups.get_group(tx, name)
    if row is None or row.status != "active":
        raise _missing(name)
    return Group(row, groups.members_of(tx, row.id))


def _person(tx: Tx, name: str) -> UserRow:
    row = users.get_user(tx, name)
    if row is None or row.status == "removed":
        raise NotThere(Text(f"user {name[:40]}", f"用户 {name[:40]}"))
    return row


def _ids(tx: Tx, group: Group) -> list[str]:
    rows = (users.get_user(tx, member.user) for member in group.members)
    return [row.id for row in rows if row is not None]
