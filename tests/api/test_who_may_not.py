"""Who is not let in: every route, every kind of credential that is none."""

from __future__ import annotations

import hashlib

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.api.harness import PATIENCE, Harness, Job
from tests.api.matrix import ROUTES, SOCKETS
from tests.api.people_harness import PROXY, PeopleHarness, caller, through_proxy

CLOSED = {route: row for route, row in ROUTES.items() if row.expected()["stranger"] == 401}
CLOSED.pop("POST /danlu/v1/login")
CLOSED.pop("POST /danlu/v1/session")
NO_GUESSES = 10
"""So many wrong tokens from one address are told plainly, before it is asked to wait."""


@pytest.fixture
def target(harness: Harness) -> Job:
    harness.http.put("/secrets/mine", json={"value": "x"})
    return harness.submit(name="target", command="true", held=True)


@pytest.fixture(
    params=["none", "empty", "wrong", "basic", "hash", "strange", "expired", "revoked", "disabled"]
)
def credential(
    request: pytest.FixtureRequest, harness: Harness, people_harness: PeopleHarness
) -> dict[str, str] | None:
    """The header of somebody who is not let in; None: no header at all."""
    token = harness.server.token
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
            late = people_harness.session(people_harness.admin, expired=True)
            return {"Authorization": f"Bearer {late.token}"}
        case "disabled":
            person = people_harness.person()
            people_harness.admin.do("PATCH", f"/users/{person.name}", {"role": "admin"})
            people_harness.admin.do("POST", f"/users/{person.name}/disable")
            return {"Authorization": f"Bearer {person.token}"}
        case _:
            gone = people_harness.session(people_harness.admin)
            gone.do("POST", "/logout")
            return {"Authorization": f"Bearer {gone.token}"}


def test_nobody_gets_past_the_door(
    harness: Harness, target: Job, credential: dict[str, str] | None
) -> None:
    rows = list(CLOSED.items())
    for start in range(0, len(rows), NO_GUESSES):
        with caller(harness.server, None) as http:
            for route, row in rows[start : start + NO_GUESSES]:
                method, path = route.split(" ")
                path = path.replace("{ref}", target["id"]).replace("{name}", "mine")
                url = f"{harness.server.url}{path}?{row.query}"
                answer = http.request(method, url, json=row.body, headers=credential)
                _told_to_sign_in(answer, route)
    assert harness.kinds(target) == ["submitted"], "nothing was done"
    assert harness.get("/secrets")["names"] == ["mine"]


def _told_to_sign_in(answer: httpx.Response, route: str) -> None:
    assert answer.status_code == 401, route
    error = answer.json()["error"]
    assert error["code"] == "not_signed_in"
    assert "danlu login" in error["message_en"]
    assert "danlu login" in error["message_zh"]
    assert answer.headers["www-authenticate"] == "Bearer"


def test_nobody_gets_past_the_door_of_a_socket(
    harness: Harness, credential: dict[str, str] | None
) -> None:
    job = harness.until(harness.submit(command="sleep 1000", stdin="pipe"), "running")
    for path, row in SOCKETS.items():
        url = harness.server.url.replace("http", "ws", 1) + path.replace("{ref}", job["id"])
        with (
            connect(
                f"{url}?{row.query}",
                additional_headers=through_proxy() | (credential or {}),
                open_timeout=PATIENCE,
                proxy=None,
                source_address=(PROXY, 0),
            ) as socket,
            pytest.raises(ConnectionClosed) as closed,
        ):
            socket.recv(timeout=PATIENCE)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4403, "Not signed in")
