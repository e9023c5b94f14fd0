"""Calls that are one request and one answer.

`async_calls` is generated from this file by `scripts/docs`.
"""

from __future__ import annotations

from danlu.sdk.errors import NotFound, ProtocolError, api_error
from danlu.sdk.fastjson import dumps, loads
from danlu.sdk.wire import quote, segment, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.wire import Answer

BASE = "/danlu/v1"


def job_path(ref: str) -> str:
    """The path of a job; owner/name-3 becomes owner~name-3."""
    if not ref:  # such as from an unset shell variable
        raise NotFound(404, "not_found", "There is no job without a name", "没有不带名称的任务")
    if ref in (".", ".."):  # proxies might resolve them
        raise NotFound(404, "not_found", f"There is no job {ref}", f"没有任务 {ref}")
    return f"{BASE}/jobs/{quote(ref.replace('/', '~'))}"


class Calls:
    """The requests; subclasses provide the transport."""

    # Jobs

    def submit(
        self,
        job: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | bytes,
        *,
        dry_run: bool = False,
    ) -> model.Submitted:
        """Queues a job: a mapping (or several), or the text of a job file (YAML).

        Give each job an "id" (`danlu.sdk.uuid7()`) to be able to repeat the request after a lost
        answer; where a kept connection ends just then, it is repeated at once.
        """
        body, content_type = job_body(job)
        path = target(f"{BASE}/jobs", {"dry_run": True if dry_run else None})
        answer: model.Submitted = self._post(
            path, body, content_type, repeatable=dry_run or have_ids(job)
        )
        return answer

    def submit_text(
        self,
        body: bytes,
        content_type: str = "application/yaml",
        *,
        dry_run: bool = False,
        **query: Any,
    ) -> model.Submitted:
        """The same for bytes of a known content type; `query` as in the HTTP API (dialect, keys,
        ...).

        Files of OpenPAI, DLC, Determined and sbatch are recognised; `notes` lists what was mapped.
        """
        path = target(f"{BASE}/jobs", {"dry_run": True if dry_run else None, **query})
        answer: model.Submitted = self._post(path, body, content_type, repeatable=False)
        return answer

    def convert(
        self, body: bytes, content_type: str = "text/plain", **query: Any
    ) -> model.Conversion:
        """Converts a file of any supported language to native jobs, without queueing them."""
        path = target(f"{BASE}/jobs/convert", query)
        answer: model.Conversion = self._post(path, body, content_type, repeatable=True)
        return answer

    def jobs(
        self,
        *,
        state: str | None = None,
        owner: str | None = None,
        group: str | None = None,
        name: str | None = None,
        number: int | None = None,
        kind: str | None = None,
        queue: str | None = None,
        since: float | None = None,
        until: float | None = None,
        text: str | None = None,
        active: bool | None = None,
        sort: str | None = None,
        limit: int | None = None,
        before: str | None = None,
        fold: bool | None = None,
        counts: bool | None = None,
    ) -> model.JobPage:
        """One page, newest first unless `sort` says otherwise; `before`: `next` of the previous
        page.

        `state` may list several, separated by commas; `since` and `until` are submission times in
        seconds; `text` is part of the name or the command; `sort` is one of submitted, started,
        ended, name, owner, state, priority, with a leading - to reverse. `fold` lists an array as
        one job with its `elements`; `counts` counts all that match, by state.
        """
        query = {
            "state": state,
            "owner": owner,
            "group": group,
            "name": name,
            "number": number,
            "kind": kind,
            "queue": queue,
            "since": since,
            "until": until,
            "text": text,
            "active": active,
            "sort": sort,
            "limit": limit,
            "before": before,
            "fold": fold,
            "counts": counts,
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

    def spec(self, ref: str, *, defaults: bool = True) -> dict[str, Any]:
        """The native job, ready to be submitted again.

        `defaults=False`: without CPUs and memory that follow from the GPUs, to be changed.
        """
        query = {"format": "json", "defaults": None if defaults else False}
        answer: dict[str, Any] = self._get(target(f"{job_path(ref)}/spec", query))
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

    def edit(self, ref: str, **changes: Any) -> list[model.Job]:
        """Changes a waiting job in place; it keeps its turn. `changes`: gpus, cpus, memory, count,
        time_limit, queue, nodes, preemptible or roles; None resets a key to its default.
        """
        body = dumps(changes).encode()
        answer: list[model.Job] = as_json(self._ask("PATCH", job_path(ref), body))["jobs"]
        return answer

    def hold(self, ref: str) -> list[model.Job]:
        answer: list[model.Job] = self._post(f"{job_path(ref)}/hold", b"{}")["jobs"]
        return answer

    def release(self, ref: str) -> list[model.Job]:
        answer: list[model.Job] = self._post(f"{job_path(ref)}/release", b"{}")["jobs"]
        return answer

    def open_door(
        self, ref: str, door: str | None = None, *, port: int | None = None, task: int = 0
    ) -> model.OpenDoor:
        """What a running job serves, for a browser: `door` is lab, code or tensorboard, or `port`
        one that it listens on. The `url` is valid once, for seconds."""
        order = {"door": door} if port is None else {"port": port}
        body = dumps({**order, "task": task}).encode()
        answer: model.OpenDoor = self._post(f"{job_path(ref)}/doors", body)
        return answer

    def curves(self, ref: str) -> model.Curves:
        """Folders with event files for TensorBoard that your job has written."""
        answer: model.Curves = self._get(f"{job_path(ref)}/tensorboard")
        return answer

    def tensorboard(
        self, folders: list[str] | None = None, *, job: str | None = None, **keys: Any
    ) -> model.ShownCurves:
        """A job that shows what is in these folders (as tasks see them), or what `job` has
        written: the one there is, or a new one. `keys`: of a job file, such as memory. Open it
        with `open_door(ref, "tensorboard")` once it runs.
        """
        order = {"job": job} if folders is None else {"folders": folders}
        body = dumps({**order, **keys}).encode()
        answer: model.ShownCurves = self._post(f"{BASE}/tensorboards", body)
        return answer

    # Logs

    def search(
        self,
        ref: str,
        text: str,
        *,
        task: int = 0,
        stream: str = "out",
        attempt: int | None = None,
        ignore_case: bool = False,
        limit: int = 100,
    ) -> model.Matches:
        """Of a long log, the server searches a part at a time; this goes on to the end of it."""
        query = {
            "q": text,
            "task": task,
            "stream": stream,
            "attempt": attempt,
            "ignore_case": ignore_case or None,
            "limit": limit,
        }
        where = f"{job_path(ref)}/logs/search"
        answer: model.Matches = self._get(target(where, query))
        while answer["more"] and len(answer["matches"]) < limit:
            before = answer["matches"]
            query.update(offset=answer["next_offset"], line=answer["next_line"])
            answer = self._get(target(where, {**query, "limit": limit - len(before)}))
            answer["matches"] = before + answer["matches"]
        return answer

    # Secrets

    def secrets(self) -> list[str]:
        """Names only; values are never returned."""
        answer: list[str] = self._get(f"{BASE}/secrets")["names"]
        return answer

    def set_secret(self, name: str, value: str) -> None:
        self._ask("PUT", f"{BASE}/secrets/{segment(name)}", dumps({"value": value}).encode())

    def delete_secret(self, name: str) -> None:
        self._ask("DELETE", f"{BASE}/secrets/{segment(name)}")

    # Volumes

    def volumes(self) -> list[model.Volume]:
        """The volumes you may mount; an admin sees all."""
        answer: list[model.Volume] = self._get(f"{BASE}/volumes")["volumes"]
        return answer

    def volume(self, name: str) -> model.Volume:
        answer: model.Volume = self._get(f"{BASE}/volumes/{segment(name)}")
        return answer

    def add_volume(self, values: Mapping[str, Any]) -> model.Volume:
        """`values`: name, source, and other fields of the API."""
        body = dumps(dict(values)).encode()
        answer: model.Volume = self._post(f"{BASE}/volumes", body, repeatable=False)
        return answer

    def change_volume(self, name: str, changes: Mapping[str, Any]) -> model.Volume:
        body = dumps(dict(changes)).encode()
        answer: model.Volume = as_json(self._ask("PATCH", f"{BASE}/volumes/{segment(name)}", body))
        return answer

    def remove_volume(self, name: str) -> model.Volume:
        """Jobs can no longer mount it; the folder stays."""
        answer: model.Volume = as_json(self._ask("DELETE", f"{BASE}/volumes/{segment(name)}"))
        return answer

    # The server itself

    def nodes(self) -> list[model.Node]:
        answer: list[model.Node] = self._get(f"{BASE}/nodes")["nodes"]
        return answer

    def queues(self) -> list[model.Queue]:
        answer: list[model.Queue] = self._get(f"{BASE}/queues")["queues"]
        return answer

    def gpus(self) -> model.Gpus:
        answer: model.Gpus = self._get(f"{BASE}/gpus")
        return answer

    def waiting(self, limit: int | None = None) -> model.WaitingList:
        """The next jobs in the queue and when they should start, as everybody sees them; five
        unless `limit` says otherwise.
        """
        answer: model.WaitingList = self._get(target(f"{BASE}/waiting", {"limit": limit}))
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

    def cluster(self) -> model.Cluster:
        """What all GPUs are doing, summed up."""
        answer: model.Cluster = self._get(f"{BASE}/cluster")
        return answer

    def job_metrics(
        self,
        ref: str,
        *,
        since: float | None = None,
        until: float | None = None,
        points: int = 200,
        task: int | None = None,
    ) -> model.JobMetrics:
        """What a job uses and used, as series; without times: from its start to its end."""
        query = {"since": since, "until": until, "points": points, "task": task}
        answer: model.JobMetrics = self._get(target(f"{job_path(ref)}/metrics", query))
        return answer

    def node_metrics(
        self,
        name: str,
        *,
        since: float | None = None,
        until: float | None = None,
        points: int = 200,
    ) -> model.NodeMetrics:
        """What a node and each of its GPUs are doing; without times: in the last hour."""
        query = {"since": since, "until": until, "points": points}
        path = target(f"{BASE}/nodes/{segment(name)}/metrics", query)
        answer: model.NodeMetrics = self._get(path)
        return answer

    def shutdown(self) -> list[model.Job]:
        """Stops the server; returns the jobs that keep running."""
        answer: list[model.Job] = self._post(f"{BASE}/server/shutdown", b"{}")["running"]
        return answer

    # Internals

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        timeout: float | None,
        repeatable: bool,
    ) -> Answer:
        raise NotImplementedError

    def _get(self, path: str, timeout: float | None = None) -> Any:
        return as_json(self._ask("GET", path, timeout=timeout))

    def _post(
        self,
        path: str,
        body: bytes,
        content_type: str = "application/json",
        *,
        repeatable: bool = True,
    ) -> Any:
        return as_json(self._ask("POST", path, body, content_type, repeatable=repeatable))

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
        answer = self._send(method, path, body, content_type, timeout, repeatable)
        if answer.status >= 400:
            raise api_error(answer.status, answer.body)
        if answer.status >= 300:
            raise ProtocolError(f"HTTP {answer.status}")
        return answer.body


def job_body(
    job: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | bytes,
) -> tuple[bytes, str]:
    if isinstance(job, bytes):
        return job, "application/yaml"
    if isinstance(job, str):
        return job.encode(), "application/yaml"
    return dumps(job).encode(), "application/json"


def have_ids(job: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | bytes) -> bool:
    """Whether the server knows these jobs again. Of a text, only the server can tell."""
    if isinstance(job, (str, bytes)):
        return False
    if isinstance(job, dict):
        return bool(job.get("id"))
    return all(isinstance(each, dict) and each.get("id") for each in job)


def as_json(body: bytes) -> Any:
    try:
        return loads(body)
    except (ValueError, RecursionError):
        raise ProtocolError("the answer is not JSON") from None
