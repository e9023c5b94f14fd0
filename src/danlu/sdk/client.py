"""The client: one method per operation of the server."""

from __future__ import annotations

import time

from danlu.sdk.calls import BASE, Calls, job_path
from danlu.sdk.errors import Lost
from danlu.sdk.fastjson import dumps
from danlu.sdk.patience import persist
from danlu.sdk.wire import Wire, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.environments import Environments
    from danlu.sdk.execution import Execution
    from danlu.sdk.files import Files
    from danlu.sdk.logs import LogStream
    from danlu.sdk.people import People
    from danlu.sdk.scheduling import Scheduling
    from danlu.sdk.stream import EventStream
    from danlu.sdk.websocket import WebSocket
    from danlu.sdk.wire import Answer

FINAL = frozenset(("succeeded", "failed", "stopped"))
WAIT_SLICE = 30.0
SILENCE = 90.0
"""Seconds of silence after which a stream counts as lost."""


class Client(Calls):
    """A client for one server.

    Without arguments the server and token come from DANLU_SERVER and DANLU_TOKEN, else from the
    context written by `danlu login` or `danlu up`.
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
        self.wire = Wire(server, token, timeout, ca_file)

    # Running jobs

    def run(
        self,
        command: str | Sequence[str],
        *,
        on_output: Callable[[bytes], object] | None = None,
        patience: float = 600.0,
        **job: Any,
    ) -> model.Job:
        """Submits a command, passes on its output as it arrives, and returns the ended job.

        Other keys of a job file are keywords: `run(["python", "train.py"], gpus=1)`.
        """
        from danlu.sdk.ids import uuid7

        words = command if isinstance(command, str) else list(command)
        # We choose the id, so that repeating the request after a lost answer creates no second job.
        asked = {"id": uuid7(), **job, "command": words}
        submitted: model.Submitted = persist(lambda: self.submit(asked), patience)
        ref = submitted["jobs"][0]["id"]
        if on_output is not None:
            for piece in self.logs(ref, follow=True, patience=patience):
                if piece:
                    on_output(piece)
        return self.wait(ref, patience=patience)

    def iter_jobs(self, **filters: Any) -> Iterator[model.Job]:
        """All matching jobs, page by page; filters and order as in `jobs`."""
        filters.setdefault("limit", 200)
        while True:
            page = self.jobs(**filters)
            yield from page["jobs"]
            if page["next"] is None:
                return
            filters["before"] = page["next"]

    def wait(
        self,
        ref: str,
        timeout: float | None = None,
        *,
        patience: float = 600.0,
        on_lost: Callable[[Exception], None] | None = None,
    ) -> model.Job:
        """The job once it has ended, or as it is after `timeout` seconds.

        If the server goes away, waits up to `patience` seconds for it.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = WAIT_SLICE if end is None else max(0.0, end - time.monotonic())
            piece = min(left, WAIT_SLICE)
            path = target(f"{job_path(ref)}/wait", {"timeout": f"{piece:g}"})
            ask = self._asking(path, piece + self.wire.timeout)
            job: model.Job = persist(ask, patience, on_lost)
            if job["state"] in FINAL or (left <= WAIT_SLICE and end is not None):
                return job

    def _asking(self, path: str, timeout: float) -> Callable[[], Any]:
        return lambda: self._get(path, timeout)

    # Logs

    def log_stream(self, ref: str, **options: Any) -> LogStream:
        from danlu.sdk.logs import LogStream

        return LogStream(self.wire, job_path(ref), **options)

    def logs(
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
        on_lost: Callable[[Exception], None] | None = None,
    ) -> Iterator[bytes]:
        """The task's output as it arrives. Reconnects after a lost connection.

        `raw`: with the job's secrets, which are masked otherwise.
        """
        log = self.log_stream(
            ref,
            task=task,
            stream=stream,
            attempt=attempt,
            offset=offset,
            tail=tail,
            follow=follow,
            raw=raw,
        )

        def more() -> bytes:
            if not log.is_open:
                log.open()
                log.set_timeout(None if follow else self.wire.timeout)
            try:
                return log.pump()
            except Lost:
                log.close()
                raise

        try:
            while not log.done:
                yield persist(more, patience, on_lost)
        finally:
            log.close()

    # Events

    def event_stream(self, **options: Any) -> EventStream:
        from danlu.sdk.stream import EventStream

        return EventStream(self.wire, BASE, **options)

    def stream(
        self,
        *,
        jobs: Sequence[str] | None = None,
        owner: str | None = None,
        kinds: Sequence[str] | None = None,
        nodes: bool = False,
        after: int | None = None,
        hello: bool = False,
        patience: float = 600.0,
        on_lost: Callable[[Exception], None] | None = None,
    ) -> Iterator[model.StreamEvent]:
        """Live events of jobs (and nodes), without end; reconnects after a lost connection.

        `after` is the `seq` of the last known event: none is missed or repeated. With `hello` every
        new connection is reported, too; its `reset` means that `after` is unknown to the server.
        """
        stream = self.event_stream(
            jobs=",".join(ref.replace("/", "~") for ref in jobs) if jobs is not None else None,
            owner=owner,
            kind=",".join(kinds) if kinds else None,
            nodes=nodes,
            after=after,
        )

        def more() -> list[model.StreamEvent]:
            if not stream.is_open:
                stream.open()
                stream.set_timeout(SILENCE)
            try:
                return stream.pump()
            except Lost:
                stream.close()
                raise

        try:
            while True:
                for event in persist(more, patience, on_lost):
                    if hello or event["type"] != "hello":
                        yield event
        finally:
            stream.close()

    # Commands in a running task

    def exec(
        self,
        ref: str,
        argv: Sequence[str],
        *,
        task: int = 0,
        tty: tuple[int, int, str] | None = None,
    ) -> Execution:
        """Runs a command beside a running task. `tty`: rows, columns and terminal type."""
        from danlu.sdk.execution import Execution

        query: dict[str, Any] = {"task": task, "argv": dumps(list(argv))}
        if tty:
            query |= {"tty": 1, "rows": tty[0], "cols": tty[1], "term": tty[2]}
        return Execution(self._socket(target(f"{job_path(ref)}/exec", query)))

    def attach(self, ref: str, *, task: int = 0) -> WebSocket:
        """The standard input of a task."""
        return self._socket(target(f"{job_path(ref)}/attach", {"task": task}))

    def _socket(self, path: str) -> WebSocket:
        from danlu.sdk.websocket import WebSocket

        return WebSocket(self.wire, path)

    @property
    def people(self) -> People:
        """Accounts, groups, tokens, invitations, the audit log."""
        from danlu.sdk.people import People

        return People(self)

    @property
    def environments(self) -> Environments:
        """Environments to work in."""
        from danlu.sdk.environments import Environments

        return Environments(self)

    @property
    def files(self) -> Files:
        """Files in your folder, those of your groups, and other volumes."""
        from danlu.sdk.files import Files

        return Files(self)

    def upload(
        self,
        local: str,
        path: str,
        *,
        conflict: str = "refuse",
        on_progress: Callable[[int], None] | None = None,
    ) -> str:
        """Uploads a file and returns its path on the server. A lost connection is continued.

        `conflict`: refuse, overwrite or rename. `on_progress` gets the bytes sent so far.
        """
        from danlu.sdk.files import path_of
        from danlu.sdk.uploads import upload

        return upload(self.wire, local, path_of(path), conflict=conflict, on_progress=on_progress)

    def download(
        self, path: str, local: str, *, on_progress: Callable[[int], None] | None = None
    ) -> int:
        """Saves a file of the server and returns its size. A lost connection is continued."""
        from danlu.sdk.downloads import download
        from danlu.sdk.files import path_of

        address = target(f"{BASE}/files/content", {"path": path_of(path)})
        return download(self.wire, address, local, on_progress)

    @property
    def scheduling(self) -> Scheduling:
        """Queues, quotas, drained nodes, snapshots."""
        from danlu.sdk.scheduling import Scheduling

        return Scheduling(self)

    # The server itself

    def backup(self, *, homes: bool = False) -> Iterator[bytes]:
        """A backup of everything, as the bytes of one file; raises Lost if it is cut off."""
        from danlu.sdk.download import download

        path = target(f"{BASE}/backup", {"homes": True if homes else None})
        return download(self.wire, "POST", path)

    def close(self) -> None:
        self.wire.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        timeout: float | None,
        repeatable: bool,
    ) -> Answer:
        return self.wire.call(method, path, body, content_type, timeout, repeatable)
