"""Uids and gids of users and groups. Each number is assigned once.

As root every user's tasks run with their own uid: one set by the admin, or the next of a reserved
range. Numbers are never reused, because files on some disk may still carry them.
"""

from __future__ import annotations

import grp
import pwd
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from danlu.access.registry import Registry
from danlu.engines.api import Identity
from danlu.spec.text import Text
from danlu.store import groups as group_store
from danlu.store import uids as uid_store
from danlu.store import users as user_store
from danlu.store.meta import get_meta, put_meta
from danlu.store.rows import GroupRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

LOWEST = 1000
"""Below are the system's own: root, daemons, and groups such as disk or docker."""
HIGHEST = 2**31 - 2
CACHE_SECONDS = 5.0
_COUNTER = "uids.next"


@dataclass(frozen=True, slots=True)
class Mapped:
    """What the admin set for one user."""

    uid: int
    gid: int | None = None
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Uids:
    """Where numbers come from. None if all tasks share the server's uid."""

    first: int = 200_000
    last: int = 299_999
    users: Mapping[str, Mapped] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)
    umask: int | None = None  # umask of tasks; None: see umask_of()
    registry: Registry | None = None  # of this machine


class NoNumber(Exception):
    """A number that cannot be assigned."""

    def __init__(self, message: Text) -> None:
        super().__init__(message.en)
        self.message = message


# -- assigning numbers ---------------------------------------------------------------------------


def for_user(tx: Tx, uids: Uids | None, user_id: str, name: str) -> tuple[int | None, int | None]:
    """The uid and gid of a new account; (None, None) if all share the server's."""
    if uids is None:
        return None, None
    mapped = uids.users.get(name)
    if mapped is None:
        number = _next(tx, uids, f"user:{user_id}")
        return number, number
    return assign(tx, uids, user_id, mapped.uid, mapped.gid)


def for_group(tx: Tx, uids: Uids | None, group_id: str, name: str) -> int | None:
    """The gid of a new group."""
    if uids is None:
        return None
    holder = f"group:{group_id}"
    mapped = uids.groups.get(name)
    if mapped is None:
        return _next(tx, uids, holder)
    _take(tx, mapped, holder)
    return mapped


def for_service(tx: Tx, uids: Uids, name: str) -> int:
    """The uid, and gid, of a process of the server's own that need not be root."""
    holder = f"service:{name}"
    had = uid_store.numbers_of(tx, holder)
    return had[-1] if had else _next(tx, uids, holder)


def assign(
    tx: Tx, uids: Uids | None, user_id: str, uid: int, gid: int | None = None
) -> tuple[int, int]:
    """The admin's choice for a user. Raises NoNumber."""
    _take(tx, uid, f"user:{user_id}")
    if gid is None:
        gid = _private_gid(uid) or _next(tx, uids or Uids(), f"user:{user_id}")
    elif not LOWEST <= gid <= HIGHEST:
        raise _too_low(gid)
    return uid, gid


def complete(tx: Tx, uids: Uids | None) -> None:
    """At start: assigns numbers to old accounts and applies what the admin has set since."""
    if uids is None:
        return
    for user in user_store.list_users(tx):
        mapped = uids.users.get(user.name)
        if user.status == "removed" or not _lacks(user, mapped):
            continue
        uid, gid = for_user(tx, uids, user.id, user.name)
        user_store.update_user(tx, user.id, uid=uid, gid=gid)
    for group in group_store.list_groups(tx):
        mapped_gid = uids.groups.get(group.name)
        if group.status != "removed" and _lacks_gid(group, mapped_gid):
            group_store.update_group(tx, group.id, gid=for_group(tx, uids, group.id, group.name))


def _lacks(user: UserRow, mapped: Mapped | None) -> bool:
    if user.uid is None or mapped is None:
        return user.uid is None
    return user.uid != mapped.uid or mapped.gid not in (None, user.gid)


def _lacks_gid(group: GroupRow, mapped: int | None) -> bool:
    return group.gid is None or (mapped is not None and group.gid != mapped)


def earlier(tx: Tx, user_id: str) -> list[int]:
    """All uids a user ever had: files on some disk may still carry them."""
    return uid_store.numbers_of(tx, f"user:{user_id}")


def _take(tx: Tx, number: int, holder: str) -> None:
    if not LOWEST <= number <= HIGHEST:
        raise _too_low(number)
    had = uid_store.holder_of(tx, number)
    if had is None:
        uid_store.note(tx, number, holder)
    elif had != holder:
        raise NoNumber(
            Text(
                f"{number} has been used before, and numbers are never reused: choose another",
                f"{number} 已经分配过，编号不会重复使用：请另选一个",
            ),
        )


