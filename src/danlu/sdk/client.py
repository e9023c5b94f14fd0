"""The client: one method per thing the server can do."""

from __future__ import annotations

import time

from danlu.sdk.errors import Lost, ProtocolError, api_error
from danlu.sdk.fastjson import dumps, loads
from danlu.sdk.patience import persist
from danlu.sdk.wire import Wire, quote, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.execution import Execution
    from danlu.sdk.logs import LogStream
    from danlu.sdk.websocket import WebSocket

BASE = "/api/v1"
FINAL = frozenset(("succeeded", "failed", "stopped"))
WAIT_SLICE = 30.0


def job_path(ref: str) -> str:
    """The path of a job; people write owner/name-3, paths say owner~name-3."""
    if not ref:
        raise ValueError("a job's name is empty")
    return f"{BASE}/jobs/{quote(ref.replace('/', '~'))}"


class Client:
    """Talks to one server.

    Without arguments the server and token come from DANLU_SERVER and DANLU_TOKEN, else from the
    context that `danlu login` or `danlu up` wrote.
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

    # Jobs

    def submit(
        self,
        job: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | bytes,
        *,
        dry_run: bool = False,
    ) -> model.Submitted:
        """Queues a job: a mapping (or several), or the text of a job file (YAML).

        Give each job an "id" (`danlu.sdk.uuid7()`) to be able to send it again after a lost answer.
        """
        return self.submit_text(*_job_body(job), dry_run=dry_run)

    def submit_text(
        self, body: bytes, content_type: str = "application/yaml", *, dry_run: bool = False
    ) -> model.Submitted:
        """The same for bytes whose kind is known."""
        path = target(f"{BASE}/jobs", {"dry_run": True if dry_run else None})
        answer: model.Submitted = self._post(path, body, content_type, repeatable=False)
        return answer

    def jobs(
        self,
        *,
        state: str | None = None,
        owner: str | None = None,
        name: str | None = None,
        active: bool | None = None,
        limit: int | None = None,
        before: int | None = None,
    ) -> model.JobPage:
        """One page, newest first. `before` takes the `next` of the page before."""
        query = {
            "state": state,
            "owner": owner,
            "name": name,
            "active": active,
            "limit": limit,
            "before": before,
        }
        answer: model.JobPage = self._get(target(f"{BASE}/jobs", query))
        return answer

    def show(self, ref: str) -> model.JobDetail:
        answer: model.JobDetail = self._get(job_path(ref))
        return answer

    def why(self, ref: str) -> model.Why:
        """Why it waits, or how it ended."""
        answer: model.Why = self._get(f"{job_path(ref)}/why")
        return answer

    def events(
        self, ref: str, *, after: int | None = None, limit: int | None = None
    ) -> list[model.Event]:
        path = target(f"{job_path(ref)}/events", {"after": after, "limit": limit})
        answer: list[model.Event] = self._get(path)["events"]
        return answer

    def spec(self, ref: str) -> dict[str, Any]:
        """The native job, ready to be submitted again."""
        answer: dict[str, Any] = self._get(f"{job_path(ref)}/spec?format=json")
        return answer

    def spec_yaml(self, ref: str) -> str:
        return self._ask("GET", f"{job_path(ref)}/spec?format=yaml").decode("utf-8", "replace")

    def stop(self, ref: str, *, grace: float | None = None, now: bool = False) -> list[model.Job]:
        body = dumps({"grace": grace, "now": now}).encode()
        answer: list[model.Job] = self._post(f"{job_path(ref)}/stop", body)["jobs"]
        return answer

    def rerun(self, ref: str) -> model.Submitted:
        answer: model.Submitted = self._post(f"{job_path(ref)}/rerun", b"{}", repeatable=False)
        return answer

    def hold(self, ref: str) -> list[model.Job]:
        answer: list[model.Job] = self._post(f"{job_path(ref)}/hold", b"{}")["jobs"]
        return answer

    def release(self, ref: str) -> list[model.Job]:
        answer: list[model.Job] = self._post(f"{job_path(ref)}/release", b"{}")["jobs"]
        return answer

    def wait(
        self,
        ref: str,
        timeout: float | None = None,
        *,
        patience: float = 600.0,
        on_lost: Callable[[Exception], None] | None = None,
    ) -> model.Job:
        """The job once it has ended, or as it is after `timeout` seconds.

        A server that goes away is waited for, up to `patience` seconds.
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
        patience: float = 600.0,
        on_lost: Callable[[Exception], None] | None = None,
    ) -> Iterator[bytes]:
        """What the task printed, as it arrives. Goes on by itself after a lost connection."""
        log = self.log_stream(
            ref, task=task, stream=stream, attempt=attempt, offset=offset, tail=tail, follow=follow
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

    def search(
        self,
        ref: str,
        text: str,
        *,
        task: int = 0,
        stream: str = "out",
        attempt: int | None = None,
        ignore_case: bool = False,
        limit: int | None = None,
    ) -> model.Matches:
        query = {
            "q": text,
            "task": task,
            "stream": stream,
            "attempt": attempt,
            "ignore_case": ignore_case or None,
            "limit": limit,
        }
        answer: model.Matches = self._get(target(f"{job_path(ref)}/logs/search", query))
        return answer

    # Into a running task

    def exec(
        self,
        ref: str,
        argv: Sequence[str],
        *,
        task: int = 0,
        tty: tuple[int, int, str] | None = None,
    ) -> Execution:
        """Runs a command beside a running task. `tty`: rows, columns and the terminal's kind."""
        from danlu.sdk.execution import Execution

        query: dict[str, Any] = {"task": task, "argv": dumps(list(argv))}
        if tty:
            query |= {"tty": 1, "rows": tty[0], "cols": tty[1], "term": tty[2]}
        return Execution(self._socket(target(f"{job_path(ref)}/exec", query)))

    def attach(self, ref: str, *, task: int = 0) -> WebSocket:
        """The way in to a task's standard input."""
        return self._socket(target(f"{job_path(ref)}/attach", {"task": task}))

    def _socket(self, path: str) -> WebSocket:
        from danlu.sdk.websocket import WebSocket

        return WebSocket(self.wire, path)

    # Secrets

    def secrets(self) -> list[str]:
        """Their names; a value never comes back."""
        answer: list[str] = self._get(f"{BASE}/secrets")["names"]
        return answer

    def set_secret(self, name: str, value: str) -> None:
        self._ask("PUT", f"{BASE}/secrets/{quote(name)}", dumps({"value": value}).encode())

    def delete_secret(self, name: str) -> None:
        self._ask("DELETE", f"{BASE}/secrets/{quote(name)}")

    # The place itself

    def nodes(self) -> list[model.Node]:
        answer: list[model.Node] = self._get(f"{BASE}/nodes")["nodes"]
        return answer

    def gpus(self) -> model.Gpus:
        answer: model.Gpus = self._get(f"{BASE}/gpus")
        return answer

    def whoami(self) -> model.Person:
        answer: model.Person = self._get(f"{BASE}/whoami")
        return answer

    def login(self, user: str, password: str) -> model.Login:
        body = dumps({"user": user, "password": password}).encode()
        answer: model.Login = self._post(f"{BASE}/login", body)
        return answer

    def change_password(self, old: str, new: str) -> model.Person:
        body = dumps({"old": old, "new": new}).encode()
        answer: model.Person = self._post(f"{BASE}/password", body)
        return answer

    def version(self) -> str:
        return str(self._get(f"{BASE}/version")["version"])

    def server(self) -> model.Server:
        answer: model.Server = self._get(f"{BASE}/server")
        return answer

    def shutdown(self) -> list[model.Job]:
        """Ends the server; gives back the jobs whose tasks go on."""
        answer: list[model.Job] = self._post(f"{BASE}/server/shutdown", b"{}")["running"]
        return answer

    def close(self) -> None:
        self.wire.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Beneath

    def _get(self, path: str, timeout: float | None = None) -> Any:
        return _json(self._ask("GET", path, timeout=timeout))

    def _post(
        self,
        path: str,
        body: bytes,
        content_type: str = "application/json",
        *,
        repeatable: bool = True,
    ) -> Any:
        return _json(self._ask("POST", path, body, content_type, repeatable=repeatable))

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        *,
        timeout: float | None = None,
        repeatable: bool = True,
    ) -> bytes:
        answer = self.wire.call(method, path, body, content_type, timeout, repeatable)
        if answer.status >= 400:
            raise api_error(answer.status, answer.body)
        if answer.status >= 300:
            raise ProtocolError(f"HTTP {answer.status}")
        return answer.body


def _job_body(
    job: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | bytes,
) -> tuple[bytes, str]:
    if isinstance(job, bytes):
        return job, "application/yaml"
    if isinstance(job, str):
        return job.encode(), "application/yaml"
    return dumps(job).encode(), "application/json"


def _json(body: bytes) -> Any:
    try:
        return loads(body)
    except (ValueError, RecursionError):
        raise ProtocolError("the answer is not JSON") from None
