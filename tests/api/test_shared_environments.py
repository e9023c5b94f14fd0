"""Environments shared with others: they enter and look, and are cut off at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.api.harness import PATIENCE, Harness
from tests.api.people_harness import PROXY, PeopleHarness, Someone, through_proxy
from tests.api.test_environments import create, refused, until
from tests.support.tools import give, tools_venv


@pytest.fixture
def alice(people_harness: PeopleHarness, harness: Harness) -> Iterator[Someone]:
    give(harness.server.data, tools_venv())
    yield people_harness.person()
    harness.clear()


@pytest.fixture
def bob(people_harness: PeopleHarness) -> Someone:
    return people_harness.person()


@contextmanager
def inside(harness: Harness, who: Someone, ref: str) -> Iterator[ClientConnection]:
    url = f"{harness.server.url.replace('http', 'ws', 1)}/danlu/v1/jobs/{ref}/exec"
    argv = quote('["sh","-c","echo ready; exec sleep 1000"]')
    with connect(
        f"{url}?argv={argv}",
        additional_headers={**through_proxy(), "Authorization": f"Bearer {who.token}"},
        open_timeout=PATIENCE,
        close_timeout=5,
        proxy=None,
        source_address=(PROXY, 0),
    ) as socket:
        yield socket


def ready(socket: ClientConnection) -> bool:
    seen = b""
    while b"ready" not in seen:
        piece = socket.recv(timeout=PATIENCE)
        seen += piece.encode() if isinstance(piece, str) else piece
    return True


def closed_with(socket: ClientConnection) -> int:
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            socket.recv(timeout=PATIENCE)
    return closed.value.rcvd.code if closed.value.rcvd is not None else 0


def test_names_stand_for_what_runs(alice: Someone, harness: Harness) -> None:
    create(alice)
    job = until(alice, "running")["job"]
    for ref in ("dev", f"{alice.name}~dev", "dev-1"):
        assert alice.get(f"/jobs/{ref}")["id"] == job["id"]
    with inside(harness, alice, "dev") as socket:
        assert ready(socket)
    assert alice.http.get("/jobs/dev/logs").status_code == 200
    alice.do("POST", "/jobs/dev/stop")
    until(alice, "stopped")


def test_what_never_ran_says_how_to_start_it(alice: Someone) -> None:
    create(alice, start=False)
    error = refused(alice, "GET", "/jobs/dev", 409)
    assert "danlu env start dev" in error["message_en"]


def test_the_name_of_a_job_comes_first(alice: Someone) -> None:
    create(alice, "e1")
    job = alice.submit(name="e1", held=True)
    assert alice.get(f"/jobs/e1-{job['number']}")["id"] == job["id"]


def test_those_it_is_shared_with_enter_and_look(
    alice: Someone, bob: Someone, harness: Harness
) -> None:
    create(alice)
    job = until(alice, "running")["job"]
    there = f"{alice.name}~dev"
    refused(bob, "GET", f"/jobs/{there}", 404)
    alice.do("PUT", f"/environments/dev/shares/{bob.name}")
    for ref in (there, job["id"], f"{alice.name}~dev-1", str(job["seq"])):
        assert bob.get(f"/jobs/{ref}")["id"] == job["id"], ref
    assert bob.http.get(f"/jobs/{there}/logs").status_code == 200
    with inside(harness, bob, there) as socket:
        assert ready(socket)
    listed = bob.get("/environments")["environments"]
    assert [(each["owner"], each["name"]) for each in listed] == [(alice.name, "dev")]
    said = refused(bob, "GET", "/jobs/dev", 409)["message_en"]
    assert f"{alice.name}/dev" in said


def test_they_neither_stop_nor_change_nor_delete_nor_share_it(
    alice: Someone, bob: Someone, people_harness: PeopleHarness
) -> None:
    create(alice)
    job = until(alice, "running")["job"]
    alice.do("PUT", f"/environments/dev/shares/{bob.name}")
    there, carol = f"/environments/{alice.name}~dev", people_harness.person()
    for method, path, body in (
        ("POST", f"{there}/stop", None),
        ("POST", f"{there}/start", None),
        ("POST", f"{there}/extend", None),
        ("PATCH", there, {"gpus": 0, "restart": True}),
        ("DELETE", there, None),
        ("PUT", f"{there}/shares/{carol.name}", None),
        ("POST", f"/jobs/{job['id']}/stop", None),
        ("PATCH", f"/jobs/{job['id']}", {"priority": 1}),
    ):
        refused(bob, method, path, 403, body)
    bob.http.get(f"/jobs/{job['id']}/logs", params={"raw": True})
    assert bob.http.get(f"/jobs/{job['id']}/logs", params={"raw": True}).status_code == 403
    assert until(alice, "running")["job"]["id"] == job["id"]


def test_a_token_that_may_only_read_does_not_enter(
    alice: Someone, bob: Someone, harness: Harness, people_harness: PeopleHarness
) -> None:
    create(alice)
    until(alice, "running")
    alice.do("PUT", f"/environments/dev/shares/{bob.name}")
    reader = people_harness.session(bob, "read")
    with inside(harness, reader, f"{alice.name}~dev") as socket:
        assert closed_with(socket) == 4403


def test_who_loses_it_is_cut_off_at_once(alice: Someone, bob: Someone, harness: Harness) -> None:
    create(alice)
    until(alice, "running")
    there = f"{alice.name}~dev"
    alice.do("PUT", f"/environments/dev/shares/{bob.name}")
    with inside(harness, bob, there) as theirs, inside(harness, alice, "dev") as own:
        assert ready(theirs)
        assert ready(own)
        alice.do("DELETE", f"/environments/dev/shares/{bob.name}")
        assert closed_with(theirs) == 4403
        own.ping().wait(PATIENCE)
    refused(bob, "GET", f"/jobs/{there}", 404)
    with inside(harness, bob, there) as socket:
        assert closed_with(socket) == 4404


def test_a_share_lasts_over_a_restart_of_the_environment(
    alice: Someone, bob: Someone, harness: Harness
) -> None:
    create(alice, gpus=1)
    old = until(alice, "running")["job"]
    alice.do("PUT", f"/environments/dev/shares/{bob.name}")
    alice.do("PATCH", "/environments/dev", {"gpus": 0, "restart": True})
    until(alice, "running")
    refused(bob, "GET", f"/jobs/{old['id']}", 404)
    with inside(harness, bob, f"{alice.name}~dev") as socket:
        assert ready(socket)
        alice.do("DELETE", f"/environments/dev/shares/{bob.name}")
        assert closed_with(socket) == 4403


def test_a_log_that_is_followed_ends_with_the_share(alice: Someone, bob: Someone) -> None:
    create(alice)
    job = until(alice, "running")["job"]
    alice.do("PUT", f"/environments/dev/shares/{bob.name}")
    with bob.http.stream("GET", f"/jobs/{job['id']}/logs", params={"follow": "true"}) as answer:
        assert answer.status_code == 200
        alice.do("DELETE", f"/environments/dev/shares/{bob.name}")
        for _ in answer.iter_raw():
            pass
    assert until(alice, "running")["job"]["id"] == job["id"], "the job goes on"


def test_anyone_may_leave(alice: Someone, bob: Someone) -> None:
    create(alice, start=False)
    alice.do("PUT", f"/environments/dev/shares/{bob.name}")
    left = bob.do("DELETE", f"/environments/{alice.name}~dev/shares/{bob.name}")
    assert left["shared"] == []
    assert bob.get("/environments")["environments"] == []


def test_it_is_shared_with_people_who_are_there(alice: Someone) -> None:
    create(alice, start=False)
    refused(alice, "PUT", "/environments/dev/shares/nobody-here", 404)
    refused(alice, "PUT", f"/environments/dev/shares/{alice.name}", 422)
    refused(alice, "DELETE", "/environments/dev/shares/admin", 404)
