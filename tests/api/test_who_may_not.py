"""Who is not let in: every route, every kind of credential that is none."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, cast

import pytest
from fastapi.routing import APIWebSocketRoute
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from danlu.access.gate import new_token
from danlu.access.passwords import hash_password
from danlu.api.app import create_app
from danlu.api.services import Services
from danlu.spec.ids import uuid7
from tests.api.lab import PATIENCE, Job, Lab, client, eventually
from tests.support.server import DanluServer

OPEN = {
    "GET /healthz": None,
    "GET /api/v1/openapi.json": None,
    "GET /api/v1/version": None,
    "POST /api/v1/login": {"user": "admin", "password": "wrong"},
}
CLOSED: dict[str, Any] = {
    "GET /api/v1/whoami": None,
    "POST /api/v1/password": {"old": "not the right one", "new": "long enough"},
    "GET /api/v1/nodes": None,
    "GET /api/v1/gpus": None,
    "GET /api/v1/server": None,
    "POST /api/v1/server/shutdown": None,
    "POST /api/v1/jobs": {"command": "true", "held": True},
    "GET /api/v1/jobs": None,
    "GET /api/v1/jobs/{ref}": None,
    "GET /api/v1/jobs/{ref}/wait?timeout=0": None,
    "GET /api/v1/jobs/{ref}/why": None,
    "GET /api/v1/jobs/{ref}/events": None,
    "GET /api/v1/jobs/{ref}/spec": None,
    "POST /api/v1/jobs/{ref}/stop": {"now": True},
    "POST /api/v1/jobs/{ref}/rerun": None,
    "POST /api/v1/jobs/{ref}/hold": None,
    "POST /api/v1/jobs/{ref}/release": None,
    "GET /api/v1/jobs/{ref}/logs": None,
    "GET /api/v1/jobs/{ref}/logs/search?q=x": None,
    "GET /api/v1/secrets": None,
    "PUT /api/v1/secrets/{name}": {"value": "x"},
    "DELETE /api/v1/secrets/{name}": None,
}
SOCKETS = ["/api/v1/jobs/{ref}/attach", '/api/v1/jobs/{ref}/exec?argv=["true"]']


def _routes(routes: Iterable[Any], prefix: str = "") -> Iterator[str]:
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from _routes(included.routes, "/api/v1")
        elif isinstance(route, APIWebSocketRoute):
            yield f"SOCKET {prefix}{route.path}"
        else:
            for method in route.methods - {"HEAD"}:
                yield f"{method} {prefix}{route.path}"


def test_every_route_is_in_the_tables_above() -> None:
    """A new route belongs into one of them: open to everybody, or not."""
    app = create_app(cast(Services, None))
    known = {row.partition("?")[0] for row in (*OPEN, *CLOSED)}
    known |= {f"SOCKET {path.partition('?')[0]}" for path in SOCKETS}
    assert set(_routes(app.routes)) == known
    document = app.openapi()["paths"]
    listed = {f"{method.upper()} {path}" for path, each in document.items() for method in each}
    assert listed <= known


@pytest.fixture
def target(lab: Lab) -> Job:
    lab.http.put("/secrets/mine", json={"value": "x"})
    return lab.submit(name="target", command="true", held=True)


class Database:
    """The server's own database: there is no route yet that gives or takes other tokens."""

    def __init__(self, server: DanluServer) -> None:
        self._path = server.data / "danlu.db"

    def run(self, statement: str, *values: Any) -> list[Any]:
        with closing(sqlite3.connect(self._path, timeout=PATIENCE)) as db, db:
            return db.execute(statement, values).fetchall()

    def token(self, user: str = "admin", expires: float | None = None) -> str:
        token = new_token()
        ((owner,),) = self.run("SELECT id FROM users WHERE name = ?", user)
        self.run(
            "INSERT INTO tokens (id, user_id, hash, label, created_at, expires_at)"
            " VALUES (?, ?, ?, 'test', 0, ?)",
            uuid7(),
            owner,
            hashlib.sha256(token.encode()).hexdigest(),
            expires,
        )
        return token

    def revoke(self, token: str) -> None:
        self.run("DELETE FROM tokens WHERE hash = ?", hashlib.sha256(token.encode()).hexdigest())

    def user(self, role: str, disabled: bool = False, password: str = "") -> str:
        name = f"u{uuid7()[-6:]}"
        self.run(
            "INSERT INTO users (id, name, role, password_hash, must_change, disabled, created_at)"
            " VALUES (?, ?, ?, ?, 1, ?, 0)",
            uuid7(),
            name,
            role,
            hash_password(password) if password else "",
            disabled,
        )
        return name