def _next(tx: Tx, uids: Uids, holder: str) -> int:
    seen = int(get_meta(tx, _COUNTER) or 0)
    number = seen if uids.first <= seen <= uids.last else uids.first
    foreign = foreign_ranges()
    mapped = {m.uid for m in uids.users.values()} | {m.gid for m in uids.users.values()}
    mapped |= set(uids.groups.values())
    elsewhere = uids.registry.taken() if uids.registry is not None else {}
    while number <= uids.last:
        beyond = next((last + 1 for first, last in foreign if first <= number <= last), None)
        if beyond is not None:
            number = beyond
        elif (
            number in mapped
            or number in elsewhere
            or _known(tx, number)
            or (uids.registry is not None and not uids.registry.claim([number]))
        ):
            number += 1
        else:
            uid_store.note(tx, number, holder)
            put_meta(tx, _COUNTER, str(number + 1))
            return number
    raise NoNumber(
        Text(
            f"The uid range ({uids.first}-{uids.last}) is exhausted; set a larger [uids] range in "
            "danlu.toml",
            f"uid 范围（{uids.first}-{uids.last}）已用完；"
            "请在 danlu.toml 的 [uids] range 中设置更大的范围",
        ),
    )


def _too_low(number: int) -> NoNumber:
    return NoNumber(
        Text(
            f"{number} cannot be a uid or gid here: choose one from {LOWEST} to {HIGHEST}; lower "
            "ones belong to the system",
            f"{number} 不能用作用户或组的编号：请从 {LOWEST} 到 {HIGHEST} 中选择，更小的属于系统",
        ),
    )


def _private_gid(uid: int) -> int | None:
    """The gid for a uid: the one the machine has for it, else the same number."""
    try:
        gid = pwd.getpwuid(uid).pw_gid
        return gid if gid >= LOWEST else None
    except KeyError:
        pass
    try:
        grp.getgrgid(uid)  # a group shared with other users
    except KeyError:
        return uid
    return None


def _known(tx: Tx, number: int) -> bool:
    """Assigned before, or used by the machine."""
    if uid_store.holder_of(tx, number) is not None:
        return True
    for look in (pwd.getpwuid, grp.getgrgid):
        try:
            look(number)
            return True
        except KeyError:
            pass
    return False


def foreign_ranges() -> list[tuple[int, int]]:
    """Numbers that /etc/subuid and /etc/subgid let users of the machine take in user namespaces."""
    found = []
    for path in ("/etc/subuid", "/etc/subgid"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines:
            _, _, numbers = line.partition(":")
            first, _, count = numbers.partition(":")
            if first.isdigit() and count.isdigit() and int(count) > 0:
                found.append((int(first), int(first) + int(count) - 1))
    return sorted(found)


# -- looking them up -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Person:
    """A user as a launch needs them: their numbers and current groups."""

    name: str
    uid: int | None = None
    gid: int | None = None
    groups: Mapping[str, int | None] = field(default_factory=dict)  # name -> gid
    extra: tuple[int, ...] = ()  # additional gids set by the admin
    numbers: tuple[int, ...] = ()  # every uid they ever had

    def identity(self, group: str | None, umask: int = 0o022) -> Identity:
        gids = [gid for gid in self.groups.values() if gid is not None]
        names = tuple((name, gid) for name, gid in self.groups.items() if gid is not None)
        return Identity(
            self.name,
            group,
            self.uid,
            self.gid,
            tuple(sorted({*gids, *self.extra})) if self.uid is not None else (),
            names if self.uid is not None else (),
            umask,
        )


class Identities:
    """Caches people for a few seconds, so a burst of jobs reads each of them once."""

    def __init__(self, store: Store, uids: Uids | None) -> None:
        self._store = store
        self.uids = uids
        self._known: dict[str, tuple[float, Person]] = {}

    def remembered(self, name: str) -> Person | None:
        known = self._known.get(name)
        return known[1] if known is not None and known[0] > time.monotonic() else None

    async def person(self, name: str) -> Person:
        person = self.remembered(name)
        if person is None:
            person = await self._store.read(lambda tx: self._read(tx, name))
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[name] = (time.monotonic() + CACHE_SECONDS, person)
        return person

    async def names(self) -> list[str]:
        """Everybody who has an account."""

        def query(tx: Tx) -> list[str]:
            return [row.name for row in user_store.list_users(tx) if row.status == "active"]

        return await self._store.read(query)

    def forget(self) -> None:
        """Call after a change to people or groups."""
        self._known.clear()

    def _read(self, tx: Tx, name: str) -> Person:
        user = user_store.get_user(tx, name)
        if user is None:
            return Person(name)
        gids = {row.name: row.gid for row in group_store.list_groups(tx)}
        mine = {member.group: gids[member.group] for member in group_store.groups_of(tx, user.id)}
        had = tuple(earlier(tx, user.id))
        if self.uids is None:
            return Person(name, groups=dict.fromkeys(mine), numbers=had)
        mapped = self.uids.users.get(name)
        extra = mapped.groups if mapped is not None else ()
        return Person(name, user.uid, user.gid, mine, extra, had)


def umask_of(uids: Uids | None, person: Person) -> int:
    """The umask of a task.

    Others get no access. In a private group the group may write, so that files in a shared folder,
    which belong to its group, can be changed by all members. In a group shared with other users of
    the machine, they may only read.
    """
    if person.uid is None or uids is None:
        return 0o022
    if uids.umask is not None:
        return uids.umask
    return 0o007 if person.gid == person.uid else 0o027
