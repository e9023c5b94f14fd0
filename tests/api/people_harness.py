"""People with accounts, groups and leaders, on the running server."""

from __future__ import annotations

import base64
import itertools
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import httpx

from danlu.access.gate import new_token, token_row
from danlu.spec.ids import uuid7
from tests.api.harness import PATIENCE, Harness, Job
from tests.support.server import DanluServer

PASSWORD = "correct horse 马 battery"
_addresses: Iterator[int] = itertools.count(2)


PROXY = "127.0.0.77"
"""Listed in the server's `proxies`: loopback is one place, so other addresses come through it. With
IPv6 there is only ::1, which has to be listed then."""


def elsewhere() -> str:
    """An address from which nobody has asked before."""
    high, low = divmod(next(_addresses), 250)
    return f"10.7.{high}.{low + 1}"


def through_proxy(address: str | None = None) -> dict[str, str]:
    """The header that makes a request from PROXY one from this address."""
    return {"X-Forwarded-For": address or elsewhere()}


def public_key(comment: str = "me@laptop") -> str:
    """A line as in ~/.ssh/id_ed25519.pub, of a key that nobody has."""
    kind = b"ssh-ed25519"
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in (kind, os.urandom(32)))
    return f"ssh-ed25519 {base64.b64encode(blob).decode()} {comment}"


def caller(server: DanluServer, token: str | None, address: str | None = None) -> httpx.Client:
    return httpx.Client(
        base_url=f"{server.url}/danlu/v1",
        headers={
            **through_proxy(address),
            **({} if token is None else {"Authorization": f"Bearer {token}"}),
        },
        timeout=PATIENCE,
        trust_env=False,
        transport=httpx.HTTPTransport(
            verify=False, local_address=PROXY if server.host == "127.0.0.1" else None
        ),
    )


@dataclass
class Someone:
    name: str
    token: str
    http: httpx.Client

    def submit(self, **job: Any) -> Job:
        answer = self.http.post("/jobs", json={"command": "true", "held": True, **job})
        assert answer.status_code == 201, answer.text
        found: Job = answer.json()["jobs"][0]
        return found

    def get(self, path: str, **query: Any) -> Any:
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def do(self, method: str, path: str, body: Any = None, expect: int | None = None) -> Any:
        answer = self.http.request(method, path, json=body)
        wanted = (200, 201) if expect is None else (expect,)
        assert answer.status_code in wanted, (method, path, answer.text)
        return answer.json()


class PeopleHarness:
    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.server = harness.server
        self.admin = Someone(
            "admin", harness.server.token, caller(harness.server, harness.server.token)
        )
        self._people: list[Someone] = [self.admin]

    def close(self) -> None:
        for person in self._people:
            person.http.close()

    @staticmethod
    def name(of: str = "u") -> str:
        return f"{of}{uuid7()[-8:]}"

    def group(self) -> str:
        name = self.name("g")
        self.admin.do("POST", "/groups", {"name": name})
        return name

    def person(self, *groups: str, leads: str | None = None, name: str | None = None) -> Someone:
        """Signs up with an invitation and signs in."""
        name = name or self.name()
        code = self.admin.do("POST", "/invites", {})["code"]
        with caller(self.server, None) as http:
            order = {"name": name, "password": PASSWORD, "code": code}
            answer = http.post("/sign-up", json=order)
            assert answer.status_code == 201, answer.text
        for group in (*groups, *([leads] if leads else [])):
            body = {"leader": group == leads}
            self.admin.do("PUT", f"/groups/{group}/members/{name}", body)
        return self.sign_in(name)

    def sign_in(self, name: str, password: str = PASSWORD) -> Someone:
        with caller(self.server, None) as http:
            answer = http.post("/login", json={"user": name, "password": password})
        assert answer.status_code == 200, answer.text
        return self.holding(name, answer.json()["token"])

    def holding(self, name: str, token: str) -> Someone:
        person = Someone(name, token, caller(self.server, token))
        self._people.append(person)
        return person

    def with_token(self, person: Someone, **order: Any) -> Someone:
        return self.holding(person.name, person.do("POST", "/tokens", order)["token"])

    def session(self, person: Someone, scope: str = "all", expired: bool = False) -> Someone:
        """Another session of somebody: written into the database, which costs no password."""
        token = new_token()
        path = self.server.data / "danlu.db"
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as db, db:
            ((owner,),) = db.execute("SELECT id FROM users WHERE name = ?", (person.name,))
            row = token_row(owner, token, "test", scope=scope, lasts=-1 if expired else 3600)
            values = asdict(row)
            marks = ", ".join(f":{name}" for name in values)
            db.execute(f"INSERT INTO tokens ({', '.join(values)}) VALUES ({marks})", values)
        return self.holding(person.name, token)

    def acts(self, **query: Any) -> list[dict[str, Any]]:
        """The audit log, oldest first."""
        lines: list[dict[str, Any]] = self.admin.get("/audit", limit=1000, **query)["lines"]
        return lines[::-1]
