"""TensorBoard for folders with event files: a small service job of the person who looks.

It runs as that person and sees folders read-only, so it shows nobody more than they can read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from danlu.access.errors import NotAllowed, Unfit
from danlu.access.identities import Person
from danlu.access.principal import Asker, Principal
from danlu.control.controller import Controller
from danlu.control.live_job import LiveJob
from danlu.control.submit import Submitter
from danlu.files.event_files import EventFiles
from danlu.files.volumes import below
from danlu.services.found import Found
from danlu.spec.codec import from_values
from danlu.spec.complete import Submission, complete
from danlu.spec.ids import uuid7
from danlu.spec.job import Command, GpuRequest, Kind, Mount, Resources, Role, RunAs, Tool
from danlu.spec.text import Text
from danlu.store.rows import JobRow

NAME = "tensorboard"
UNUSED = "1h"
_HOME = "/userhome"
_ABOUT = 2.0  # seconds by which the clocks of disks and of the server's notes may differ
_ASKS: Mapping[str, Any] = {"cpus": 1, "memory": "2G", "idle_limit": UNUSED}
KEYS = ("cpus", "memory", "queue", "group", "time_limit", "idle_limit")
"""Keys of a job file that can be given for it."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Where a job's event files are, and the job that shows them already."""

    folders: list[str]
    shown_by: JobRow | None


class TensorBoards:
    def __init__(
        self, controller: Controller, found: Found, submitter: Submitter, events: EventFiles
    ) -> None:
        self._controller = controller
        self._context = controller.context
        self._found = found
        self._submitter = submitter
        self._events = events
        self._turn = asyncio.Lock()

    async def of_job(self, who: Principal, ref: str) -> Curves:
        """Event files that were written while it ran, in the folder it ran in."""
        row, role = await self._job(who, ref)
        folders = await self._folders(row, role)
        live = self._shows(who.name, folders)
        return Curves(folders, None if live is None else await self._found.one(who, live.id))

    async def for_job(
        self, asks: Asker, ref: str, keys: Mapping[str, Any]
    ) -> tuple[JobRow, list[str], bool]:
        """TensorBoard for what a job has written. False: it was there already."""
        row, role = await self._job(asks.who, ref)
        folders = await self._folders(row, role)
        if not folders:
            raise Unfit(
                "job",
                Text(
                    f"{row.ref} has written no event files in the folder it ran in; name the "
                    "folder: danlu tensorboard FOLDER",
                    f"{row.ref} 在其工作目录中没有写入事件文件；请指定目录：danlu tensorboard 目录",
                ),
            )
        return await self._open(asks, folders, role.mounts, keys)

    async def open(
        self, asks: Asker, folders: Sequence[str], keys: Mapping[str, Any]
    ) -> tuple[JobRow, list[str], bool]:
        """Folders are named as tasks see them."""
        wanted = list(dict.fromkeys(_plain(folder) for folder in folders))
        for folder in wanted:
            if not folder.startswith("/"):
                raise Unfit("folders", _not_absolute(folder))
        person = await self._context.identities.person(asks.name)
        await self._context.folders.ready(person)  # a newcomer has none yet
        mounts = self._mounts(person, wanted)
        view = await self._events.view(asks.name, _role(wanted, mounts))
        for folder in wanted:
            if not await self._events.is_there(view, folder):
                raise Unfit("folders", _not_there(folder))
        return await self._open(asks, wanted, mounts, keys)

    async def _open(
        self, asks: Asker, folders: list[str], mounts: Sequence[Mount], keys: Mapping[str, Any]
    ) -> tuple[JobRow, list[str], bool]:
        async with self._turn:
            live = self._shows(asks.name, folders)
            if live is not None:
                return await self._found.one(asks.who, live.id), folders, False
            values = {**_ASKS, **{key: keys[key] for key in KEYS if keys.get(key) is not None}}
            values |= {"name": NAME, "kind": Kind.SERVICE.value}
            values |= {"tool": Tool.TENSORBOARD.value, "args": folders}
            values["mounts"] = [_mount(mount) for mount in mounts]
            job = Submission(complete(values, self._controller.defaults), uuid7())
            (row,), _ = await self._submitter.submit([job], asks.who, asks.address)
            return row, folders, True

    def _shows(self, owner: str, folders: Sequence[str]) -> LiveJob | None:
        words = _command(folders).words
        for job in self._context.jobs.values():
            command = job.spec.roles[0].command
            if job.row.owner != owner or command.run_as is not RunAs.TOOL or not folders:
                continue
            stopped = job.ending or (job.attempt is not None and job.attempt.stop is not None)
            if command.words == words and not stopped:
                return job
        return None

    async def _job(self, who: Principal, ref: str) -> tuple[JobRow, Role]:
        row = await self._found.one(who, ref)
        if row.owner != who.name:  # whoever looks needs to be able to read the files
            raise NotAllowed(
                Text(
                    f"The files of {row.ref} are {row.owner}'s; only {row.owner} can do this",
                    f"{row.ref} 的文件属于 {row.owner}；只有 {row.owner} 可以执行",
                )
            )
        live = self._context.jobs.get(row.id)
        spec = from_values(row.spec) if live is None else live.spec
        return row, spec.roles[0]

    async def _folders(self, row: JobRow, role: Role) -> list[str]:
        if row.started_at is None or role.command.run_as is RunAs.TOOL:
            return []
        folder = _plain(os.path.join(_HOME, role.workdir or ""))
        until = None if row.ended_at is None else row.ended_at + _ABOUT
        view = await self._events.view(row.owner, role)
        return await self._events.written(view, folder, row.started_at - _ABOUT, until)

    def _mounts(self, person: Person, folders: Sequence[str]) -> tuple[Mount, ...]:
        """The volumes that hold these folders and that tasks see only if they ask for them."""
        return tuple(
            Mount(volume.name, volume.target, read_only=True)
            for volume in self._context.volumes.usable(person).values()
            if not volume.config.everywhere
            and any(below(folder, volume.target) for folder in folders)
        )


def _plain(path: str) -> str:
    return os.path.normpath(path)


def _command(folders: Sequence[str]) -> Command:
    return Command(RunAs.TOOL, (Tool.TENSORBOARD.value, *folders))


def _role(folders: Sequence[str], mounts: tuple[Mount, ...]) -> Role:
    return Role(NAME, 1, _command(folders), Resources(GpuRequest(), 1, 0, 0), mounts=mounts)


def _mount(mount: Mount) -> dict[str, Any]:
    found = {"volume": mount.volume, "path": mount.path, "read_only": True}
    return found | ({"folder": mount.folder} if mount.folder else {})


def _not_absolute(folder: str) -> Text:
    shown = folder[:200]
    return Text(
        f"{shown!r}: write the whole path as a task sees it, e.g. /userhome/runs",
        f"{shown!r}：请写任务所见的完整路径，如 /userhome/runs",
    )


def _not_there(folder: str) -> Text:
    shown = folder[:200]
    return Text(
        f"{shown}: not a folder that your tasks can read. Write the path as tasks see it, "
        "e.g. /userhome/runs; danlu volume lists yours",
        f"{shown}：你的任务中没有这个目录，或无权读取。请写任务所见的路径，如 /userhome/runs；"
        "danlu volume 列出你的目录",
    )
