"""The file centre: everything one may do with one's own files and those of one's groups.

Paths are those a task sees. Every operation is done by the caller's own helper, with the caller's
uid; here it is only decided which volumes they may name.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from danlu.access.errors import AccessError, Unfit
from danlu.access.identities import Identities, Person, Uids, umask_of
from danlu.access.principal import Asker, Principal
from danlu.engines.api import Identity, Refused
from danlu.files.datasets import Datasets
from danlu.files.folders import Folders
from danlu.files.helper.bins import KEEPS as BIN_KEEPS
from danlu.files.helpers import PATIENCE, Away, Call, Helpers
from danlu.files.volumes import HOME, USER, Volume, Volumes
from danlu.services.file_calls import SLOW, Transfer, answer_of
from danlu.services.file_operations import Done, Operation, Operations
from danlu.services.file_places import Places, folder_entry, listed, merged, root_of
from danlu.services.file_words import FileFault, root_fault
from danlu.services.folder_quotas import FolderQuotas, Key, holder
from danlu.services.folder_sizes import FolderSizes, Measured
from danlu.spec.text import EMPTY, Text
from danlu.spec.units import format_size

Values = dict[str, Any]
AT_ONCE = 2.0  # seconds a request waits for the end of what it began
MEASURING = 10.0  # seconds an upload waits for a measurement
HOURS = 2 * 3600.0
More = Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RootView:
    volume: Volume
    total: int | None = None
    free: int | None = None
    quota: int | None = None
    used: int | None = None
    used_at: float | None = None
    bin: bool = False
    problem: Text = EMPTY


class Files:
    def __init__(
        self,
        identities: Identities,
        volumes: Volumes,
        folders: Folders,
        uids: Uids | None,
        keep_free: int | None = None,
        helpers: Helpers | None = None,
        quotas: FolderQuotas | None = None,
        datasets: Datasets | None = None,
        bin_keeps: float = BIN_KEEPS,
    ) -> None:
        """`keep_free`: bytes that uploads leave on a disk; None: the usual. `bin_keeps`: seconds
        after which the bin forgets a file.
        """
        self._places = Places(volumes, datasets)
        self.bin_keeps = bin_keeps
        self._identities = identities
        self._volumes = volumes
        self._folders = folders
        self._uids = uids
        self._keep_free = keep_free
        self.helpers = helpers or Helpers()
        self.operations = Operations()
        self._sizes = FolderSizes(quotas)
        self._prepared: set[tuple[object, ...]] = set()

    async def close(self) -> None:
        await self.operations.close()
        await self.helpers.close()

    async def tend(self) -> None:
        """For each person: empties what is too old from bins, removes uploads that were given up,
        and measures the home. One after the other, in the background.
        """
        for name in await self._identities.names():
            with contextlib.suppress(AccessError):
                await self._tend_one(Asker(Principal(name)))

    async def _tend_one(self, asks: Asker) -> None:
        person = await self._identities.person(asks.name)
        home = self._volumes.find(HOME, person)
        if home is None or not await asyncio.to_thread(os.path.isdir, home.source):
            return  # never used: there is nothing to tend
        await self.bin(asks)
        known = await self.usage(asks, home.target, True)
        if known["operation"] is not None:
            await self.operations.find(asks.name, known["operation"]).wait(HOURS)

    # -- which volumes ------------------------------------------------------------------------

    async def _person(self, asks: Asker) -> Person:
        person = await self._identities.person(asks.name)
        if self._uids is not None and (person.uid is None or person.uid == 0):
            raise FileFault("no_home", "", f"{person.name} has no uid on this machine")
        return person

    def _identity(self, person: Person) -> Identity:
        return person.identity(None, umask_of(self._uids, person))

    async def place_of(self, asks: Asker, path: str) -> str:
        """One name for one thing, by whichever path it is named; not to be shown."""
        person = await self._person(asks)
        try:
            volume, rest = self._volume_of(person, path)
        except FileFault:
            return f"{person.name}:{path}"
        inside = filter(None, (volume.source, root_of(volume).prefix, rest))
        return "/".join(inside)

    def _volume_of(self, person: Person, path: str) -> tuple[Volume, str]:
        return self._places.find(person, path)

    async def _ask(
        self, asks: Asker, op: str, named: dict[str, str | Sequence[str]], **values: Any
    ) -> Call:
        """Begins a request about the named paths, each in a volume the caller may use."""
        person = await self._person(asks)
        roots: list[Volume] = []
        told: Values = {"op": op, **values}
        for key, given in named.items():
            several = [given] if isinstance(given, str) else given
            found = []
            for path in several:
                volume, rest = self._volume_of(person, path)
                if volume not in roots:
                    roots.append(volume)
                found.append([roots.index(volume), rest])
            told[key] = found[0] if isinstance(given, str) else found
        return await self._ask_of(person, roots, told)

    async def _ask_of(self, person: Person, roots: Sequence[Volume], told: Values) -> Call:
        at = [root_of(volume) for volume in roots]
        first = at[0].path if at else ""
        try:
            await self._make_folders(person)
            return await self.helpers.ask(self._identity(person), at, told)
        except Away as away:
            raise FileFault(away.code, away.path or first) from None
        except OSError as error:
            raise root_fault(error, first) from None

    async def _make_folders(self, person: Person) -> None:
        """Once: the folders of a person and their groups, as for their first job."""
        key = (person.name, person.uid, *person.groups)
        if key in self._prepared:
            return
        for volume in self._volumes.usable(person).values():
            if volume.config.declared == "built-in":
                # One that does not answer would keep the whole server waiting below.
                with contextlib.suppress(FileNotFoundError):
                    os.close(await self.helpers.open_root(root_of(volume)))
        try:
            await self._folders.ready(person)
        except Refused as error:
            raise FileFault("no_home", "", str(error)) from None
        self._prepared.add(key)

    async def _answer(
        self,
        asks: Asker,
        op: str,
        named: dict[str, str | Sequence[str]],
        patience: float = PATIENCE,
        **values: Any,
    ) -> Values:
        begun = await self._begin(asks, op, named, patience, **values)
        begun.close()
        return begun.about

    async def _begin(
        self,
        asks: Asker,
        op: str,
        named: dict[str, str | Sequence[str]],
        patience: float = PATIENCE,
        /,
        **values: Any,
    ) -> Transfer:
        """Asks and waits for the first answer. A helper that was killed meanwhile is replaced, and
        asked again if that changes nothing.
        """
        for again in (op in _REPEATABLE, False):
            call = await self._ask(asks, op, named, **values)
            try:
                return Transfer(call, await answer_of(call, patience))
            except BaseException as error:
                call.close()
                if not again or not (isinstance(error, FileFault) and error.code == "interrupted"):
                    raise
        raise AssertionError

    # -- looking ------------------------------------------------------------------------------

    async def roots(self, asks: Asker) -> list[RootView]:
        person = await self._person(asks)
        usable = sorted(self._volumes.usable(person).values(), key=_order)
        views = await asyncio.gather(*(self._root_view(person, volume) for volume in usable))
        return _without_repeats(views)

    async def _root_view(self, person: Person, volume: Volume) -> RootView:
        try:
            call = await self._ask_of(person, [volume], {"op": "room"})
            try:
                values = await answer_of(call, 5.0)
            finally:
                call.close()
        except FileFault as problem:
            return RootView(volume, problem=problem.message)
        key = self._holder(volume, person)
        used, used_at = await self._sizes.used(person.name, volume.source, key)
        free = int(values["free"])
        quota = await self._sizes.limit(key)
        if quota is not None and used is not None:
            free = max(0, min(free, quota - used))
        return RootView(
            volume, int(values["total"]), free, quota, used, used_at, bool(values["bin"])
        )

    async def listing(
        self,
        asks: Asker,
        path: str,
        offset: int,
        limit: int,
        sort: str,
        hidden: bool,
        whole: bool = True,
    ) -> Values:
        asked = {"offset": offset, "limit": limit, "sort": sort, "hidden": hidden, "whole": whole}
        more = self._places.beneath(await self._person(asks), path) if offset == 0 else []
        try:
            page = await self._answer(asks, "list", {"path": path}, SLOW, **asked)
        except FileFault as fault:
            if fault.code != "no_volume" or not more:
                raise
            return listed(path, more)
        return merged(page, more) if more else page

    async def stat(self, asks: Asker, path: str) -> Values:
        try:
            return _entry(await self._answer(asks, "stat", {"path": path}))
        except FileFault as fault:
            leads = fault.code == "no_volume" and self._places.beneath(
                await self._person(asks), path
            )
            if not leads:
                raise
            return folder_entry(path)

    async def preview(self, asks: Asker, path: str, offset: int, limit: int, tail: int) -> Values:
        asked = {"offset": offset, "limit": limit, "tail": tail}
        return await self._answer(asks, "preview", {"path": path}, **asked)

    async def search(
        self, asks: Asker, path: str, q: str, kind: str, limit: int
    ) -> AsyncIterator[Values]:
        """Begun before the first line is sent, so that errors are answers."""
        begun = await self._begin(asks, "search", {"path": path}, SLOW, q=q, kind=kind, limit=limit)
        return begun.lines()

    # -- bytes --------------------------------------------------------------------------------

    async def content(self, asks: Asker, path: str) -> Transfer:
        return await self._begin(asks, "content", {"path": path}, pipe="down")

    async def archive(self, asks: Asker, paths: Sequence[str], format: str) -> Transfer:
        values = {"format": format, "pipe": "" if format == "zip" else "down"}
        return await self._begin(asks, "archive", {"paths": paths}, SLOW * 5, **values)

    async def upload(self, asks: Asker, op: str, path: str, **values: Any) -> Transfer:
        """`op`: create, look, append or forget. Writing begins with the first answer."""
        values |= {"keep_free": self._keep_free, "pipe": "up" if op == "append" else ""}
        return await self._begin(asks, f"upload-{op}", {"path": path}, **values)

    @contextlib.asynccontextmanager
    async def reserving(self, asks: Asker, path: str, size: int) -> AsyncIterator[More]:
        """Keeps room in the quota for what is about to come, and for more when that is asked for.
        Raises FileFault, as does asking for more.
        """
        key = await self.check_room(asks, path, size)
        with self._sizes.reserving(key, size) as reserve:

            async def more(size: int) -> None:
                await self.check_room(asks, path, size)
                reserve(size)

            yield more

    def _holder(self, volume: Volume, person: Person) -> Key | None:
        """Whose quota a volume counts towards, by whatever name a home is written to."""
        if volume.name == USER:
            home = self._volumes.find(HOME, person)
            if home is not None and home.source == volume.source:
                volume = home
        return holder(volume, person.name)

    async def check_room(self, asks: Asker, path: str, size: int) -> Key | None:
        """Whose quota it counts towards; None: nobody's. Raises FileFault if it does not fit."""
        person = await self._person(asks)
        volume, _ = self._volume_of(person, path)
        left, detail = await self._left(asks, person, volume, size)
        if left is None:
            return None
        if left < size:
            raise FileFault("over_quota", path, detail)
        return self._holder(volume, person)

    async def check_home(self, asks: Asker) -> None:
        """For new jobs. Raises FileFault if the caller's home is over its quota."""
        if await self._sizes.limit(("user", asks.name)) is None:
            return
        person = await self._person(asks)
        home = self._volumes.find(HOME, person)
        if home is not None:
            left, detail = await self._left(asks, person, home, 0)
            if left is not None and left < 0:
                raise FileFault("home_full", "", detail)

    async def _left(
        self, asks: Asker, person: Person, volume: Volume, wanted: int
    ) -> tuple[int | None, str]:
        """Bytes that the quota still takes (None: there is none), and what is known in short.

        Before something is refused, it is measured again: much may have been deleted.
        """
        key = self._holder(volume, person)
        limit = await self._sizes.limit(key)
        if limit is None:
            return None, ""
        used, at = await self._sizes.used(person.name, volume.source, key)
        reserved = self._sizes.reserved(key)
        if self._sizes.is_old(at, asks.name) and (used is None or used + reserved + wanted > limit):
            with contextlib.suppress(AccessError):
                known = await self.usage(asks, volume.target, True)
                if known["operation"] is not None:
                    await self.operations.find(asks.name, known["operation"]).wait(MEASURING)
            used, _ = await self._sizes.used(person.name, volume.source, key)
        # Not measured yet, and that takes long: nobody is refused for it.
        used = used or 0
        return limit - used - reserved, f"{format_size(used)} / {format_size(limit)}"

    async def unpack(self, asks: Asker, path: str, **values: Any) -> Operation:
        return await self._operate(asks, "unpack", {"path": path}, path, **values)

    async def wrote(self, asks: Asker, path: str, size: int) -> None:
        """Counts an upload at once: measuring again takes long."""
        volume, _ = self._volume_of(await self._person(asks), path)
        self._sizes.wrote(volume.source, size)

    # -- changing -----------------------------------------------------------------------------

    async def make_folder(self, asks: Asker, path: str, parents: bool) -> Values:
        return _entry(await self._answer(asks, "mkdir", {"path": path}, parents=parents))

    async def move(
        self,
        asks: Asker,
        kind: str,
        paths: Sequence[str],
        into: str | None,
        to: str | None,
        conflict: str,
    ) -> Operation:
        """`kind`: move or copy."""
        if (into is None) == (to is None):
            raise Unfit(
                "into",
                Text("give either into (a folder) or to (a new path)", "请给出 into（目录）或 to"),
            )
        if to is not None and len(paths) != 1:
            raise Unfit("to", Text("is for a single path; use into", "只能用于一个路径；请用 into"))
        target = str(into if to is None else to)
        named: dict[str, str | Sequence[str]] = {"paths": paths}
        named["into" if to is None else "to"] = target
        person = await self._person(asks)
        volume, _ = self._volume_of(person, target)
        left, detail = await self._left(asks, person, volume, 1 if kind == "copy" else 0)
        if left is not None and left <= 0 and kind == "copy":
            raise FileFault("over_quota", target, detail)
        more = {} if left is None else {"room": max(0, left), "room_detail": detail}
        return await self._operate(asks, kind, named, target, conflict=conflict, **more)

    async def delete(self, asks: Asker, paths: Sequence[str], forever: bool) -> Operation:
        return await self._operate(asks, "delete", {"paths": paths}, None, forever=forever)

    async def _operate(
        self,
        asks: Asker,
        op: str,
        named: dict[str, str | Sequence[str]],
        target: str | None,
        /,
        **values: Any,
    ) -> Operation:
        with self.operations.room(asks.name):
            call = await self._ask(asks, op, named, **values)
            paths = list(named.get("paths", ()))
            done = await self._counts(asks, target)
            operation = self.operations.start(asks.name, op, paths, target, call, done)
        await operation.wait(AT_ONCE)
        return operation

    async def _counts(self, asks: Asker, target: str | None) -> Done:
        """What an operation has written is counted at once, as an upload is; after a deletion,
        what was measured before refuses nobody.
        """
        volume = None
        if target is not None:
            volume, _ = self._volume_of(await self._person(asks), target)

        def done(operation: Operation) -> None:
            if operation.kind in ("delete", "empty", "move"):
                self._sizes.freed(asks.name)
            if volume is not None and operation.kind != "unpack" and operation.state == "done":
                self._sizes.wrote(volume.source, operation.bytes_done)

        return done

    # -- the bin ------------------------------------------------------------------------------

    async def bin(self, asks: Asker) -> Values:
        call = await self._ask_bin(asks, "bin", keep=self.bin_keeps)
        try:
            return await answer_of(call, SLOW)
        finally:
            call.close()

    async def restore(self, asks: Asker, ids: list[str], conflict: str) -> Operation:
        return await self._operate_bin(asks, "restore", ids=ids, conflict=conflict)

    async def empty(self, asks: Asker, ids: list[str] | None) -> Operation:
        return await self._operate_bin(asks, "empty", ids=ids)

    async def _operate_bin(self, asks: Asker, kind: str, **values: Any) -> Operation:
        with self.operations.room(asks.name):
            call = await self._ask_bin(asks, kind, **values)
            paths = list(values.get("ids") or ())
            done = await self._counts(asks, None)
            operation = self.operations.start(asks.name, kind, paths, None, call, done)
        await operation.wait(AT_ONCE)
        return operation

    async def _ask_bin(self, asks: Asker, op: str, **values: Any) -> Call:
        """About all volumes that answer; a volume that is away keeps its bin."""
        person = await self._person(asks)
        views = await self.roots(asks)
        there = [view.volume for view in views if not view.problem and view.bin]
        return await self._ask_of(person, there, {"op": op, **values})

    # -- sizes --------------------------------------------------------------------------------

    async def usage(self, asks: Asker, path: str, fresh: bool) -> Values:
        """What was measured last; begins to measure if that is unknown or old."""
        person = await self._person(asks)
        volume, rest = self._volume_of(person, path)
        inside = "/".join(filter(None, (root_of(volume).prefix, rest)))
        key = (person.name, f"{volume.source}/{inside}".rstrip("/"))
        known = self._sizes.known(key)
        running = known is not None and known.operation is not None and not known.operation.ended_at
        old = known is None or self._sizes.is_outdated(known, person.name, volume.source)
        if not running and (fresh or old):
            whose = None if inside else self._holder(volume, person)
            known = await self._measure(asks, key, path, whose)
        assert known is not None
        operation = known.operation
        if operation is not None:
            await operation.wait(AT_ONCE)
            if operation.fault is not None:
                self._sizes.forget(key)
                raise operation.fault
        going = operation is not None and operation.ended_at is None
        return {
            **known.values,
            "path": path,
            "operation": operation.id if operation and going else None,
        }

    async def _measure(
        self, asks: Asker, key: tuple[str, str], path: str, whose: Key | None
    ) -> Measured:
        """`whose`: who has a quota for the whole of this folder."""
        known = self._sizes.begin(key)

        def done(operation: Operation) -> None:
            if operation.usage is not None:
                took = time.time() - operation.started_at
                self._sizes.measured(known, operation.usage, whose, took)

        with self.operations.room(asks.name):
            call = await self._ask(asks, "usage", {"path": path})
            known.operation = self.operations.start(asks.name, "usage", [path], None, call, done)
        return known


_REPEATABLE = frozenset(["room", "list", "stat", "preview", "search", "content", "archive"]) | {
    "upload-look",
    "upload-append",
}


def _entry(values: Values) -> Values:
    entry = values.get("entry")
    if not isinstance(entry, dict):
        raise FileFault("interrupted")
    return entry


def _order(volume: Volume) -> tuple[int, str]:
    return (
        0 if volume.name == HOME else 1 if volume.config.declared == "built-in" else 2
    ), volume.name


def _without_repeats(views: Iterable[RootView]) -> list[RootView]:
    """One folder under two paths is shown under the first."""
    seen: set[str] = set()
    kept = []
    for view in views:
        if view.volume.source not in seen:
            seen.add(view.volume.source)
            kept.append(view)
    return kept
