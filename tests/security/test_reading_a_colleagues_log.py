"""A group leader who wants to read the jobs of people who never agreed to be in the group."""

from __future__ import annotations

from tests.api.people_harness import PeopleHarness


def test_by_putting_them_into_her_group(people_harness: PeopleHarness) -> None:
    group = people_harness.group()
    leader, victim = people_harness.person(leads=group), people_harness.person()
    for name in (victim.name, "admin", leader.name):
        refused = leader.do("PUT", f"/groups/{group}/members/{name}", {}, expect=403)
        assert "danlu invite create" in refused["error"]["message_en"]
        assert "danlu invite create" in refused["error"]["message_zh"]
    job = victim.submit()
    assert job["group"] is None
    leader.do("GET", f"/jobs/{job['id']}/log", expect=404)
    assert [each["user"] for each in leader.get(f"/groups/{group}")["members"]] == [leader.name]


def test_by_a_code_which_only_the_person_can_redeem(people_harness: PeopleHarness) -> None:
    group = people_harness.group()
    leader, person = people_harness.person(leads=group), people_harness.person()
    code = leader.do("POST", "/invites", {"group": group})["code"]
    reader = people_harness.with_token(person, scope="read")
    reader.do("POST", "/groups/join", {"code": code}, expect=403)
    joined = person.do("POST", "/groups/join", {"code": code})
    assert [each["user"] for each in joined["members"]] == sorted([leader.name, person.name])
    assert not any(each["leader"] for each in joined["members"] if each["user"] == person.name)
    other = people_harness.person()
    other.do("POST", "/groups/join", {"code": code}, expect=422)
    (line,) = people_harness.acts(act="member.joined", thing=group)
    assert (line["actor"], line["data"]["by"]) == (person.name, leader.name)


def test_by_inviting_an_admin(people_harness: PeopleHarness) -> None:
    """An admin who pastes a code would hand every later log to the leader."""
    group = people_harness.group()
    leader = people_harness.person(leads=group)
    code = leader.do("POST", "/invites", {"group": group})["code"]
    people_harness.admin.do("POST", "/groups/join", {"code": code}, expect=403)


def test_a_code_for_signing_up_opens_no_group(people_harness: PeopleHarness) -> None:
    person = people_harness.person()
    code = people_harness.admin.do("POST", "/invites", {})["code"]
    refused = person.do("POST", "/groups/join", {"code": code}, expect=422)
    assert "for signing up" in refused["error"]["message_en"]
