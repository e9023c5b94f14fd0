# ruff: noqa: ASYNC109 - a timeout that goes along with the request
"""The requests of `calls`, awaited. Made by `scripts/docs`: change `calls` instead."""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json, job_body, job_path
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
    """The requests; how they travel is for those who inherit this."""

    async def submit(
        self,
        job: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | bytes,
        *,
        dry_run: bool = False,
    ) -> model.Submitted:
        """Queues a job: a mapping (or several), or the text of a job file (YAML).

        Give each job an "id" (`danlu.sdk.uuid7()`) to be able to send it again after a lost answer.
        """
        return await self.submit_text(*job_body(job), dry_run=dry_run)

    async def submit_text(
        self,
        body: bytes,
        content_type: str = "application/yaml",
        *,
        dry_run: bool = False,
        **query: Any,
    ) -> model.Submitted:
        """The same for bytes whose kind is known; `query` as in the HTTP API (dialect, keys, ...).

        Files of OpenPAI, DLC, Determined and sbatch are recognised; `notes` tells what was mapped.
        """
        path = target(f"{BASE}/jobs", {"dry_run": True if dry_run else None, **query})
        answer: model.Submitted = await self._post(path, body, content_type, repeatable=False)
        return answer

    async def convert(
        self, body: bytes, content_type: str = "text/plain", **query: Any
    ) -> model.Conversion:
        """The native jobs a file of any language means; nothing is queued."""
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
        kind: str | None = None,
        queue: str | None = None,
        since: float | None = None,
        until: float | None = None,
        text: str | None = None,
        active: bool | None = None,
        sort: str | None = None,
        limit: int | None = None,
        before: str | None = None,
    ) -> model.JobPage:
        """One page, newest first unless `sort` says otherwise; `before`: `next` of the last one.

        `state` may name several, with commas between; `since` and `until` are moments of
        submission in seconds; `text` is a part of the name or the command; `sort` is one of
        submitted, started, ended, name, owner, state, priority, with - in front to turn it round.
        """
        query = {
            "state": state,
            "owner": owner,
            "group": group,
            "name": name,
            "kind": kind,
            "queue": queue,
            "since": since,
            "until": until,
            "text": text,
            "active": active,
            "sort": sort,
            "limit": limit,
            "before": before,
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

    async def spec(self, ref: str) -> dict[str, Any]:
        """The native job, ready to be submitted again."""
        answer: dict[str, Any] = await self._get(f"{job_path(ref)}/spec?format=json")
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

    async def hold(self, ref: str) -> list[model.Job]:
        answer: list[model.Job] = (await self._post(f"{job_path(ref)}/hold", b"{}"))["jobs"]
        return answer

    async def release(self, ref: str) -> list[model.Job]:
        answer: list[model.Job] = (await self._post(f"{job_path(ref)}/release", b"{}"))["jobs"]
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
        answer: model.Matches = await self._get(target(f"{job_path(ref)}/logs/search", query))
        return answer

    async def secrets(self) -> list[str]:
        """Their names; a value never comes back."""
        answer: list[str] = (await self._get(f"{BASE}/secrets"))["names"]
        return answer

    async def set_secret(self, name: str, value: str) -> None:
        await self._ask("PUT", f"{BASE}/secrets/{segment(name)}", dumps({"value": value}).encode())

    async def delete_secret(self, name: str) -> None:
        await self._ask("DELETE", f"{BASE}/secrets/{segment(name)}")

    async def volumes(self) -> list[model.Volume]:
        """What one may mount; an admin sees all."""
        answer: list[model.Volume] = (await self._get(f"{BASE}/volumes"))["volumes"]
        return answer

    async def volume(self, name: str) -> model.Volume:
        answer: model.Volume = await self._get(f"{BASE}/volumes/{segment(name)}")
        return answer

    async def add_volume(self, values: Mapping[str, Any]) -> model.Volume:
        """`values`: name, source, and what else the API takes."""
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
        """No job may mount it any more; the folder stays."""
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
        """What all cards are doing, added up."""
        answer: model.Cluster = await self._get(f"{BASE}/cluster")
        return answer

    async def shutdown(self) -> list[model.Job]:
        """Ends the server; gives back the jobs whose tasks go on."""
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
