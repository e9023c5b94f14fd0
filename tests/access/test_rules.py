"""The rules, for every kind of person and thing there can be."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from danlu.access import rules
from danlu.access.principal import Principal

NAMES = st.sampled_from(["alice", "bob", "carol", "admin"])
GROUPS = st.sampled_from(["vision", "speech", "robots"])
MAYBE_GROUP = st.none() | GROUPS


@st.composite
def people(draw: st.DrawFn) -> Principal:
    groups = draw(st.frozensets(GROUPS))
    leads = frozenset(name for name in groups if draw(st.booleans()))
    return Principal(
        draw(NAMES),
        draw(st.sampled_from(["admin", "member"])),
        "id",
        groups,
        leads,
        draw(st.sampled_from(["all", "read"])),
        kind=draw(st.sampled_from(["session", "personal", "machine"])),
    )


@given(people(), NAMES, MAYBE_GROUP)
def test_one_sees_ones_own_and_what_one_leads_and_an_admin_all(
    who: Principal, owner: str, group: str | None
) -> None:
    sees = rules.sees_job(who, owner, group)
    assert sees == (who.role == "admin" or owner == who.name or group in who.leads)


@given(people(), NAMES, MAYBE_GROUP)
def test_who_may_change_a_job_may_see_it(who: Principal, owner: str, group: str | None) -> None:
    if rules.changes_job(who, owner) or rules.enters_job(who, owner):
        assert rules.sees_job(who, owner, group)


@given(people(), NAMES)
def test_a_token_for_reading_changes_nothing(who: Principal, owner: str) -> None:
    reader = replace(who, scope="read")
    assert not rules.may_change(reader)
    assert not rules.changes_job(reader, owner)
    assert not rules.enters_job(reader, owner)


@given(people(), NAMES)
def test_leading_a_group_lets_one_look_but_not_touch(who: Principal, owner: str) -> None:
    leader = replace(who, role="member")
    if owner != leader.name:
        assert not rules.changes_job(leader, owner)


@given(people(), NAMES, MAYBE_GROUP)
def test_what_the_database_is_asked_for_is_what_the_rule_says(
    who: Principal, owner: str, group: str | None
) -> None:
    sight = rules.sight(who)
    listed = sight is None or owner == sight.owner or group in sight.groups
    assert listed == rules.sees_job(who, owner, group)


@given(people(), GROUPS)
def test_a_job_counts_for_ones_own_groups_only(who: Principal, group: str) -> None:
    assert rules.submits_for(who, group) == (group in who.groups)
    usual = rules.usual_group(who)
    assert usual is None or who.groups == {usual}


@given(people(), NAMES, st.frozensets(GROUPS))
def test_nobody_but_an_admin_reaches_beyond_their_groups(
    who: Principal, name: str, groups: frozenset[str]
) -> None:
    member = replace(who, role="member")
    assert not rules.manages_people(member)
    assert not rules.manages_groups(member)
    assert not rules.runs_server(member)
    assert not rules.reads_audit(member)
    assert not rules.lets_in(member, None)
    if name != member.name:
        assert not rules.sees_tokens(member, name)
        assert not rules.renames_person(member, name)
        assert rules.sees_person(member, name, groups) == bool(member.leads & groups)
    for group in groups:
        assert rules.lets_in(member, group) == (group in member.leads)
        assert not rules.adds_members(member)
        if name != member.name:
            assert rules.takes_out(member, group, name) == (group in member.leads)


@given(people())
def test_a_personal_token_makes_no_others(who: Principal) -> None:
    assert rules.makes_tokens(who) == (who.kind != "personal")
    assert rules.adds_ssh_keys(who) == (who.kind != "personal"), "a key would outlast the token"


@given(people(), st.frozensets(GROUPS), GROUPS, NAMES)
def test_being_in_more_groups_never_takes_a_right_away(
    who: Principal, more: frozenset[str], group: str, owner: str
) -> None:
    grown = replace(who, groups=who.groups | more, leads=who.leads | more)
    assert rules.sees_job(grown, owner, group) >= rules.sees_job(who, owner, group)
    assert rules.sees_group(grown, group) >= rules.sees_group(who, group)
    assert rules.lets_in(grown, group) >= rules.lets_in(who, group)
