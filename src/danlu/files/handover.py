"""Transfers what a user leaves behind to another user: ended jobs with their logs, and files."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere
from danlu.access.identities import Identities, Person
from danlu.access.principal import Asker
from danlu.files.folders import Folders, hand_over
from danlu.files.settings import FileSettings
from danlu.files.volumes import Volumes
from danlu.spec.text import Text
from danlu.store import events, jobs, users
from danlu.store.rows import EventRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

AT_ONCE = 500
"""Jobs per transaction: others need to write, too."""

Numbers = dict[tuple[str, int], int]
"""A job's name and old number -> the new one."""


class HandOver:
    def __init__(
        self,
        store: Store,
        identities: Identities,
        folders: Folders,
        volumes: Volumes,
        settings: FileSettings,
    ) -> None:
        self._store = store
        self._identities = identities
        self._folders = folders
        self._volumes = volumes
        self._settings = settings
        self._one = asyncio.Lock()

    async def give(self, asker: Asker, name: str, to: str) -> tuple[int, str]:
        """Returns how many jobs were moved, and where the files are. Can be repeated if
        interrupted.
        """
        if not rules.manages_people(asker.who):
            raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
        async with self._one:
            await self._store.read(lambda tx: _check(tx, name, to))
            self._identities.forget()
            giver = await self._identities.person(name)
            taker = await self._identities.person(to)
            await self._folders.ready(taker)
            files = await asyncio.to_thread(
                _move_all, self._homes(name), self._homes(to), giver, taker
            )
            moved = await self._give_jobs(asker, name, to)
            told = {"to": to, "jobs": moved, "files": files}
            await self._store.write(lambda tx: note(tx, asker, "user.handed_over", name, **told))
            return moved, files

    async def _give_jobs(self, asker: Asker, name: str, to: str) -> int:
        moved, numbers = 0, Numbers()
        while True:
            op = _giving(asker, name, to, numbers)
            count, numbers = await self._store.write(op)
            moved += count
            if not count:
                return moved

    def _homes(self, name: str) -> list[Path]:
        roots = [self._settings.home_of(name)]
        if self._volumes.user_root is not None:
            roots.append(Path(self._volumes.user_root) / name)
        return roots


def _check(tx: Tx, name: str, to: str) -> None:
    giver, taker = _user(tx, name), _user(tx, to)
    if name == to:
        raise Clash("same_person", Text("Both are the same person", "这是同一个人"))
    if giver.status == "active":
        raise Clash(
            "still_active",
            Text(
                f"{name} can still sign in; run first: danlu user disable {name} --stop-jobs",
                f"{name} 仍可登录；请先运行：danlu user disable {name} --stop-jobs",
            ),
        )
    if taker.status != "active":
        raise Clash("not_active", Text(f"{to} is {taker.status}", f"{to} 的账号不可用"))
    active = jobs.count_active(tx, name)
    if active:
        raise Clash(
            "active_jobs",
            Text(
                f"{name} has {active} unfinished jobs; wait for them, or stop them: danlu user "
                f"disable {name} --stop-jobs",
                f"{name} 还有 {active} 个未结束的任务；请等待，或停止它们："
                f"danlu user disable {name} --stop-jobs",
            ),
        )


def _user(tx: Tx, name: str) -> UserRow:
    row = users.get_user(tx, name)
    if row is None:
        raise NotThere(Text(f"user {name[:40]}", f"用户 {name[:40]}"))
    return row


def _giving(
    asker: Asker, name: str, to: str, known: Numbers
) -> Callable[[Tx], tuple[int, Numbers]]:
    """Moves one batch. Jobs get new numbers, since to/train-3 may already exist."""

    def op(tx: Tx) -> tuple[int, Numbers]:
        rows = jobs.some_of(tx, name, AT_ONCE)
        now, news, numbers = time.time(), [], Numbers(known)
        for row in rows:
            key = (row.name, row.number)  # shared by the elements of an array
            if key not in numbers:
                numbers[key] = jobs.next_number(tx, to, row.name)
            jobs.update_job(tx, row.id, owner=to, number=numbers[key])
            data = {"was": row.ref, "to": to}
            news.append(EventRow(row.id, now, "handed_over", asker.name, data))
        events.append(tx, news)
        return len(rows), numbers

    return op


def _move_all(old: Iterable[Path], new: Iterable[Path], giver: Person, taker: Person) -> str:
    """Moves each folder of the giver into one of the taker's. Returns the last."""
    found = ""
    for source, home in zip(old, new, strict=True):
        if not os.path.isdir(source) or os.path.islink(source):
            continue
        if taker.uid is not None and taker.gid is not None:
            # Before the move: afterwards the new owner could interfere.
            hand_over(str(source), {0, *giver.numbers}, taker.uid, taker.gid)
        target = _free_name(home, f"from-{giver.name}")
        os.rename(source, target)
        found = str(target)
    return found


def _free_name(folder: Path, name: str) -> Path:
    for number in range(1, 1000):
        path = folder / (name if number == 1 else f"{name}-{number}")
        if not os.path.lexists(path):
            return path
    raise Clash(
        "no_room", Text(f"{folder} already holds too many transfers", f"{folder} 中已有太多")
    )
