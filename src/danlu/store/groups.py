"""Groups, their members and leaders."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.codec import KEY, changes, update_of
from danlu.store.rows import GroupRow, MemberRow
from danlu.store.tables import groups, members, users
from danlu.store.tx import Statement, Tx

_GROUP = (
    groups.c.id,
    groups.c.name,
    groups.c.created_at,
    groups.c.gid,
    groups.c.note,
    groups.c.status,
)
_MEMBER = (users.c.name, groups.c.name, members.c.leader, members.c.joined_at)
_INSERT = Statement(insert(groups))
_BY_NAME = Statement(select(*_GROUP).where(groups.c.name == bindparam("name")))
_ALL = Statement(select(*_GROUP).order_by(groups.c.name))
_joined = select(*_MEMBER).select_from(members.join(users).join(groups))
_MEMBERS_OF = Statement(
    _joined.where(members.c.group_id == bindparam("group")).order_by(users.c.name)
)
_GROUPS_OF = Statement(
    _joined.where(
        members.c.user_id == bindparam("user"), groups.c.status == bindparam("status")
    ).order_by(groups.c.name)
)
_ALL_MEMBERS = Statement(_joined.order_by(groups.c.name, users.c.name))
_this = (members.c.user_id == bindparam("who"), members.c.group_id == bindparam("where"))
_SET_LEADER = Statement(update(members).where(*_this).values(leader=bindparam("leads")))
_INSERT_MEMBER = Statement(insert(members))
_REMOVE_MEMBER = Statement(delete(members).where(*_this))
_LEAVE_ALL = Statement(delete(members).where(members.c.user_id == bindparam("who")))
_EMPTY = Statement(delete(members).where(members.c.group_id == bindparam("where")))


def insert_group(tx: Tx, row: GroupRow) -> None:
    """Raises StoreConflict if the name is taken, even by a removed group."""
    tx.run(_INSERT, asdict(row))


def get_group(tx: Tx, name: str) -> GroupRow | None:
    """Includes removed groups."""
    row = tx.row(_BY_NAME, {"name": name})
    return None if row is None else GroupRow(*row)


def list_groups(tx: Tx) -> list[GroupRow]:
    return [GroupRow(*row) for row in tx.rows(_ALL)]


def update_group(tx: Tx, id: str, **values: Any) -> bool:
    params = changes(groups, values)
    statement = update_of(groups, tuple(params))
    return tx.run(statement, {**params, KEY: id}) == 1


def put_member(tx: Tx, user_id: str, group_id: str, leader: bool, at: float) -> bool:
    """Also changes whether a member leads. True: they were not a member before."""
    if tx.run(_SET_LEADER, {"who": user_id, "where": group_id, "leads": leader}) == 1:
        return False
    values = {"user_id": user_id, "group_id": group_id, "leader": leader, "joined_at": at}
    tx.run(_INSERT_MEMBER, values)
    return True


def remove_member(tx: Tx, user_id: str, group_id: str) -> bool:
    return tx.run(_REMOVE_MEMBER, {"who": user_id, "where": group_id}) == 1


def leave_all(tx: Tx, user_id: str) -> int:
    return tx.run(_LEAVE_ALL, {"who": user_id})


def empty(tx: Tx, group_id: str) -> int:
    return tx.run(_EMPTY, {"where": group_id})


def members_of(tx: Tx, group_id: str) -> list[MemberRow]:
    return [_member(*row) for row in tx.rows(_MEMBERS_OF, {"group": group_id})]


def groups_of(tx: Tx, user_id: str) -> list[MemberRow]:
    """Without removed groups."""
    return [_member(*row) for row in tx.rows(_GROUPS_OF, {"user": user_id, "status": "active"})]


def all_members(tx: Tx) -> list[MemberRow]:
    return [_member(*row) for row in tx.rows(_ALL_MEMBERS)]


def _member(user: str, group: str, leader: object, joined_at: float) -> MemberRow:
    return MemberRow(user, group, bool(leader), joined_at)
