"""The asyncio client: the same methods, awaited; streams are async iterators."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from danlu.sdk import model
from danlu.sdk.async_calls import AsyncCalls
from danlu.sdk.async_data import AsyncData
from danlu.sdk.async_environments import AsyncEnvironments
from danlu.sdk.async_files import AsyncFiles
from danlu.sdk.async_images import AsyncImages
from danlu.sdk.async_people import AsyncPeople
from danlu.sdk.async_registry import AsyncRegistry
from danlu.sdk.async_scheduling import AsyncScheduling
from danlu.sdk.async_wire import AsyncConnection, AsyncWire
from danlu.sdk.calls import BASE, job_path
from danlu.sdk.carrying import Carried
from danlu.sdk.client import FINAL, SILENCE, WAIT_SLICE
from danlu.sdk.errors import ApiError, Lost, Unreachable, api_error
from danlu.sdk.fastjson import dumps
from danlu.sdk.ids import uuid7
from danlu.sdk.logs import LogStream
from danlu.sdk.parser import Parser
from danlu.sdk.patience import Retries
from danlu.sdk.stream import EventStream
from danlu.sdk.wire import Answer, target

T = TypeVar("T")
Warn = Callable[[Exception], None]


class AsyncClient(AsyncCalls):
    """A client for one server; may be shared by many tasks of one event loop.

    Without arguments the server and token are found as `Client` finds them.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        ca_file: str | None = None,
    ) -> None:
        if server is None or token is None:
            from danlu.sdk.context import find

            where = find(server, token)
            server, token, ca_file = where.server, where.token, ca_file or where.ca_file
        self.wire = AsyncWire(server, token, timeout, ca_file)

    # Running jobs

    async def run(
        self,
        command: str | Sequence[str],
        *,
        on_output: Callable[[bytes], object] | None = None,
        patience: float = 600.0,
        **job: Any,
    ) -> model.Job:
        """Submits a command, passes on its output as it arrives, and returns the ended job."""
        words = command if isinstance(command, str) else list(command)
        asked = {"id": uuid7(), **job, "command": words}
        submitted = await _persist(lambda: self.submit(asked), patience)
        ref = submitted["jobs"][0]["id"]
        if on_output is not None:
            async for piece in self.logs(ref, follow=True, patience=patience):
                on_output(piece)
        return await self.wait(ref, patience=patience)

    async def iter_jobs(self, **filters: Any) -> AsyncIterator[model.Job]:
        """All matching jobs, page by page; filters and order as in `jobs`."""
        filters.setdefault("limit", 200)
        while True:
            page = await self.jobs(**filters)
            for job in page["jobs"]:
                yield job
            if page["next"] is None:
                return
            filters["before"] = page["next"]

    async def wait(
        self,
        ref: str,
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        patience: float = 600.0,
        on_lost: Warn | None = None,
    ) -> model.Job:
        """The job once it has ended, or as it is after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = WAIT_SLICE if end is None else max(0.0, end - time.monotonic())
            piece = min(left, WAIT_SLICE)
            path = target(f"{job_path(ref)}/wait", {"timeout": f"{piece:g}"})
            job: model.Job = await _persist(self._asking(path, piece), patience, on_lost)
            if job["state"] in FINAL or (left <= WAIT_SLICE and end is not None):
                return job

    def _asking(self, path: str, piece: float) -> Callable[[], Awaitable[Any]]:
        return lambda: self._get(path, piece + self.wire.timeout)

    # Logs and events

    async def logs(
        self,
        ref: str,
        *,
        task: int = 0,
        stream: str = "out",
        attempt: int | None = None,
        offset: int | None = None,
        tail: int | None = None,
        follow: bool = False,
        raw: bool = False,
        patience: float = 600.0,
        on_lost: Warn | None = None,
    ) -> AsyncIterator[bytes]:
        """The task's output as it arrives. Reconnects after a lost connection.

        `raw`: with the job's secrets, which are masked otherwise.
        """
        log = LogStream(
            self.wire.plain,
            job_path(ref),
            task=task,
            stream=stream,
            attempt=attempt,
            offset=offset,
            tail=tail,
            follow=follow,
            raw=raw,
        )
        silence = None if follow else self.wire.timeout
        pieces = _Pieces(self.wire, log.begin, log.take, silence)
        try:
            while not log.done:
                piece = await _persist(pieces.next, patience, on_lost)
                if piece:
                    yield piece
        finally:
            pieces.close()

    async def stream(
        self,
        *,
        jobs: Sequence[str] | None = None,
        owner: str | None = None,
        kinds: Sequence[str] | None = None,
        nodes: bool = False,
        after: int | None = None,
        hello: bool = False,
        patience: float = 600.0,
        on_lost: Warn | None = None,
    ) -> AsyncIterator[model.StreamEvent]:
        """Live events of jobs (and nodes), without end; none is missed or repeated."""
        events = EventStream(
            self.wire.plain,
            BASE,
            jobs=",".join(ref.replace("/", "~") for ref in jobs) if jobs is not None else None,
            owner=owner,
            kind=",".join(kinds) if kinds else None,
            nodes=nodes,
            after=after,
        )
        pieces = _Pieces(self.wire, events.begin, events.take, SILENCE)
        try:
            while True:
                for event in await _persist(pieces.next, patience, on_lost):
                    if hello or event["type"] != "hello":
                        yield event
        finally:
            pieces.close()

    # Commands in a running task

    async def exec(
        self, ref: str, argv: Sequence[str], *, task: int = 0, stdin: bytes = b""
    ) -> tuple[int | None, bytes, bytes]:
        """Runs a command beside a running task: (exit code, output, error output)."""
        from danlu.sdk.async_execution import execute

        query = {"task": task, "argv": dumps(list(argv))}
        return await execute(self.wire, target(f"{job_path(ref)}/exec", query), stdin)

    @property
    def people(self) -> AsyncPeople:
        """Accounts, groups, tokens, invitations, the audit log."""
        return AsyncPeople(self)

    async def carry(
        self, folder: str, *, progress: Callable[[str, int, int], None] | None = None
    ) -> Carried:
        """Brings a folder along, in a thread: reading files would stop everything else.

        `run(..., bundle=(await client.carry(".")).id)` starts a job in a copy of it.
        """
        from danlu.sdk.client import Client

        wire = self.wire.plain
        client = Client(
            wire.address.text, wire.token or "", timeout=wire.timeout, ca_file=wire.ca_file
        )
        return await asyncio.to_thread(client.carry, folder, progress=progress)

    @property
    def data(self) -> AsyncData:
        """Datasets, disks, and folders brought along."""
        return AsyncData(self)

    @property
    def environments(self) -> AsyncEnvironments:
        """Environments to work in."""
        return AsyncEnvironments(self)

    @property
    def images(self) -> AsyncImages:
        """The catalogue of images, and containers saved as images."""
        return AsyncImages(self)

    @property
    def registry(self) -> AsyncRegistry:
        """The platform's image registry."""
        return AsyncRegistry(self)

    @property
    def files(self) -> AsyncFiles:
        """Files in your folder, those of your groups, and other volumes."""
        return AsyncFiles(self)

    async def upload(
        self,
        local: str,
        path: str,
        *,
        conflict: str = "refuse",
        on_progress: Callable[[int], None] | None = None,
    ) -> str:
        """As in `Client`, in a thread: reading files blocks."""
        from danlu.sdk.files import path_of
        from danlu.sdk.uploads import upload

        return await asyncio.to_thread(
            upload,
            self.wire.plain,
            local,
            path_of(path),
            conflict=conflict,
            on_progress=on_progress,
        )

    async def download(
        self, path: str, local: str, *, on_progress: Callable[[int], None] | None = None
    ) -> int:
        """As in `Client`, in a thread: writing files blocks."""
        from danlu.sdk.downloads import download
        from danlu.sdk.files import path_of

        address = target(f"{BASE}/files/content", {"path": path_of(path)})
        return await asyncio.to_thread(download, self.wire.plain, address, local, on_progress)

    @property
    def scheduling(self) -> AsyncScheduling:
        """Queues, quotas, drained nodes, snapshots."""
        return AsyncScheduling(self)

    # The server itself

    async def backup(self, *, homes: bool = False) -> AsyncIterator[bytes]:
        """A backup of everything, as the bytes of one file; raises Lost if it is cut off."""
        path = target(f"{BASE}/backup", {"homes": True if homes else None})
        parser, refusal = Parser("POST"), b""
        link = await self.wire.connect()
        try:
            await link.send(self.wire.plain.head("POST", path, {"Content-Length": "0"}))
            while not parser.done:
                data = await link.receive(300.0)
                if not data and not parser.feed_end():
                    raise Lost(self.wire.address.text, "the connection ended before the last byte")
                body = parser.feed(data) if data else b""
                if parser.has_head and parser.status >= 400:
                    refusal += body
                elif body:
                    yield body
        finally:
            link.close()
        if parser.status >= 400:
            raise api_error(parser.status, refusal)

    async def close(self) -> None:
        self.wire.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        timeout: float | None,  # noqa: ASYNC109
        repeatable: bool,
    ) -> Answer:
        return await self.wire.call(method, path, body, content_type, timeout, repeatable)


class _Pieces:
    """A stream of the blocking client, fed from a connection of the event loop."""

    def __init__(
        self,
        wire: AsyncWire,
        begin: Callable[[], bytes],
        take: Callable[[bytes], Any],
        silence: float | None,
    ) -> None:
        self._wire = wire
        self._begin = begin
        self._take = take
        self._silence = silence
        self._link: AsyncConnection | None = None

    async def next(self) -> Any:
        try:
            if self._link is None:
                self._link = await self._wire.connect()
                await self._link.send(self._begin())
            return self._take(await self._link.receive(self._silence))
        except (Lost, ApiError):
            self.close()
            raise

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


async def _persist(
    ask: Callable[[], Awaitable[T]], patience: float, on_lost: Warn | None = None
) -> T:
    """Retries until there is an answer; see `patience.persist`."""
    retries = Retries(patience)
    while True:
        try:
            return await ask()
        except (Unreachable, Lost, ApiError) as error:
            pause = retries.after(error)
            if on_lost:
                on_lost(error)
        await asyncio.sleep(pause)
