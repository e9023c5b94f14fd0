"""The running server as the tests of the API see it: asks, waits, reads, and cleans up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

from tests.support.server import DanluServer

PATIENCE = 180.0
"""Seconds. Only so that a broken server fails a test instead of hanging it."""

ENDED = ("succeeded", "failed", "stopped")

Job = dict[str, Any]
T = TypeVar("T")


class Harness:
    def __init__(self, server: DanluServer) -> None:
        self.server = server
        self.http = client(server, server.token)

    # -- asking -------------------------------------------------------------------------------

    def submit(self, *jobs: Job, **job: Any) -> Job:
        """One job (by keywords), or several; the answer's first."""
        return self.submit_all(*(jobs or (job,)))[0]

    def submit_all(self, *jobs: Job) -> list[Job]:
        answer = self.http.post("/jobs", json=list(jobs))
        assert answer.status_code == 201, answer.text
        found: list[Job] = answer.json()["jobs"]
        return found

    def run(self, command: str | list[str], **job: Any) -> Job:
        """Submits and waits for the end."""
        return self.wait(self.submit(command=command, **job))

    def refusal(self, **job: Any) -> dict[str, Any]:
        """The first mistake the server tells of a job that it must not accept."""
        answer = self.http.post("/jobs", json=job)
        assert answer.status_code == 422, answer.text
        error = answer.json()["error"]
        assert error["code"] == "invalid_job"
        detail: dict[str, Any] = error["details"][0]
        return detail

    def fill(self, **job: Any) -> list[Job]:
        """Both nodes full: four GPUs each."""
        jobs = [{"name": name, "command": "sleep 1000", "gpus": 4, **job} for name in ("a", "b")]
        return [self.until(held, "running") for held in self.submit_all(*jobs)]

    # -- looking ------------------------------------------------------------------------------

    def get(self, path: str, **query: Any) -> Any:
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def show(self, job: Job) -> Job:
        found: Job = self.get(f"/jobs/{job['id']}")
        return found

    def why(self, job: Job) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/jobs/{job['id']}/why")
        return found

    def events(self, job: Job) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(f"/jobs/{job['id']}/events", limit=1000)["events"]
        return found

    def kinds(self, job: Job) -> list[str]:
        return [event["kind"] for event in self.events(job)]

    def log(self, job: Job, **query: Any) -> bytes:
        answer = self.http.get(f"/jobs/{job['id']}/logs", params=query)
        assert answer.status_code == 200, answer.text
        return answer.content

    def lines(self, job: Job, **query: Any) -> list[str]:
        return self.log(job, **query).decode().splitlines()

    @contextmanager
    def following(self, job: Job, **query: Any) -> Iterator[httpx.Response]:
        query["follow"] = "true"
        with self.http.stream("GET", f"/jobs/{job['id']}/logs", params=query) as answer:
            assert answer.status_code == 200
            yield answer

    # -- waiting ------------------------------------------------------------------------------

    def wait(self, job: Job) -> Job:
        return self.until(job, *ENDED)

    def until(self, job: Job, *states: str) -> Job:
        def there() -> Job | None:
            # Answers at once when the job ends, else soon: most waits are for an end.
            pause = 5 if set(states) <= set(ENDED) else 0.02
            found: Job = self.get(f"/jobs/{job['id']}/wait", timeout=pause)
            over = found["state"] in ENDED and found["state"] not in states
            assert not over, f"{found['ref']} {found['state']}: {found['reason_en']}"
            return found if found["state"] in states else None

        return eventually(there)

    # -- acting -------------------------------------------------------------------------------

    def post(self, job: Job, action: str, body: Any = None) -> Any:
        answer = self.http.post(f"/jobs/{job['id']}/{action}", json=body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def stop(self, job: Job, **order: Any) -> Job:
        self.post(job, "stop", order or None)
        return self.wait(job)

    def clear(self) -> None:
        """Ends whatever a test left in the queue or running, and takes its secrets away."""

        def empty() -> bool:
            jobs = self.get("/jobs", active="true", limit=1000)["jobs"]
            for job in jobs:
                if job["state"] != "stopping":
                    self.post(job, "stop", {"now": True})
            return not jobs

        eventually(empty)
        for name in self.get("/secrets")["names"]:
            self.http.delete(f"/secrets/{name}")


def client(server: DanluServer, token: str | None) -> httpx.Client:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.Client(
        base_url=f"{server.url}/danlu/v1",
        headers=headers,
        timeout=PATIENCE,
        trust_env=False,  # a proxy of the machine is not for the loopback
        verify=False,  # no TLS here; reading the machine's certificates takes longer than a test
    )


def eventually(what: Callable[[], T | None], every: float = 0.02) -> T:
    deadline = time.monotonic() + PATIENCE
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(every)


def wait_for_file(path: Path) -> str:
    """Shell text that waits until the test makes this file."""
    return f"while [ ! -e '{path}' ]; do sleep 0.05; done"


def details(answer: httpx.Response) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(answer.content)["error"]["details"]
    return found
