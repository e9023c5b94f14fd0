"""Who is whom on the machine: the numbers of users and groups, given once and never again.

As root every user's tasks run with a uid of their own: the one the admin wrote down, or the next
of a reserved range. A number that somebody had is never given to anybody else, because files on
some disk may still bear it.
"""

from __future__ import annotations

import grp
import pwd
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from danlu.engines.api import Identity
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
    """What the admin wrote down of one user."""

    uid: int
    gid: int | None = None
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Uids:
    """Where numbers come from. There is none of these where all tasks share the server's uid."""

    first: int = 200_000
    last: int = 299_999
    users: Mapping[str, Mapped] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)
    umask: int | None = None  # of tasks; None: see umask_of()


class NoNumber(Exception):
    """A number that cannot be given, in both languages."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.en = en
        self.zh = zh


# -- giving numbers -----------------------------------------------------------------------------


def for_user(tx: Tx, uids: Uids | None, user_id: str, name: str) -> tuple[int | None, int | None]:
    """The uid and gid of a new account. (None, None): all share the server's."""
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


def assign(
    tx: Tx, uids: Uids | None, user_id: str, uid: int, gid: int | None = None
) -> tuple[int, int]:
    """The admin's own choice for a user. Raises NoNumber."""
    _take(tx, uid, f"user:{user_id}")
    if gid is None:
        gid = _private_gid(uid) or _next(tx, uids or Uids(), f"user:{user_id}")
    elif not LOWEST <= gid <= HIGHEST:
        raise _too_low(gid)
    return uid, gid


def complete(tx: Tx, uids: Uids | None) -> None:
    """At start: old accounts get numbers, and what the admin wrote down since then holds."""
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
    """All numbers a user ever had: files on some disk may still bear them."""
    return uid_store.numbers_of(tx, f"user:{user_id}")


def _take(tx: Tx, number: int, holder: str) -> None:
    if not LOWEST <= number <= HIGHEST:
        raise _too_low(number)
    had = uid_store.holder_of(tx, number)
    if had is None:
        uid_store.note(tx, number, holder)
    elif had != holder:
        raise NoNumber(
            f"{number} was given before, and numbers are never given twice: choose another",
            f"{number} 已经分配过，编号不会重复使用：请另选一个",
        )


def _next(tx: Tx, uids: Uids, holder: str) -> int:
    seen = int(get_meta(tx, _COUNTER) or 0)
    number = seen if uids.first <= seen <= uids.last else uids.first
    foreign = foreign_ranges()
    mapped = {m.uid for m in uids.users.values()} | {m.gid for m in uids.users.values()}
    mapped |= set(uids.groups.values())
    while number <= uids.last:
        beyond = next((last + 1 for first, last in foreign if first <= number <= last), None)
        if beyond is not None:
            number = beyond
        elif number in mapped or _known(tx, number):
            number += 1
        else:
            uid_store.note(tx, number, holder)
            put_meta(tx, _COUNTER, str(number + 1))
            return number
    raise NoNumber(
        f"The range of uids ({uids.first}-{uids.last}) is used up; "
        "set a larger one as [uids] range in danlu.toml",
        f"uid 范围（{uids.first}-{uids.last}）已用完；"
        "请在 danlu.toml 的 [uids] range 中设置更大的范围",
    )


def _too_low(number: int) -> NoNumber:
    return NoNumber(
        f"{number} is no number for a user or a group: choose one from {LOWEST} to {HIGHEST}; "
        "smaller ones are the system's own",
        f"{number} 不能用作用户或组的编号：请从 {LOWEST} 到 {HIGHEST} 中选择，更小的属于系统",
    )


def _private_gid(uid: int) -> int | None:
    """The group that goes with a uid: the machine's own for it, else the same number."""
    try:
        gid = pwd.getpwuid(uid).pw_gid
        return gid if gid >= LOWEST else None
    except KeyError:
        pass
    try:
        grp.getgrgid(uid)  # a group of other people
    except KeyError:
        return uid
    return None


def _known(tx: Tx, number: int) -> bool:
    """Given before, or of somebody on the machine."""
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
    """Numbers that people of the machine may take on in user namespaces of their own."""
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


# -- asking for them ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Person:
    """A user as a launch needs them: numbers, and the groups they are in now."""

    name: str
    uid: int | None = None
    gid: int | None = None
    groups: Mapping[str, int | None] = field(default_factory=dict)  # name -> gid
    extra: tuple[int, ...] = ()  # gids the admin wrote down besides
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
    """Remembers people for seconds: a busy server reads nobody twice for a burst of jobs."""

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

    def forget(self) -> None:
        """After a change to people or groups."""
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
    """What new files of a task are like.

    Nothing for others. With a group of one's own, its members (only oneself) may write: so files
    in a folder of a group, where they belong to the group, can be changed by all of it. With a
    group shared with others on the machine, these may only read.
    """
    if person.uid is None or uids is None:
        return 0o022
    if uids.umask is not None:
        return uids.umask
    return 0o007 if person.gid == person.uid else 0o027
