"""Passwords, sessions and tokens."""

from __future__ import annotations

import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PASSWORD, PeopleHarness, caller
from tests.support.server import DanluServer


def _one_time_password(server: DanluServer) -> str:
    line = next(line for line in server.log.read_text().splitlines() if "one-time" in line)
    return line.rpartition(" ")[2]


def test_a_name_and_its_password_become_a_token(harness: Harness) -> None:
    body = {"user": "admin", "password": _one_time_password(harness.server)}
    with caller(harness.server, None) as http:
        answer = http.post("/login", json=body)
    assert answer.status_code == 200
    found = answer.json()
    assert (found["user"], found["must_change_password"]) == ("admin", True)
    with caller(harness.server, found["token"]) as http:
        assert http.get("/whoami").json()["user"] == "admin"
    stored = (harness.server.data / "danlu.db").read_bytes()
    stored += (harness.server.data / "danlu.db-wal").read_bytes()
    assert found["token"].encode() not in stored, "only its hash is kept"
    assert body["password"].encode() not in stored


def test_a_one_time_password_opens_nothing_but_the_change_of_it(
    people_harness: PeopleHarness,
) -> None:
    made = people_harness.admin.do("POST", "/users", {"name": people_harness.name()})
    person = people_harness.sign_in(made["name"], made["password"])
    assert person.get("/whoami")["must_change_password"] is True
    for path in ("/jobs", "/gpus", "/tokens", "/secrets"):
        refused = person.do("GET", path, expect=403)["error"]
        assert refused["code"] == "change_password"
        assert "danlu passwd" in refused["message_en"] and "danlu passwd" in refused["message_zh"]
    person.do("POST", "/jobs", {"command": "true"}, expect=403)
    person.do("POST", "/password", {"old": made["password"], "new": PASSWORD})
    assert person.get("/jobs")["jobs"] == []
    assert people_harness.sign_in(made["name"]).get("/whoami")["must_change_password"] is False


def test_the_token_of_the_servers_own_machine_works_whatever_the_password(harness: Harness) -> None:
    me = harness.get("/whoami")
    assert (me["user"], me["role"], me["scope"]) == ("admin", "admin", "all")
    assert harness.http.post("/logout").status_code == 409
    assert harness.get("/jobs", limit=1)["jobs"] is not None


def test_a_changed_password_takes_the_place_of_the_old_one(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    person = people_harness.person()
    change = {"old": PASSWORD, "new": "my own 密码 now"}
    assert person.http.post("/password", json={**change, "old": "wrong"}).status_code == 403
    for weak in ("short", "aaaaaaaaaaaa", person.name):
        assert person.http.post("/password", json={**change, "new": weak}).status_code == 422
    person.do("POST", "/password", change)
    with caller(harness.server, None) as http:
        old = http.post("/login", json={"user": person.name, "password": change["old"]})
        new = http.post("/login", json={"user": person.name, "password": change["new"]})
    assert (old.status_code, new.status_code) == (401, 200)


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(harness: Harness) -> None:
    with caller(harness.server, None) as http:
        answers = [
            http.post("/login", json={"user": user, "password": "wrong"})
            for user in ("admin", "nobody")
        ]
    assert {answer.status_code for answer in answers} == {401}
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["error"]["message_zh"] == "用户名或密码错误"


def test_one_who_is_disabled_is_told_so_only_with_the_right_password(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    person = people_harness.person()
    people_harness.admin.do("POST", f"/users/{person.name}/disable")
    with caller(harness.server, None) as http:
        wrong = http.post("/login", json={"user": person.name, "password": "wrong"})
        right = http.post("/login", json={"user": person.name, "password": PASSWORD})
    assert (wrong.status_code, right.status_code) == (401, 403)
    assert right.json()["error"]["code"] == "disabled"


def test_a_mistake_in_a_sign_in_does_not_repeat_the_password(harness: Harness) -> None:
    with caller(harness.server, None) as http:
        for path, body in (
            ("/login", {"password": "hunter2"}),
            ("/login", {"user": "a", "password": ["hunter2"]}),
            ("/sign-up", {"name": "a", "password": "hunter2"}),
            ("/sign-up", {"name": "a", "password": PASSWORD, "code": ["hunter2"]}),
        ):
            answer = http.post(path, json=body)
            assert answer.status_code == 422
            assert "hunter2" not in answer.text


def test_sessions_are_listed_and_ended(people_harness: PeopleHarness) -> None:
    person = people_harness.person()
    other = people_harness.sign_in(person.name)
    listed = person.get("/sessions")["tokens"]
    assert [each["current"] for each in listed] == [True, False]
    assert all(each["address"].startswith("10.7.") for each in listed)
    assert person.do("DELETE", "/sessions") == {"ended": 1}
    assert other.http.get("/whoami").status_code == 401
    person.do("POST", "/logout")
    assert person.http.get("/whoami").status_code == 401


def test_a_token_for_reading_reads_and_changes_nothing(people_harness: PeopleHarness) -> None:
    person = people_harness.person()
    job = person.submit()
    reader = people_harness.with_token(person, scope="read", label="dashboard")
    assert [each["id"] for each in reader.get("/jobs")["jobs"]] == [job["id"]]
    for method, path in (
        ("POST", "/jobs"),
        ("POST", f"/jobs/{job['id']}/stop"),
        ("PUT", "/secrets/x"),
        ("POST", "/tokens"),
        ("DELETE", "/sessions"),
    ):
        refused = reader.do(method, path, {"value": "x", "command": "true"}, expect=403)["error"]
        assert refused["code"] == "read_only"


def test_a_stolen_token_cannot_make_itself_last(people_harness: PeopleHarness) -> None:
    person = people_harness.person()
    stolen = people_harness.with_token(person, label="stolen", expires_in=3600)
    stolen.do("POST", "/tokens", {"expires_in": 1e8}, expect=403)


def test_a_token_is_shown_once_and_revoked_by_its_owner_only(people_harness: PeopleHarness) -> None:
    person, other = people_harness.person(), people_harness.person()
    made = person.do("POST", "/tokens", {"label": "ci", "expires_in": 86400})
    listed = {each["id"]: each for each in person.get("/tokens")["tokens"]}
    assert made["token"] not in str(listed)
    assert listed[made["id"]]["label"] == "ci"
    assert listed[made["id"]]["expires_at"] == pytest.approx(
        listed[made["id"]]["created_at"] + 86400
    )
    other.do("DELETE", f"/tokens/{made['id']}", expect=404)
    other.do("GET", f"/tokens?user={person.name}", expect=404)
    person.do("DELETE", f"/tokens/{made['id']}")
    person.do("DELETE", f"/tokens/{made['id']}", expect=404)
