# ruff: noqa: ASYNC109 - a timeout that goes along with the request
"""The requests of `calls`, awaited. Made by `scripts/docs`: change that instead."""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json, have_ids, job_body, job_path
from danlu.sdk.errors import ProtocolError, api_error
from danlu.sdk.fastjson import dumps
from danlu.sdk.wire import segment, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.wire import Answer


class AsyncCalls:
    """The requests; subclasses provide the transport."""

    async def submit(
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
        answer: model.Submitted = await self._post(
            path, body, content_type, repeatable=dry_run or have_ids(job)
        )
        return answer

    async def submit_text(
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
        answer: model.Submitted = await self._post(path, body, content_type, repeatable=False)
        return answer

    async def convert(
        self, body: bytes, content_type: str = "text/plain", **query: Any
    ) -> model.Conversion:
        """Converts a file of any supported language to native jobs, without queueing them."""
        path = target(f"{BASE}/jobs/convert", query)
        answer: model.Conversion = await self._post(path, body, content_type, repeatable=True)
        return answer

    async def jobs(
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
        answer: model.JobPage = await self._get(target(f"{BASE}/jobs", query))
        return answer

    async def show(self, ref: str) -> model.JobDetail:
        answer: model.JobDetail = await self._get(job_path(ref))
        return answer

    async def why(self, ref: str) -> model.Why:
        """Why it waits, or how it ended."""
        answer: model.Why = await self._get(f"{job_path(ref)}/why")
        return answer

    async def events(
        self, ref: str, *, after: int | None = None, limit: int | None = None
    ) -> list[model.Event]:
        path = target(f"{job_path(ref)}/events", {"after": after, "limit": limit})
        answer: list[model.Event] = (await self._get(path))["events"]
        return answer

    async def spec(self, ref: str, *, defaults: bool = True) -> dict[str, Any]:
        """The native job, ready to be submitted again.

        `defaults=False`: without CPUs and memory that follow from the GPUs, to be changed.
        """
        query = {"format": "json", "defaults": None if defaults else False}
        answer: dict[str, Any] = await self._get(target(f"{job_path(ref)}/spec", query))
        return answer

    async def spec_yaml(self, ref: str) -> str:
        return (await self._ask("GET", f"{job_path(ref)}/spec?format=yaml")).decode(
            "utf-8", "replace"
        )

    async def stop(
        self, ref: str, *, grace: float | None = None, now: bool = False
    ) -> list[model.Job]:
        body = dumps({"grace": grace, "now": now}).encode()
        answer: list[model.Job] = (await self._post(f"{job_path(ref)}/stop", body))["jobs"]
        return answer

    async def rerun(self, ref: str) -> model.Submitted:
        answer: model.Submitted = await self._post(
            f"{job_path(ref)}/rerun", b"{}", repeatable=False
        )
        return answer

    async def edit(self, ref: str, **changes: Any) -> list[model.Job]:
        """Changes a waiting job in place; it keeps its turn. `changes`: gpus, cpus, memory, count,
        time_limit, queue, nodes, preemptible or roles; None resets a key to its default.
        """
        body = dumps(changes).encode()
        answer: list[model.Job] = as_json(await self._ask("PATCH", job_path(ref), body))["jobs"]
        return answer

    async def hold(self, ref: str) -> list[model.Job]:
        answer: list[model.Job] = (await self._post(f"{job_path(ref)}/hold", b"{}"))["jobs"]
        return answer

    async def release(self, ref: str) -> list[model.Job]:
        answer: list[model.Job] = (await self._post(f"{job_path(ref)}/release", b"{}"))["jobs"]
        return answer

    async def open_door(
        self, ref: str, door: str | None = None, *, port: int | None = None, task: int = 0
    ) -> model.OpenDoor:
        """What a running job serves, for a browser: `door` is lab, code or tensorboard, or `port`
        one that it listens on. The `url` is valid once, for seconds."""
        order = {"door": door} if port is None else {"port": port}
        body = dumps({**order, "task": task}).encode()
        answer: model.OpenDoor = await self._post(f"{job_path(ref)}/doors", body)
        return answer

    async def curves(self, ref: str) -> model.Curves:
        """Folders with event files for TensorBoard that your job has written."""
        answer: model.Curves = await self._get(f"{job_path(ref)}/tensorboard")
        return answer

    async def tensorboard(
        self, folders: list[str] | None = None, *, job: str | None = None, **keys: Any
    ) -> model.ShownCurves:
        """A job that shows what is in these folders (as tasks see them), or what `job` has
        written: the one there is, or a new one. `keys`: of a job file, such as memory. Open it
        with `open_door(ref, "tensorboard")` once it runs.
        """
        order = {"job": job} if folders is None else {"folders": folders}
        body = dumps({**order, **keys}).encode()
        answer: model.ShownCurves = await self._post(f"{BASE}/tensorboards", body)
        return answer

    async def search(
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
        answer: model.Matches = await self._get(target(where, query))
        while answer["more"] and len(answer["matches"]) < limit:
            before = answer["matches"]
            query.update(offset=answer["next_offset"], line=answer["next_line"])
            answer = await self._get(target(where, {**query, "limit": limit - len(before)}))
            answer["matches"] = before + answer["matches"]
        return answer

    async def secrets(self) -> list[str]:
        """Names only; values are never returned."""
        answer: list[str] = (await self._get(f"{BASE}/secrets"))["names"]
        return answer

    async def set_secret(self, name: str, value: str) -> None:
        await self._ask("PUT", f"{BASE}/secrets/{segment(name)}", dumps({"value": value}).encode())

    async def delete_secret(self, name: str) -> None:
        await self._ask("DELETE", f"{BASE}/secrets/{segment(name)}")

    async def volumes(self) -> list[model.Volume]:
        """The volumes you may mount; an admin sees all."""
        answer: list[model.Volume] = (await self._get(f"{BASE}/volumes"))["volumes"]
        return answer

    async def volume(self, name: str) -> model.Volume:
        answer: model.Volume = await self._get(f"{BASE}/volumes/{segment(name)}")
        return answer

    async def add_volume(self, values: Mapping[str, Any]) -> model.Volume:
        """`values`: name, source, and other fields of the API."""
        body = dumps(dict(values)).encode()
        answer: model.Volume = await self._post(f"{BASE}/volumes", body, repeatable=False)
        return answer

    async def change_volume(self, name: str, changes: Mapping[str, Any]) -> model.Volume:
        body = dumps(dict(changes)).encode()
        answer: model.Volume = as_json(
            await self._ask("PATCH", f"{BASE}/volumes/{segment(name)}", body)
        )
        return answer

    async def remove_volume(self, name: str) -> model.Volume:
        """Jobs can no longer mount it; the folder stays."""
        answer: model.Volume = as_json(await self._ask("DELETE", f"{BASE}/volumes/{segment(name)}"))
        return answer

    async def nodes(self) -> list[model.Node]:
        answer: list[model.Node] = (await self._get(f"{BASE}/nodes"))["nodes"]
        return answer

    async def queues(self) -> list[model.Queue]:
        answer: list[model.Queue] = (await self._get(f"{BASE}/queues"))["queues"]
        return answer

    async def gpus(self) -> model.Gpus:
        answer: model.Gpus = await self._get(f"{BASE}/gpus")
        return answer

    async def waiting(self, limit: int | None = None) -> model.WaitingList:
        """The next jobs in the queue and when they should start, as everybody sees them; five
        unless `limit` says otherwise.
        """
        answer: model.WaitingList = await self._get(target(f"{BASE}/waiting", {"limit": limit}))
        return answer

    async def whoami(self) -> model.Person:
        answer: model.Person = await self._get(f"{BASE}/whoami")
        return answer

    async def login(self, user: str, password: str) -> model.Login:
        body = dumps({"user": user, "password": password}).encode()
        answer: model.Login = await self._post(f"{BASE}/login", body)
        return answer

    async def change_password(self, old: str, new: str) -> model.Person:
        body = dumps({"old": old, "new": new}).encode()
        answer: model.Person = await self._post(f"{BASE}/password", body)
        return answer

    async def version(self) -> str:
        return str((await self._get(f"{BASE}/version"))["version"])

    async def server(self) -> model.Server:
        answer: model.Server = await self._get(f"{BASE}/server")
        return answer

    async def cluster(self) -> model.Cluster:
        """What all GPUs are doing, summed up."""
        answer: model.Cluster = await self._get(f"{BASE}/cluster")
        return answer

    async def job_metrics(
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
        answer: model.JobMetrics = await self._get(target(f"{job_path(ref)}/metrics", query))
        return answer

    async def node_metrics(
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
        answer: model.NodeMetrics = await self._get(path)
        return answer

    async def shutdown(self) -> list[model.Job]:
        """Stops the server; returns the jobs that keep running."""
        answer: list[model.Job] = (await self._post(f"{BASE}/server/shutdown", b"{}"))["running"]
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        timeout: float | None,
        repeatable: bool,
    ) -> Answer:
        raise NotImplementedError

    async def _get(self, path: str, timeout: float | None = None) -> Any:
        return as_json(await self._ask("GET", path, timeout=timeout))

    async def _post(
        self,
        path: str,
        body: bytes,
        content_type: str = "application/json",
        *,
        repeatable: bool = True,
    ) -> Any:
        return as_json(await self._ask("POST", path, body, content_type, repeatable=repeatable))

    async def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        *,
        timeout: float | None = None,
        repeatable: bool = True,
    ) -> bytes:
        answer = await self._send(method, path, body, content_type, timeout, repeatable)
        if answer.status >= 400:
            raise api_error(answer.status, answer.body)
        if answer.status >= 300:
            raise ProtocolError(f"HTTP {answer.status}")
        return answer.body
