"""What an admin takes away is gone at once: tokens, accounts, roles, and what is open with them."""

from __future__ import annotations

import threading

import pytest
from websockets.exceptions import ConnectionClosed

from tests.api.lab import PATIENCE, Lab, eventually
from tests.api.society import PASSWORD, Society, Someone
from tests.api.sockets import dial

ENDS = ["disable", "remove", "password", "revoke"]


def _end(society: Society, person: Someone, way: str) -> None:
    if way == "revoke":
        tokens = society.admin.get("/tokens", user=person.name)["tokens"]
        for token in tokens:
            society.admin.do("DELETE", f"/tokens/{token['id']}")
    elif way == "remove":
        society.admin.do("DELETE", f"/users/{person.name}")
    else:
        society.admin.do("POST", f"/users/{person.name}/{way}")


@pytest.mark.parametrize("way", ENDS)
def test_the_very_next_request_is_refused(society: Society, way: str) -> None:
    person = society.person()
    script = society.with_token(person, label="script")
    for each in (person, script):
        assert each.get("/whoami")["user"] == person.name
    _end(society, person, way)
    for each in (person, script):
        assert each.http.get("/whoami").status_code == 401


@pytest.mark.parametrize("way", ["disable", "password", "revoke"])
def test_an_open_terminal_and_a_followed_log_end(lab: Lab, society: Society, way: str) -> None:
    person = society.person()
    job = person.submit(command="while :; do echo tick; sleep 0.1; done", held=False)
    lab.until(job, "running")
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
    with dial(lab, path, person.token, argv='["sleep", "1000"]') as socket:
        assert following.wait(PATIENCE)
        assert not ended.is_set()
        _end(society, person, way)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4403, "not allowed any more")
    assert ended.wait(PATIENCE)
    assert lab.show(job)["state"] == "running", "the job itself goes on"


def test_a_leader_who_no_longer_leads_sees_nothing_more(lab: Lab, society: Society) -> None:
    group = society.group()
    leader, member = society.person(leads=group), society.person(group)
    job = member.submit(name="seen")
    assert leader.get(f"/jobs/{job['id']}")["ref"] == job["ref"]
    society.admin.do("PUT", f"/groups/{group}/members/{leader.name}", {"leader": False})
    assert leader.http.get(f"/jobs/{job['id']}").status_code == 404
    society.admin.do("DELETE", f"/groups/{group}")
    assert member.get("/whoami")["groups"] == []


def test_an_admin_who_is_none_any_more_may_nothing_more(society: Society) -> None:
    person = society.person()
    society.admin.do("PATCH", f"/users/{person.name}", {"role": "admin"})
    assert person.get("/audit", limit=1)["lines"]
    society.admin.do("PATCH", f"/users/{person.name}", {"role": "member"})
    assert person.http.get("/audit").status_code == 403


def test_a_new_password_ends_the_other_sessions_but_not_this_one(society: Society) -> None:
    person = society.person()
    other, script = society.sign_in(person.name), society.with_token(person, label="script")
    new = "another 密码 of mine"
    person.do("POST", "/password", {"old": PASSWORD, "new": new})
    assert other.http.get("/whoami").status_code == 401
    assert person.get("/whoami")["user"] == person.name
    assert script.get("/whoami")["user"] == person.name, "a personal token has its own end"
    assert society.sign_in(person.name, new).get("/whoami")["user"] == person.name


def test_one_who_is_enabled_again_comes_in_with_the_same_token(society: Society) -> None:
    person = society.person()
    society.admin.do("POST", f"/users/{person.name}/disable")
    assert person.http.get("/whoami").status_code == 401
    society.admin.do("POST", f"/users/{person.name}/enable")
    assert person.get("/whoami")["user"] == person.name


def test_disabling_can_stop_what_runs(lab: Lab, society: Society) -> None:
    person = society.person()
    jobs = [person.submit(command="sleep 1000", held=held) for held in (False, True)]
    lab.until(jobs[0], "running")
    society.admin.do("POST", f"/users/{person.name}/disable", {"stop_jobs": True})
    for job in jobs:
        assert lab.wait(job)["reason"] == "stopped_by_user"
    eventually(lambda: not lab.get("/jobs", owner=person.name, active="true")["jobs"])


def test_a_stream_tells_nothing_more_and_ends(lab: Lab, society: Society) -> None:
    group = society.group()
    leader, member = society.person(leads=group), society.person(group)
    query = {"beat": "0.1", "owner": member.name}
    with leader.http.stream("GET", "/stream", params=query) as answer:
        blocks = answer.iter_lines()
        assert next(blocks).startswith("id")
        first = member.submit(name="told")
        assert any(first["ref"] in line for line in blocks)
        society.admin.do("PUT", f"/groups/{group}/members/{leader.name}", {"leader": False})
        second = member.submit(name="untold")
        lab.stop(second, now=True)
        society.admin.do("POST", f"/users/{leader.name}/disable")
        assert not any(second["ref"] in line for line in blocks), "read to its end"
