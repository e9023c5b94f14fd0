"""Accounts: add, show, change, disable, enable, remove."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from danlu.access import identities, rules
from danlu.access.audit import note
from danlu.access.circle import Circle
from danlu.access.errors import AccessError, Clash, NotAllowed, NotThere, Unfit
from danlu.access.gate import SIGNED_IN, Gate
from danlu.access.identities import Identities, NoNumber
from danlu.access.names import check_name, check_text
from danlu.access.passwords import one_time_password
from danlu.access.principal import Asker
from danlu.spec.ids import uuid7
from danlu.spec.text import Text
from danlu.store import environments, groups, jobs, secrets, ssh_keys, users
from danlu.store.rows import MemberRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

ROLES = ("admin", "member")


@dataclass(frozen=True, slots=True)
class Person:
    """An account and its groups."""

    row: UserRow
    memberships: list[MemberRow]


@dataclass(frozen=True, slots=True)
class NewPerson:
    name: str
    full_name: str = ""
    role: str = "member"
    groups: Sequence[str] = ()
    leads: Sequence[str] = ()
    uid: int | None = None
    gid: int | None = None
    trusted: bool = False


class People:
    def __init__(self, store: Store, gate: Gate, known: Identities, circle: Circle) -> None:
        self._store = store
        self._gate = gate
        self._known = known
        self._circle = circle

    # -- looking ------------------------------------------------------------------------------

    async def seen(self, asker: Asker) -> list[Person]:
        """The accounts a principal may see."""

        def query(tx: Tx) -> list[Person]:
            by_name: dict[str, list[MemberRow]] = {}
            for member in groups.all_members(tx):
                by_name.setdefault(member.user, []).append(member)
            return [Person(row, by_name.get(row.name, [])) for row in users.list_users(tx)]

        return [person for person in await self._store.read(query) if _sees(asker, person)]

    async def show(self, asker: Asker, name: str) -> Person:
        person = await self._store.read(lambda tx: _find(tx, name))
        if person is None or not _sees(asker, person):
            raise _nobody(name)
        return person

    # -- changing -----------------------------------------------------------------------------

    async def add(self, asker: Asker, new: NewPerson) -> tuple[Person, str]:
        """Creates a one-time password, which is shown to the admin and stored only as a hash."""
        _managed(asker)
        password = one_time_password()
        hashed = await self._gate.hashing.hash(password)

        def op(tx: Tx) -> Person:
            person = self.insert(tx, new, hashed, must_change=True)
            note(tx, asker, "user.added", new.name, role=new.role, groups=sorted(new.groups))
            return person

        return await self._store.write(op), password

    def insert(self, tx: Tx, new: NewPerson, password_hash: str, must_change: bool) -> Person:
        """Used by all ways in: the admin, an invitation, an approved request."""
        check_name(new.name)
        if users.get_user(tx, new.name) is not None:
            raise taken(new.name)
        if new.role not in ROLES:
            raise Unfit(
                "role", Text(f"must be one of {', '.join(ROLES)}", f"请写 {'、'.join(ROLES)} 之一")
            )
        self._circle.admit(tx, new.trusted)
        row = UserRow(uuid7(), new.name, new.role, password_hash, time.time(), must_change)
        row.full_name = check_text(new.full_name, "full_name")
        row.uid, row.gid = self._numbers(tx, row, new.uid, new.gid)
        users.insert_user(tx, row)
        for name in dict.fromkeys([*new.groups, *new.leads]):
            group = groups.get_group(tx, name)
            if group is None or group.status != "active":
                raise Unfit("groups", Text(f"group {name} does not exist", f"没有组 {name}"))
            groups.put_member(tx, row.id, group.id, name in new.leads, time.time())
        return Person(row, groups.groups_of(tx, row.id))

    async def change(self, asker: Asker, name: str, changes: dict[str, Any]) -> Person:
        """`changes`: full_name, role, uid, gid."""
        person = await self.show(asker, name)
        if not changes:
            fields = "full_name, role, uid, gid"
            raise Unfit(
                "changes", Text(f"name at least one of {fields}", f"请至少给出 {fields} 之一")
            )
        own = changes.keys() <= {"full_name"} and rules.renames_person(asker.who, name)
        if not own:
            _managed(asker)
        if name == asker.name and changes.get("role", person.row.role) != person.row.role:
            raise _yourself()

        def op(tx: Tx) -> Person:
            row = _present(tx, name)
            values = dict(changes)
            if "full_name" in values:
                values["full_name"] = check_text(values["full_name"], "full_name")
            if values.get("role", row.role) not in ROLES:
                raise Unfit(
                    "role", Text(f"must be one of {', '.join(ROLES)}", f"请写 {'、'.join(ROLES)}")
                )
            if "uid" in values or "gid" in values:
                uid = values.get("uid", row.uid)
                values["uid"], values["gid"] = self._numbers(tx, row, uid, values.get("gid"))
            users.update_user(tx, row.id, **values)
            _one_admin_left(tx)
            note(tx, asker, "user.changed", name, **values)
            return _found(tx, name)

        changed = await self._store.write(op)
        self._changed(person)
        return changed

    async def disable(self, asker: Asker, name: str) -> Person:
        """Deletes nothing; tokens work again once the account is enabled."""
        return await self._set_status(asker, name, "disabled", "user.disabled")

    async def enable(self, asker: Asker, name: str) -> Person:
        return await self._set_status(asker, name, "active", "user.enabled")

    async def _set_status(self, asker: Asker, name: str, status: str, act: str) -> Person:
        _managed(asker)
        if name == asker.name and status != "active":
            raise _yourself()

        def op(tx: Tx) -> Person:
            row = _present(tx, name)
            if row.status != status:
                users.update_user(tx, row.id, status=status)
                _one_admin_left(tx)
                note(tx, asker, act, name)
            return _found(tx, name)

        person = await self._store.write(op)
        self._changed(person)
        return person

    async def reset_password(self, asker: Asker, name: str) -> str:
        """Sets a new one-time password. Sessions and personal tokens end: they may be in the wrong
        hands.
        """
        _managed(asker)
        await self.show(asker, name)
        password = one_time_password()
        hashed = await self._gate.hashing.hash(password)

        def op(tx: Tx) -> Person:
            give_one_time_password(tx, asker, name, hashed)
            return _found(tx, name)

        self._changed(await self._store.write(op))
        return password

    async def remove(self, asker: Asker, name: str) -> Person:
        """Permanent: name and uid are never reused. Jobs and files stay for the admin to inspect or
        transfer.
        """
        _managed(asker)
        if name == asker.name:
            raise _yourself()

        def op(tx: Tx) -> Person:
            row = _present(tx, name)
            active = jobs.count_active(tx, name)
            if active:
                raise Clash(
                    "active_jobs",
                    Text(
                        f"{name} has {active} unfinished jobs; stop them first (danlu user disable "
                        f"{name} --stop-jobs)",
                        f"{name} 还有 {active} 个未结束的任务；请先停止"
                        f"（danlu user disable {name} --stop-jobs）",
                    ),
                )
            users.update_user(tx, row.id, status="removed", password_hash="")
            _one_admin_left(tx)
            users.revoke_all(tx, row.id)
            groups.leave_all(tx, row.id)
            secrets.delete_all(tx, name)
            ssh_keys.remove_all(tx, name)
            environments.remove_all(tx, name)
            note(tx, asker, "user.removed", name)
            return Person(_present(tx, name, removed=True), [])

        person = await self._store.write(op)
        self._changed(person)
        return person

    def _changed(self, person: Person) -> None:
        self._gate.forget([person.row.id])
        self._known.forget()

    def _numbers(
        self, tx: Tx, row: UserRow, uid: int | None, gid: int | None
    ) -> tuple[int | None, int | None]:
        try:
            if uid is None:
                return identities.for_user(tx, self._known.uids, row.id, row.name)
            return identities.assign(tx, self._known.uids, row.id, uid, gid)
        except NoNumber as error:
            raise Unfit("uid", error.message) from None


def taken(name: str) -> AccessError:
    return Clash(
        "name_taken",
        Text(
            f"The name {name} is or was in use; choose another",
            f"名称 {name} 已被使用或曾被使用；请换一个",
        ),
    )


def _yourself() -> Clash:
    return Clash(
        "yourself",
        Text(
            "You cannot do this to your own account; ask another admin",
            "这是你自己的账号；请由另一名管理员执行",
        ),
    )


def _nobody(name: str) -> NotThere:
    shown = name[:40]
    return NotThere(Text(f"user {shown}", f"用户 {shown}"))


def _managed(asker: Asker) -> None:
    if not rules.manages_people(asker.who):
        raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))


def _sees(asker: Asker, person: Person) -> bool:
    mine = [member.group for member in person.memberships]
    return rules.sees_person(asker.who, person.row.name, mine)


def _find(tx: Tx, name: str) -> Person | None:
    row = users.get_user(tx, name)
    return None if row is None else Person(row, groups.groups_of(tx, row.id))


def _found(tx: Tx, name: str) -> Person:
    person = _find(tx, name)
    if person is None:
        raise _nobody(name)
    return person


def give_one_time_password(tx: Tx, asker: Asker, name: str, hashed: str) -> None:
    row = _present(tx, name)
    users.set_password(tx, row.id, hashed, must_change=True)
    ended = users.revoke_kinds(tx, row.id, (*SIGNED_IN, "personal"))
    note(tx, asker, "password.reset", name, tokens_ended=ended)


def _present(tx: Tx, name: str, removed: bool = False) -> UserRow:
    row = users.get_user(tx, name)
    if row is None:
        raise _nobody(name)
    if row.status == "removed" and not removed:
        raise Clash("removed", Text(f"{name} has been removed", f"{name} 已被删除"))
    return row


def _one_admin_left(tx: Tx) -> None:
    if users.count_admins(tx) == 0:
        raise Clash(
            "last_admin",
            Text(
                "At least one admin must remain; appoint another first (danlu user set NAME "
                "--role admin)",
                "至少要保留一名管理员；请先指定另一名（danlu user set 名称 --role admin）",
            ),
        )