@pytest.fixture
def database(server: DanluServer) -> Database:
    return Database(server)


@pytest.fixture(
    params=["none", "empty", "wrong", "basic", "hash", "strange", "expired", "revoked", "disabled"]
)
def credential(
    request: pytest.FixtureRequest, lab: Lab, database: Database
) -> dict[str, str] | None:
    """The header of somebody who is not let in; None: no header at all."""
    token = lab.server.token
    match request.param:
        case "none":
            return None
        case "empty":
            return {"Authorization": "Bearer"}
        case "wrong":
            return {"Authorization": f"Bearer {token[:-1]}{'a' if token[-1] != 'a' else 'b'}"}
        case "basic":
            return {"Authorization": f"Basic {token}"}
        case "hash":
            # Who reads the database must not be able to come in with what stands there.
            return {"Authorization": f"Bearer {hashlib.sha256(token.encode()).hexdigest()}"}
        case "strange":
            return {"Authorization": "Bearer '; DROP TABLE users; --"}
        case "expired":
            return {"Authorization": f"Bearer {database.token(expires=time.time() - 1)}"}
        case "disabled":
            user = database.user("admin", disabled=True)
            return {"Authorization": f"Bearer {database.token(user)}"}
        case _:
            gone = database.token()
            database.revoke(gone)
            return {"Authorization": f"Bearer {gone}"}


def _ask(lab: Lab, row: str, body: Any, job: Job, headers: dict[str, str] | None) -> Any:
    method, path = row.split(" ")
    path = path.replace("{ref}", job["id"]).replace("{name}", "mine")
    with client(lab.server, None) as http:
        return http.request(method, f"{lab.server.url}{path}", json=body, headers=headers)


def test_nobody_gets_past_the_door(
    lab: Lab, target: Job, credential: dict[str, str] | None
) -> None:
    for row, body in CLOSED.items():
        answer = _ask(lab, row, body, target, credential)
        assert answer.status_code == 401, row
        error = answer.json()["error"]
        assert error["code"] == "not_signed_in"
        assert "danlu login" in error["message_en"]
        assert "danlu login" in error["message_zh"]
        assert answer.headers["www-authenticate"] == "Bearer"
    assert lab.kinds(target) == ["submitted"], "nothing was done"
    assert lab.get("/secrets")["names"] == ["mine"]


def test_nobody_gets_past_the_door_of_a_socket(lab: Lab, credential: dict[str, str] | None) -> None:
    job = lab.until(lab.submit(command="sleep 1000", stdin="pipe"), "running")
    for path in SOCKETS:
        url = lab.server.url.replace("http", "ws", 1) + path.replace("{ref}", job["id"])
        with (
            connect(
                url, additional_headers=credential, open_timeout=PATIENCE, proxy=None
            ) as socket,
            pytest.raises(ConnectionClosed) as closed,
        ):
            socket.recv(timeout=PATIENCE)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4403, "not signed in")


def test_the_admin_gets_in_everywhere(lab: Lab, target: Job) -> None:
    headers = {"Authorization": f"Bearer {lab.server.token}"}
    for row, body in CLOSED.items():
        if row.endswith("/shutdown"):
            continue
        answer = _ask(lab, row, body, target, headers)
        # 409: stopped a few rows before, it can no longer be held. 403: the old password is wrong.
        assert answer.status_code in (200, 201, 409, 403), (row, answer.text)
        assert answer.status_code != 403 or row.endswith("/password")


