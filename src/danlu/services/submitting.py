"""Reads, converts, dry-runs and submits job files of any dialect."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from danlu.access.errors import Unfit
from danlu.access.principal import Asker, Principal
from danlu.control.controller import Controller
from danlu.control.submit import NOTHING, Brought, Gone, Submitter, present
from danlu.control.workers import SECONDS
from danlu.engines.api import NodeInfo
from danlu.sched.api import Explanation
from danlu.services.names import Names, without_names
from danlu.services.secrets import keep
from danlu.spec.complete import read_submissions
from danlu.spec.dialects import (
    Converted,
    Dialect,
    NodeSize,
    Note,
    Options,
    Site,
    SiteVolume,
    convert,
)
from danlu.spec.errors import Problem, SpecError
from danlu.spec.job import JobSpec
from danlu.spec.text import Text
from danlu.spec.ties import HOST_FOLDER
from danlu.store.rows import JobRow

Values = dict[str, Any]
T = TypeVar("T")
SHORT_FILE = 16 * 1024


@dataclass(frozen=True, slots=True)
class Language:
    """Explicit options for reading a job file."""

    dialect: Dialect | None = None
    run_as: str | None = None
    overrides: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    keys: str | None = None
    offers: str | None = None

    @property
    def plain(self) -> bool:
        """No options: determined by the file alone."""
        given = (self.dialect, self.run_as, self.keys, self.offers)
        return not (any(given) or self.overrides or self.arguments or self.words)

    def options(self) -> Options:
        return Options(
            run_as=self.run_as,
            overrides=self.overrides,
            arguments=self.arguments,
            words=self.words,
            values=_json_object(self.keys, "keys"),
            offers=_json_object(self.offers, "offers"),
        )


PLAIN = Language()


@dataclass(frozen=True, slots=True)
class File:
    """A job file as received."""

    body: bytes
    media_type: str | None = None
    language: Language = PLAIN

    @property
    def native(self) -> bool:
        """A cheap check for native JSON, the common case on the hot path."""
        json_type = self.media_type is not None and self.media_type.startswith("application/json")
        plain = self.language is PLAIN or self.language.plain
        return plain and json_type and b'"command"' in self.body and b'"taskRoles"' not in self.body


@dataclass(frozen=True, slots=True)
class Queued:
    rows: list[JobRow]
    new: bool  # False: these ids were already submitted
    notes: list[Values]


@dataclass(frozen=True, slots=True)
class Preview:
    spec: JobSpec
    verdict: Explanation
    script: str = ""  # for an engine that places jobs itself


class Submitting:
    def __init__(
        self,
        controller: Controller,
        submitter: Submitter,
        names: Names,
        check_home: Callable[[Asker], Awaitable[None]],
    ) -> None:
        """`check_home`: raises if somebody keeps more than they may."""
        self._controller = controller
        self._context = controller.context
        self._submitter = submitter
        self._names = names
        self._check_home = check_home

    async def submit(self, asks: Asker, file: File, gone: Gone = present) -> Queued:
        """Submits all jobs of the file or none. A job with an `id` can be sent again safely."""
        asked = await self._read(asks.who, file)
        await self._check_home(asks)
        brought = self._brought(asks, asked.secrets)
        rows, new = await self._submitter.submit(asked.jobs, asks.who, asks.address, gone, brought)
        return Queued(rows, new, _values(asked.notes))

    async def dry_run(self, who: Principal, file: File) -> tuple[list[Preview], list[Values]]:
        """Dry run: what would happen to each job now, with conversion notes."""
        asked = await self._read(who, file)
        previews: list[Preview] = []
        hide = self._names.hidden_from(who)
        count = len(asked.jobs)
        async with self._context.workers.turn(who.name) as turn:
            for number, job in enumerate(asked.jobs, 1):
                if turn.over:
                    raise _too_long(len(previews), count)
                verdict = await self._submitter.preview(
                    job, who, number, count, turn, asked.secrets
                )
                script = await self._submitter.script(job, who, turn)
                previews.append(Preview(job.spec, without_names(verdict, hide), script))
        return previews, _values(asked.notes)

    async def convert(self, who: Principal, file: File) -> Converted:
        """Converts a file of another dialect to native jobs."""
        work = partial(
            convert,
            file.body,
            file.language.dialect,
            media_type=file.media_type,
            options=file.language.options(),
            site=await self._site(who),
            defaults=self._controller.defaults,
        )
        return await self._worked_out(who, file, work)

    async def _read(self, who: Principal, file: File) -> Converted:
        if file.native:
            defaults = self._controller.defaults
            work = partial(read_submissions, file.body, file.media_type, defaults)
            jobs = await self._worked_out(who, file, work)
            return Converted(Dialect.NATIVE, tuple(jobs))
        found = await self.convert(who, file)
        if found.dialect is Dialect.NATIVE:
            return found
        origin = {"dialect": found.dialect.value, "notes": _values(found.notes)}
        return replace(found, jobs=tuple(replace(job, origin=origin) for job in found.jobs))

    async def _worked_out(self, who: Principal, file: File, work: Callable[[], T]) -> T:
        """Short files, the common case, are read inline."""
        try:
            if len(file.body) <= SHORT_FILE:
                return work()
            async with self._context.workers.turn(who.name) as turn:
                return await turn.run(work)
        except SpecError as error:
            if any(HOST_FOLDER.en in problem.message.en for problem in error.problems):
                error.problems = await self._with_volumes(who, error.problems)
            raise

    async def _with_volumes(
        self, who: Principal, problems: tuple[Problem, ...]
    ) -> tuple[Problem, ...]:
        """Names the volumes to whoever tried to mount a folder of the machine."""
        person = await self._context.identities.person(who.name)
        known = sorted(self._context.volumes.usable(person))
        listed = Text(f"; available: {', '.join(known)}", f"；可用的有：{'、'.join(known)}")
        return tuple(
            replace(each, message=each.message + listed)
            if HOST_FOLDER.en in each.message.en
            else each
            for each in problems
        )

    async def _site(self, who: Principal) -> Site:
        context = self._context
        person = await context.identities.person(who.name)
        volumes = context.volumes.usable(person).values()
        nodes = context.ledger.nodes()
        return Site(
            tuple(SiteVolume(each.name, each.source, each.target) for each in volumes),
            max((len(node.gpus) for node in nodes), default=0),
            frozenset(node.name for node in nodes),
            tuple(dict.fromkeys(_size(node) for node in nodes)),
            frozenset(label for node in nodes for label in node.labels),
        )

    def _brought(self, asks: Asker, secrets: Mapping[str, str]) -> Brought:
        """Secrets found in a file become secrets of its submitter, once its jobs are accepted."""
        if not secrets:
            return NOTHING
        most = self._context.settings.limits.secrets
        return Brought(secrets.keys(), lambda tx: keep(tx, asks, secrets, most))


def _values(notes: Sequence[Note]) -> list[Values]:
    return [each.values() for each in notes]


def _json_object(text: str | None, what: str) -> Values:
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unfit(what, Text("is not a JSON object of native keys", "不是原生键的 JSON 对象"))
    return found


def _too_long(done: int, of: int) -> Unfit:
    return Unfit(
        "jobs",
        Text(
            f"a dry run of {of} jobs takes too long ({done} done in {SECONDS:g} s); send fewer at "
            "once",
            f"{of} 个任务的试运行耗时过长（{SECONDS:g} 秒内完成了 {done} 个）；请分批发送",
        ),
    )


def _size(node: NodeInfo) -> NodeSize:
    model = node.gpus[0].model if node.gpus else None
    return NodeSize(node.cpus, node.memory, len(node.gpus), model)
