"""People with tokens on a running server, for what they do with files."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path
from typing import Any

import httpx

from tests.support.server import PATIENCE, DanluServer

TUS = {"Tus-Resumable": "1.0.0"}
STREAM = {"Content-Type": "application/offset+octet-stream"}
PASSWORD = "a password of many words"
CONFIG = '[uids]\nrange = "700000-799999"\n'
"""Away from the ranges that other tests give to users of the machine."""


class Someone:
    def __init__(self, server: DanluServer, name: str, token: str) -> None:
        self.server, self.name, self.token = server, name, token
        self.http = httpx.Client(
            base_url=f"{server.url}/danlu/v1/files",
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE,
            trust_env=False,
            verify=server.tls or True,
        )

    def get(self, route: str, /, **query: Any) -> Any:
        answer = self.http.get(route, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, route: str, /, **values: Any) -> Any:
        answer = self.http.post(route, json=values)
        assert answer.status_code in (200, 201), answer.text
        return self.ended(answer.json())

    def ended(self, found: Any) -> Any:
        """An operation that goes on is waited for."""
        deadline = time.monotonic() + PATIENCE
        while found.get("state") == "running":
            assert time.monotonic() < deadline
            found = self.get(f"/operations/{found['id']}", wait=5)
        return found

    def names(self, path: str) -> list[str]:
        return [entry["name"] for entry in self.get("/list", path=path)["entries"]]

    def begin(self, path: str, size: int, **more: str) -> httpx.Response:
        values = {"path": path, **more}
        told = ",".join(
            f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items()
        )
        headers = {**TUS, "Upload-Length": str(size), "Upload-Metadata": told}
        return self.http.post("/uploads", headers=headers)

    def at(self, location: str) -> str:
        return f"{self.server.url}{location}"

    def offset(self, location: str) -> int:
        answer = self.http.head(self.at(location), headers=TUS)
        assert answer.status_code == 200, answer.status_code
        return int(answer.headers["upload-offset"])

    def send(self, location: str, data: Any, offset: int, **more: str) -> httpx.Response:
        headers = {**TUS, **STREAM, "Upload-Offset": str(offset), **more}
        return self.http.patch(self.at(location), content=data, headers=headers)

    def upload(self, path: str, data: bytes, **more: str) -> httpx.Response:
        made = self.begin(path, len(data), **more)
        assert made.status_code == 201, made.text
        return self.send(made.headers["location"], data, 0) if data else made

    def content(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get("/content", params={"path": path}, headers=headers)

    def home(self) -> Path:
        return self.server.data / "home" / self.name


def join(server: DanluServer, name: str, *groups: str) -> Someone:
    trusted = os.geteuid() != 0  # then all share one uid
    made = server.post("/users", {"name": name, "groups": list(groups), "trusted": trusted})
    once = {"user": name, "password": made["password"]}
    base = f"{server.url}/danlu/v1"
    with httpx.Client(
        base_url=base, timeout=PATIENCE, trust_env=False, verify=server.tls or True
    ) as http:
        token = http.post("/login", json=once).json()["token"]
        http.headers["Authorization"] = f"Bearer {token}"
        changed = http.post("/password", json={"old": made["password"], "new": PASSWORD})
        assert changed.status_code == 200, changed.text
        token = changed.json().get("token", token)
    return Someone(server, name, token)