def test_what_is_open_answers_everybody(lab: Lab, target: Job) -> None:
    for row, body in OPEN.items():
        answer = _ask(lab, row, body, target, None)
        assert answer.status_code == (401 if row.endswith("/login") else 200)


def test_a_token_that_is_taken_back_stops_working(lab: Lab, database: Database) -> None:
    token = database.token()
    with client(lab.server, token) as http:
        assert http.get("/whoami").json() == {"user": "admin", "role": "admin"}
        database.revoke(token)
        eventually(lambda: http.get("/whoami").status_code == 401)


def test_a_token_that_expires_stops_working(lab: Lab, database: Database) -> None:
    token = database.token(expires=time.time() + 3600)
    with client(lab.server, token) as http:
        assert http.get("/whoami").status_code == 200
        database.run("UPDATE tokens SET expires_at = ? WHERE expires_at > ?", 1.0, time.time())
        eventually(lambda: http.get("/whoami").status_code == 401)


def test_only_an_admin_may_shut_the_server_down(lab: Lab, database: Database) -> None:
    user = database.user("user")
    with client(lab.server, database.token(user)) as http:
        answer = http.post("/server/shutdown")
    assert answer.status_code == 403
    assert answer.json()["error"]["message_zh"] == "只有管理员可以执行"
    assert lab.get("/whoami") == {"user": "admin", "role": "admin"}


# -- signing in -------------------------------------------------------------------------------


def _one_time_password(server: DanluServer) -> str:
    line = next(line for line in server.log.read_text().splitlines() if "one-time" in line)
    return line.rpartition(" ")[2]


def test_a_name_and_its_password_become_a_token(lab: Lab) -> None:
    body = {"user": "admin", "password": _one_time_password(lab.server)}
    with client(lab.server, None) as http:
        answer = http.post("/login", json=body)
    assert answer.status_code == 200
    found = answer.json()
    assert (found["user"], found["must_change_password"]) == ("admin", True)
    with client(lab.server, found["token"]) as http:
        assert http.get("/whoami").json()["user"] == "admin"
    stored = (lab.server.data / "danlu.db").read_bytes()
    stored += (lab.server.data / "danlu.db-wal").read_bytes()
    assert found["token"].encode() not in stored, "only its hash is kept"
    assert body["password"].encode() not in stored


def test_a_changed_password_takes_the_place_of_the_old_one(lab: Lab, database: Database) -> None:
    user = database.user("user", password="one-time-only")
    change = {"old": "one-time-only", "new": "my own 密码 now"}
    with client(lab.server, database.token(user)) as http:
        assert http.post("/password", json={**change, "old": "wrong"}).status_code == 403
        assert http.post("/password", json={**change, "new": "short"}).status_code == 422
        assert http.post("/password", json=change).status_code == 200
    with client(lab.server, None) as http:
        old = http.post("/login", json={"user": user, "password": change["old"]})
        new = http.post("/login", json={"user": user, "password": change["new"]})
    assert (old.status_code, new.status_code) == (401, 200)
    assert new.json()["must_change_password"] is False


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(lab: Lab) -> None:
    with client(lab.server, None) as http:
        answers = [
            http.post("/login", json={"user": user, "password": password})
            for user, password in (("admin", "wrong"), ("nobody", "wrong"))
        ]
    assert {answer.status_code for answer in answers} == {401}
    assert json.loads(answers[0].content) == json.loads(answers[1].content)
    assert answers[0].json()["error"]["message_zh"] == "用户名或密码错误"


def test_a_mistake_in_a_sign_in_does_not_repeat_the_password(lab: Lab) -> None:
    with client(lab.server, None) as http:
        for body in ({"password": "hunter2"}, {"user": "a", "password": ["hunter2"]}):
            answer = http.post("/login", json=body)
            assert answer.status_code == 422
            assert "hunter2" not in answer.text
