"""Accounts and groups: how people come in, what they see, and how they leave."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PASSWORD, PeopleHarness, caller


def _sign_up(harness: Harness, **order: Any) -> Any:
    with caller(harness.server, None) as http:
        return http.post("/sign-up", json={"password": PASSWORD, **order})


# -- coming in --------------------------------------------------------------------------------


def test_an_invitation_opens_the_door_as_often_as_it_says(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    group = people_harness.group()
    invite = people_harness.admin.do("POST", "/invites", {"group": group, "uses": 2})
    # Copied by hand: case and dashes do not matter.
    codes = [invite["code"], f" {invite['code'].upper().replace('-', '')} ", invite["code"]]
    names = [people_harness.name() for _ in codes]
    answers = [_sign_up(harness, name=n, code=c) for n, c in zip(names, codes, strict=True)]
    assert [answer.status_code for answer in answers] == [201, 201, 422]
    assert answers[0].json() == {"user": names[0], "status": "active"}
    assert people_harness.sign_in(names[1]).get("/whoami")["groups"] == [group]
    (kept,) = [
        i for i in people_harness.admin.get("/invites")["invites"] if i["id"] == invite["id"]
    ]
    assert (kept["used"], kept["uses"]) == (2, 2)
    assert invite["code"] not in str(kept)


def test_an_expired_a_revoked_and_a_made_up_invitation_are_told_alike(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    short = people_harness.admin.do("POST", "/invites", {"expires_in": 1})
    gone = people_harness.admin.do("POST", "/invites", {})
    people_harness.admin.do("DELETE", f"/invites/{gone['id']}")
    while people_harness.acts()[-1]["at"] < short["expires_at"]:
        people_harness.admin.do("PUT", "/secrets/clock", {"value": "tick"})
    codes = [short["code"], gone["code"], "aaaa-bbbb-cccc-dddd"]
    answers = [_sign_up(harness, name=people_harness.name(), code=code) for code in codes]
    assert {answer.status_code for answer in answers} == {422}
    assert len({answer.text for answer in answers}) == 1


def test_a_leader_lets_in_who_asks_for_the_group(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    group, other = people_harness.group(), people_harness.group()
    leader, stranger = people_harness.person(leads=group), people_harness.person(leads=other)
    name = people_harness.name()
    asked = _sign_up(harness, name=name, group=group, full_name="李雷", note="new student")
    assert asked.json() == {"user": name, "status": "pending"}
    login = {"user": name, "password": PASSWORD}
    with caller(harness.server, None) as http:
        waits = http.post("/login", json=login)
        assert (waits.status_code, waits.json()["error"]["code"]) == (403, "waiting")
        assert http.post("/login", json={**login, "password": "wrong"}).status_code == 401
    assert stranger.get("/requests")["requests"] == []
    (request,) = leader.get("/requests")["requests"]
    assert (request["name"], request["full_name"]) == (name, "李雷")
    leader.do("POST", f"/requests/{name}/approve")
    assert people_harness.sign_in(name).get("/whoami")["groups"] == [group]
    assert leader.get("/requests")["requests"] == []


def test_a_declined_request_leaves_the_name_free(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    name = people_harness.name()
    assert _sign_up(harness, name=name).status_code == 201
    again = _sign_up(harness, name=name)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "name_taken")
    people_harness.admin.do("POST", f"/requests/{name}/decline")
    assert _sign_up(harness, name=name).status_code == 201
    people_harness.admin.do("POST", f"/requests/{name}/decline")


def test_a_stranger_is_not_told_which_groups_there_are(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    names = [people_harness.name(), people_harness.name()]
    groups = [people_harness.group(), "no-such-group"]
    answers = [_sign_up(harness, name=n, group=g) for n, g in zip(names, groups, strict=True)]
    shown = [a.text.replace(n, "NAME") for a, n in zip(answers, names, strict=True)]
    assert shown[0] == shown[1]
    people_harness.admin.do("POST", f"/requests/{names[1]}/approve")
    assert people_harness.admin.get(f"/users/{names[1]}")["groups"] == []
    people_harness.admin.do("POST", f"/requests/{names[0]}/decline")


@pytest.mark.parametrize(
    "name", ["root", "danlu", "Alice", "a b", "../x", "-a", "a-", "你好", "a" * 33, "me"]
)
def test_a_name_that_would_mean_something_else_is_refused(
    harness: Harness, people_harness: PeopleHarness, name: str
) -> None:
    refused = people_harness.admin.do("POST", "/users", {"name": name}, expect=422)["error"]
    assert "name" in refused["message_en"]
    assert _sign_up(harness, name=name).status_code == 422
    people_harness.admin.do("POST", "/groups", {"name": name}, expect=422)


def test_names_are_never_given_again(harness: Harness, people_harness: PeopleHarness) -> None:
    person, group = people_harness.person(), people_harness.group()
    people_harness.admin.do("DELETE", f"/users/{person.name}")
    people_harness.admin.do("DELETE", f"/groups/{group}")
    people_harness.admin.do("POST", "/users", {"name": person.name}, expect=409)
    people_harness.admin.do("POST", "/groups", {"name": group}, expect=409)
    assert _sign_up(harness, name=person.name).status_code == 409


# -- groups -----------------------------------------------------------------------------------


def test_a_leader_invites_and_removes_but_makes_no_leaders(people_harness: PeopleHarness) -> None:
    group = people_harness.group()
    leader, person = people_harness.person(leads=group), people_harness.person()
    path = f"/groups/{group}/members/{person.name}"
    leader.do("PUT", path, {"leader": True}, expect=403)
    code = leader.do("POST", "/invites", {"group": group, "uses": 2})["code"]
    person.do("POST", "/groups/join", {"code": code})
    assert person.get("/whoami")["groups"] == [group]
    person.do("POST", "/groups/join", {"code": code}, expect=409)
    assert leader.get("/invites")["invites"][0]["used"] == 1, "a refused one is not used up"
    assert leader.get(f"/users/{person.name}")["name"] == person.name
    person.do("DELETE", f"/groups/{group}/members/{leader.name}", expect=403)
    person.do("DELETE", path)
    assert person.get("/whoami")["groups"] == []
    leader.do("GET", f"/users/{person.name}", expect=404)


def test_a_job_counts_for_a_group_of_its_owner_only(people_harness: PeopleHarness) -> None:
    group, other = people_harness.group(), people_harness.group()
    person, loner = people_harness.person(group), people_harness.person()
    assert person.submit()["group"] == group, "the only one"
    assert loner.submit()["group"] is None
    refused = loner.do("POST", "/jobs", {"command": "true", "group": group}, expect=422)
    assert refused["error"]["details"][0]["key"] == "group"
    people_harness.admin.do("PUT", f"/groups/{other}/members/{person.name}")
    refused = person.do("POST", "/jobs", {"command": "true"}, expect=422)
    assert refused["error"]["details"][0]["key"] == "group", "two: it must be said"
    assert person.submit(group=other)["group"] == other


# -- what one sees ----------------------------------------------------------------------------


def test_lists_hold_what_one_may_see_and_pages_stay_whole(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    group = people_harness.group()
    leader, member = people_harness.person(leads=group), people_harness.person(group)
    outsider = people_harness.person()
    mine, others = [], []
    for _ in range(4):
        mine.append(member.submit(name="mine")["ref"])
        others.append(outsider.submit(name="theirs")["ref"])

    def pages(person: Any, **query: Any) -> list[str]:
        refs: list[str] = []
        before: dict[str, Any] = {}
        while True:
            page = person.get("/jobs", limit=2, **query, **before)
            assert len(page["jobs"]) <= 2
            refs += [job["ref"] for job in page["jobs"]]
            if page["next"] is None:
                return refs
            assert len(page["jobs"]) == 2, "only the last page is short"
            before = {"before": page["next"]}

    assert pages(member) == mine[::-1]
    assert pages(leader) == mine[::-1]
    assert pages(outsider) == others[::-1]
    assert pages(outsider, owner=member.name) == []
    assert set(pages(people_harness.admin, active="true")) >= {*mine, *others}


def test_a_reference_means_a_job_one_may_see(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    alice, bob = people_harness.person(), people_harness.person()
    name = people_harness.name("job")
    theirs, mine = alice.submit(name=name), bob.submit(name=name)
    assert bob.get(f"/jobs/{name}-1")["ref"] == mine["ref"]
    bob.do("GET", f"/jobs/{alice.name}~{name}-1", expect=404)
    bob.do("GET", f"/jobs/{theirs['id']}", expect=404)
    waits = {"command": "true", "after": [theirs["ref"]], "held": True}
    refused = bob.do("POST", "/jobs", waits, expect=422)
    assert "is not a job" in refused["error"]["details"][0]["message_en"]
    # An admin sees both, and is not made to guess.
    unclear = people_harness.admin.do("POST", f"/jobs/{name}-1/stop", expect=409)["error"]
    assert unclear["code"] == "ambiguous"
    assert theirs["ref"] in unclear["message_en"] and mine["ref"] in unclear["message_zh"]
    assert harness.show(theirs)["state"] == harness.show(mine)["state"] == "queued"


def test_a_short_name_never_reaches_another_persons_job(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    alice = people_harness.person()
    theirs = alice.submit(name=people_harness.name("job"), held=True)
    short = theirs["ref"].partition("/")[2]
    for method, path in (("POST", f"/jobs/{short}/stop"), ("GET", f"/jobs/{short}")):
        refused = people_harness.admin.do(method, path, expect=409)["error"]
        assert theirs["ref"] in refused["message_en"]
        assert theirs["ref"] in refused["message_zh"]
    assert harness.show(theirs)["state"] == "queued"
    stopped = people_harness.admin.do("POST", f"/jobs/{theirs['ref'].replace('/', '~')}/stop")
    assert [job["ref"] for job in stopped["jobs"]] == [theirs["ref"]]


def test_the_id_of_anothers_job_shows_nothing_of_it(people_harness: PeopleHarness) -> None:
    alice, bob = people_harness.person(), people_harness.person()
    theirs = alice.submit(name="private")
    refused = bob.do("POST", "/jobs", {"command": "true", "id": theirs["id"]}, expect=409)
    assert refused["error"]["code"] == "id_taken"
    assert "private" not in str(refused)
    assert bob.get("/jobs")["jobs"] == []


def test_who_holds_which_gpu_is_for_all_to_see(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    alice, bob = people_harness.person(), people_harness.person()
    job = alice.submit(command="sleep 1000", gpus=1, held=False)
    harness.until(job, "running")
    held = [gpu for gpu in bob.get("/gpus")["gpus"] if gpu["job"]]
    assert [(gpu["owner"], gpu["job"]) for gpu in held] == [(alice.name, job["ref"])]
    bob.do("GET", f"/jobs/{job['id']}/logs", expect=404)
    assert bob.get("/server")["data"] == ""


# -- leaving ----------------------------------------------------------------------------------


def test_an_admin_does_not_shut_the_door_behind_themselves(people_harness: PeopleHarness) -> None:
    for answer in (
        people_harness.admin.do("PATCH", "/users/admin", {"role": "member"}, expect=409),
        people_harness.admin.do("POST", "/users/admin/disable", expect=409),
        people_harness.admin.do("DELETE", "/users/admin", expect=409),
    ):
        assert answer["error"]["code"] == "yourself"


def test_one_with_jobs_that_go_on_is_not_removed(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    person = people_harness.person()
    job = person.submit()
    refused = people_harness.admin.do("DELETE", f"/users/{person.name}", expect=409)["error"]
    assert refused["code"] == "active_jobs"
    assert "--stop-jobs" in refused["message_en"] and "--stop-jobs" in refused["message_zh"]
    harness.stop(job, now=True)
    assert people_harness.admin.do("DELETE", f"/users/{person.name}")["status"] == "removed"
    assert harness.show(job)["owner"] == person.name, "what they did stays on record"


def test_what_somebody_had_is_handed_over(harness: Harness, people_harness: PeopleHarness) -> None:
    giver, taker = people_harness.person(), people_harness.person()
    name = people_harness.name("job")
    taken = taker.submit(name=name, command="true", held=False)
    mark = "echo keep > /userhome/kept; mkdir /userhome/deep; echo log line"
    job = harness.wait(giver.submit(name=name, command=mark, held=False))
    assert job["state"] == "succeeded", job["reason_en"]
    array = [harness.wait(each) for each in _array(giver)]
    path, order = f"/users/{giver.name}/hand-over", {"to": taker.name}
    refused = people_harness.admin.do("POST", path, order, expect=409)["error"]
    assert refused["code"] == "still_active"
    people_harness.admin.do("POST", f"/users/{giver.name}/disable")
    done = people_harness.admin.do("POST", path, order)
    assert done["jobs"] == 1 + len(array)
    mine = taker.get(f"/jobs/{job['id']}")
    assert mine["ref"] == f"{taker.name}/{name}-2", "the first was taken"
    assert {taker.get(f"/jobs/{each['id']}")["number"] for each in array} == {1}
    assert b"log line" in taker.http.get(f"/jobs/{job['id']}/logs").content
    assert taker.get(f"/jobs/{taken['id']}")["ref"] == taken["ref"]
    last = harness.events(job)[-1]
    assert (last["kind"], last["actor"]) == ("handed_over", "admin")
    assert f"{giver.name}/{name}-1" in last["en"]
    (line,) = people_harness.acts(act="user.handed_over", thing=giver.name)
    assert (line["data"]["to"], line["data"]["jobs"]) == (taker.name, 3)
    read = taker.submit(command=f"cat /userhome/from-{giver.name}/kept", held=False)
    assert harness.wait(read)["state"] == "succeeded"
    assert harness.lines(read) == ["keep"]
    if os.geteuid() == 0:
        owner = people_harness.admin.get(f"/users/{taker.name}")["uid"]
        folder = harness.server.data / "home" / taker.name / f"from-{giver.name}"
        found = {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}
        assert found == {owner}


def _array(person: Any) -> list[Any]:
    answer = person.do("POST", "/jobs", {"name": "many", "command": "true", "array": "0-1"})
    jobs: list[Any] = answer["jobs"]
    return jobs


def test_the_audit_log_is_for_admins_and_pages_backwards(people_harness: PeopleHarness) -> None:
    person = people_harness.person()
    for number in range(5):
        person.do("PUT", f"/secrets/s{number}", {"value": "never-shown"})
    first = people_harness.admin.get("/audit", actor=person.name, limit=3)
    rest = people_harness.admin.get("/audit", actor=person.name, limit=3, before=first["next"])
    lines = [*first["lines"], *rest["lines"]]
    assert [line["thing"] for line in lines[:5]] == ["s4", "s3", "s2", "s1", "s0"]
    assert all(line["address"] and line["en"] and line["zh"] for line in lines)
    assert "never-shown" not in str(lines)
    assert people_harness.admin.get("/audit", act="secret.set", thing="s3", actor=person.name)[
        "lines"
    ]


def test_changing_nothing_names_what_can_be_changed(people_harness: PeopleHarness) -> None:
    refused = people_harness.admin.do("PATCH", "/users/admin", {"fullname": "A"}, expect=422)
    assert "full_name, role, uid, gid" in refused["error"]["message_en"]
