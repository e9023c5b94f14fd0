"""What an admin takes away is gone at once: tokens, accounts, roles, and what is open with them."""

from __future__ import annotations

import threading

import pytest
from websockets.exceptions import ConnectionClosed

from tests.api.harness import PATIENCE, Harness, eventually
from tests.api.people_harness import PASSWORD, PeopleHarness, Someone
from tests.api.sockets import dial

ENDS = ["disable", "remove", "password", "revoke"]


def _end(people_harness: PeopleHarness, person: Someone, way: str) -> None:
    if way == "revoke":
        tokens = people_harness.admin.get("/tokens", user=person.name)["tokens"]
        for token in tokens:
            people_harness.admin.do("DELETE", f"/tokens/{token['id']}")
    elif way == "remove":
        people_harness.admin.do("DELETE", f"/users/{person.name}")
    else:
        people_harness.admin.do("POST", f"/users/{person.name}/{way}")


@pytest.mark.parametrize("way", ENDS)
def test_the_very_next_request_is_refused(people_harness: PeopleHarness, way: str) -> None:
    person = people_harness.person()
    script = people_harness.with_token(person, label="script")
    for each in (person, script):
        assert each.get("/whoami")["user"] == person.name
    _end(people_harness, person, way)
    for each in (person, script):
        assert each.http.get("/whoami").status_code == 401


@pytest.mark.parametrize("way", ["disable", "password", "revoke"])
def test_an_open_terminal_and_a_followed_log_end(
    harness: Harness, people_harness: PeopleHarness, way: str
) -> None:
    person = people_harness.person()
    job = person.submit(command="while :; do echo tick; sleep 0.1; done", held=False)
    harness.until(job, "running")
    ended = threading.Event()

    def follow() -> None:
        url = f"/jobs/{job['id']}/logs"
        with person.http.stream("GET", url, params={"follow": "true"}) as answer:
            for _ in answer.iter_bytes():
                following.set()
        ended.set()

    following = threading.Event()
    threading.Thread(target=follow, daemon=True).start()
    path = f"/jobs/{job['id']}/exec"
    with dial(harness, path, person.token, argv='["sleep", "1000"]') as socket:
        assert following.wait(PATIENCE)
        assert not ended.is_set()
        _end(people_harness, person, way)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4403, "no longer allowed")
    assert ended.wait(PATIENCE)
    assert harness.show(job)["state"] == "running", "the job itself goes on"


def test_a_leader_who_no_longer_leads_sees_nothing_more(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    group = people_harness.group()
    leader, member = people_harness.person(leads=group), people_harness.person(group)
    job = member.submit(name="seen")
    assert leader.get(f"/jobs/{job['id']}")["ref"] == job["ref"]
    people_harness.admin.do("PUT", f"/groups/{group}/members/{leader.name}", {"leader": False})
    assert leader.http.get(f"/jobs/{job['id']}").status_code == 404
    people_harness.admin.do("DELETE", f"/groups/{group}")
    assert member.get("/whoami")["groups"] == []


def test_an_admin_who_is_none_any_more_may_nothing_more(people_harness: PeopleHarness) -> None:
    person = people_harness.person()
    people_harness.admin.do("PATCH", f"/users/{person.name}", {"role": "admin"})
    assert person.get("/audit", limit=1)["lines"]
    people_harness.admin.do("PATCH", f"/users/{person.name}", {"role": "member"})
    assert person.http.get("/audit").status_code == 403


def test_a_new_password_ends_the_other_sessions_but_not_this_one(
    people_harness: PeopleHarness,
) -> None:
    person = people_harness.person()
    other, script = (
        people_harness.sign_in(person.name),
        people_harness.with_token(person, label="script"),
    )
    new = "another 密码 of mine"
    person.do("POST", "/password", {"old": PASSWORD, "new": new})
    assert other.http.get("/whoami").status_code == 401
    assert person.get("/whoami")["user"] == person.name
    assert script.get("/whoami")["user"] == person.name, "a personal token has its own end"
    assert people_harness.sign_in(person.name, new).get("/whoami")["user"] == person.name


def test_one_who_is_enabled_again_comes_in_with_the_same_token(
    people_harness: PeopleHarness,
) -> None:
    person = people_harness.person()
    people_harness.admin.do("POST", f"/users/{person.name}/disable")
    assert person.http.get("/whoami").status_code == 401
    people_harness.admin.do("POST", f"/users/{person.name}/enable")
    assert person.get("/whoami")["user"] == person.name


def test_disabling_can_stop_what_runs(harness: Harness, people_harness: PeopleHarness) -> None:
    person = people_harness.person()
    jobs = [person.submit(command="sleep 1000", held=held) for held in (False, True)]
    harness.until(jobs[0], "running")
    people_harness.admin.do("POST", f"/users/{person.name}/disable", {"stop_jobs": True})
    for job in jobs:
        assert harness.wait(job)["reason"] == "stopped_by_user"
    eventually(lambda: not harness.get("/jobs", owner=person.name, active="true")["jobs"])


def test_a_stream_tells_nothing_more_and_ends(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    group = people_harness.group()
    leader, member = people_harness.person(leads=group), people_harness.person(group)
    query = {"beat": "1", "owner": member.name}
    with leader.http.stream("GET", "/stream", params=query) as answer:
        blocks = answer.iter_lines()
        assert next(blocks).startswith("id")
        first = member.submit(name="told")
        assert any(first["ref"] in line for line in blocks)
        people_harness.admin.do("PUT", f"/groups/{group}/members/{leader.name}", {"leader": False})
        second = member.submit(name="untold")
        harness.stop(second, now=True)
        people_harness.admin.do("POST", f"/users/{leader.name}/disable")
        assert not any(second["ref"] in line for line in blocks), "read to its end"
