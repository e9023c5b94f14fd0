"""How much people and groups may keep in their folders.

A folder is measured by walking through it; what comes through the file centre is counted at once.
What tasks write is seen by the next measurement only: these quotas stop uploads, copies and new
jobs, not programs. Only a quota of the file system itself does that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import NotAllowed, NotThere, Unfit, Unknown
from danlu.access.principal import Asker
from danlu.control.context import Context, now
from danlu.control.rulebook import EVERYBODY
from danlu.files.volumes import HOME, SHARE_OF, Volume
from danlu.spec.errors import Wrong
from danlu.spec.text import Text
from danlu.spec.units import format_size, parse_size
from danlu.store import folder_quotas as store
from danlu.store import groups, users
from danlu.store.rows import SizeRow
from danlu.store.tx import Tx

Kind = Literal["user", "group"]
Key = tuple[str, str]
Sizes = Callable[[], Awaitable[list[SizeRow]]]
_FOLDER = {"user": "home", "group": "share"}
SIZES_FOR = 30.0  # seconds for which sizes from the database are good


@dataclass(frozen=True, slots=True)
class FolderQuota:
    kind: str
    name: str
    most: int | None
    used: int | None
    counted_at: float | None
    own: bool = True  # False: what everyone else has, or nothing


@dataclass(frozen=True, slots=True)
class Counted:
    size: int
    at: float


class FolderQuotas:
    def __init__(self, context: Context, sizes: Sizes) -> None:
        self._context = context
        self._read_sizes = sizes
        self._limits: dict[Key, int | None] | None = None
        self._sizes: dict[Key, Counted] = {}
        self._sizes_at = 0.0

    # -- what is asked often ------------------------------------------------------------------

    async def limit(self, key: Key | None) -> int | None:
        """Bytes; None: no limit."""
        limits = self._limits
        if limits is None:
            limits = self._limits = await self._context.store.read(store.read)
        if key is None or not limits:
            return None
        return limits[key] if key in limits else limits.get((key[0], EVERYBODY))

    async def counted(self, key: Key) -> Counted | None:
        """As it was last measured, by whomever."""
        if now() - self._sizes_at > SIZES_FOR:
            self._sizes_at = now()
            kinds = {folder: kind for kind, folder in _FOLDER.items()}
            for row in await self._read_sizes():
                if row.kind in kinds:
                    self.measured((kinds[row.kind], row.name), row.bytes, row.counted_at)
        return self._sizes.get(key)

    def measured(self, key: Key, size: int, at: float) -> None:
        known = self._sizes.get(key)
        if known is None or known.at < at:
            self._sizes[key] = Counted(size, at)

    # -- what admins do -----------------------------------------------------------------------

    async def seen(self, asks: Asker, everyone: bool = False) -> list[FolderQuota]:
        """The caller's and those of their groups; admins see all.

        `everyone`: for admins, also people and groups that have none of their own.
        """
        await self.limit(None)
        own = dict(self._limits or {})
        limits = dict(own)
        for kind, names in (await self._shown(asks, everyone)).items():
            common = own.get((kind, EVERYBODY))
            if everyone or (kind, EVERYBODY) in own:
                limits = {**{(kind, name): common for name in names}, **limits}
        found = []
        for (kind, name), most in sorted(limits.items()):
            mine = rules.sees_quota(asks.who, *((name, None) if kind == "user" else (None, name)))
            if mine or name == EVERYBODY:
                counted = None if name == EVERYBODY else await self.counted((kind, name))
                used, at = (None, None) if counted is None else (counted.size, counted.at)
                found.append(FolderQuota(kind, name, most, used, at, (kind, name) in own))
        return found

    async def _shown(self, asks: Asker, everyone: bool) -> dict[str, Sequence[str]]:
        """Whose quota is told even if it is that of everyone else."""
        if not everyone:
            return {"user": [asks.name], "group": list(asks.who.groups)}
        _only_admins(asks)
        read = self._context.store.read
        return {kind: await read(partial(_names, kind=kind)) for kind in ("user", "group")}

    async def set(self, asks: Asker, kind: Kind, name: str, given: object) -> list[FolderQuota]:
        """`given`: a size; None: this one has no limit, whatever everyone else has."""
        _only_admins(asks)
        most = None if given is None else _size(given)
        await self._check(kind, name)
        shown = "-" if most is None else format_size(most)

        def op(tx: Tx) -> None:
            store.put(tx, kind, name, most, now())
            note(tx, asks, "folder_quota.set", f"{kind} {name}", most=shown)

        await self._context.store.write(op)
        self._limits = None
        return await self.seen(asks)

    async def remove(self, asks: Asker, kind: Kind, name: str) -> list[FolderQuota]:
        _only_admins(asks)
        await self.limit(None)
        if (kind, name) not in (self._limits or {}):
            raise NotThere(Text(f"disk quota of {kind} {name[:64]}", f"{name[:64]} 的磁盘配额"))

        def op(tx: Tx) -> None:
            store.remove(tx, kind, name)
            note(tx, asks, "folder_quota.removed", f"{kind} {name}")

        await self._context.store.write(op)
        self._limits = None
        return await self.seen(asks)

    async def _check(self, kind: Kind, name: str) -> None:
        if name == EVERYBODY:
            return
        known = await self._context.store.read(partial(_names, kind=kind))
        if name not in known:
            words = {"user": Text("user", "用户"), "group": Text("group", "组")}
            raise Unknown("name", words[kind], name, known)


def holder(volume: Volume, user: str) -> Key | None:
    """Whose quota a volume counts towards."""
    if volume.name == HOME:
        return ("user", user)
    if volume.name.startswith(SHARE_OF):
        return ("group", volume.name.removeprefix(SHARE_OF))
    return None


def _names(tx: Tx, kind: str) -> list[str]:
    if kind == "group":
        return [row.name for row in groups.list_groups(tx)]
    return [row.name for row in users.list_users(tx) if row.status != "removed"]


def _size(given: object) -> int:
    try:
        return parse_size(given)
    except Wrong as error:
        raise Unfit("size", error.findings[0].message.after(repr(given))) from None


def _only_admins(asks: Asker) -> None:
    if not asks.who.admin:
        raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
