"""A member of one company's team who wants to know what the other team works on."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from danlu.server.settings import Reader
from danlu.server.values import ConfigError
from danlu.services.names import HIDDEN
from tests.api.harness import Harness
from tests.api.people_harness import PeopleHarness, Someone
from tests.security.conftest import ServerMaker

CONFIG = """
[server]
circle_of_trust = true
names = "group"

[[nodes]]
name = "n1"
cpus = 8
memory = "32G"
gpus = "1:A100"
"""
SECRET = "merger-with-acme"


@pytest.fixture(scope="module")
def discreet(make_server: ServerMaker) -> Iterator[PeopleHarness]:
    people = PeopleHarness(Harness(make_server("discreet", CONFIG)))
    yield people
    people.close()


def _looks(person: Someone, waiting: str) -> dict[str, str]:
    """All that tells of other people's jobs."""
    dry = person.http.post("/jobs?dry_run=true", json={"command": "true", "gpus": 1})
    assert dry.status_code == 200, dry.text
    paths = ("/gpus", "/nodes", "/waiting", f"/jobs/{waiting}/why")
    found = {path: json.dumps(person.get(path)) for path in paths}
    found["whole queue"] = json.dumps(person.get("/waiting", limit=500))
    return {**found, "dry run": dry.text}


def test_from_what_jobs_are_called(discreet: PeopleHarness) -> None:
    ours, theirs = discreet.group(), discreet.group()
    spy, peer, victim = (
        discreet.person(ours),
        discreet.person(theirs),
        discreet.person(theirs),
    )
    job = {"command": "sleep 1000", "gpus": 1, "held": False}
    held = victim.submit(name=SECRET, **job)
    discreet.harness.until(held, "running")
    for number in range(6):  # more than are explained, and one that is held
        victim.submit(name=f"{SECRET}-next", **{**job, "held": number == 5})
    waits = {person.name: person.submit(name="mine", **job)["id"] for person in (spy, peer)}
    for where, text in _looks(spy, waits[spy.name]).items():
        assert SECRET not in text and victim.name not in text, (where, text)
        assert HIDDEN in text, (where, text)
    for person in (peer, discreet.admin):
        for where, text in _looks(person, waits[peer.name]).items():
            assert SECRET in text, (person.name, where)
    queue = spy.get("/waiting", limit=500)["jobs"]
    mine = [each["ref"] for each in queue if each["owner"] == spy.name]
    assert [ref.partition("/")[2] for ref in mine] == ["mine-1"]


PREEMPTING = (
    CONFIG
    + """
[queues.default]
preempt = "lower-priority"
"""
)


def test_from_what_took_their_place(make_server: ServerMaker) -> None:
    """The job that was ended told for which one, by its name."""
    people = PeopleHarness(Harness(make_server("pushy", PREEMPTING)))
    ours, theirs = people.group(), people.group()
    spy, victim = people.person(ours), people.person(theirs)
    job = {"command": "sleep 1000", "gpus": 1, "held": False}
    mine = spy.submit(name="mine", preemptible=True, priority=0, **job)
    people.harness.until(mine, "running")
    people.harness.until(victim.submit(name=SECRET, priority=10, **job), "running")
    with spy.http.stream("GET", "/stream?after=0&beat=1") as stream:
        seen = []
        for line in stream.iter_lines():
            seen.append(line)
            if "requeued" in line or len(seen) > 500:
                break
        seen.append(next(stream.iter_lines(), "") if "data" not in seen[-1] else "")
    paths = ["", "/events", "/why", "/wait?timeout=0"]
    told = {path: spy.http.get(f"/jobs/{mine['id']}{path}").text for path in paths}
    told |= {"list": spy.http.get("/jobs").text, "stream": "\n".join(seen)}
    for where, text in told.items():
        assert SECRET not in text and victim.name not in text, (where, text)
    for where in ("", "/events", "/why", "list", "stream"):
        assert HIDDEN in told[where], (where, told[where])
    for path in ("", "/events", "/why"):
        assert SECRET in people.admin.http.get(f"/jobs/{mine['id']}{path}").text, path
    people.close()


def test_the_setting_is_checked() -> None:
    assert Reader("danlu.toml").config({}).names == "all"
    with pytest.raises(ConfigError) as refused:
        Reader("danlu.toml").config({"server": {"names": "nobody"}})
    assert '"all", "group"' in refused.value.message.en


def test_a_stolen_token_does_not_shut_its_owner_out(people_harness: PeopleHarness) -> None:
    person = people_harness.person()
    thief = people_harness.with_token(person, label="ci")
    sessions = person.get("/sessions")["tokens"]
    thief.do("DELETE", "/sessions", expect=403)
    for session in sessions:
        thief.do("DELETE", f"/tokens/{session['id']}", expect=403)
    assert person.get("/whoami")["user"] == person.name, "still signed in"
    person.do("DELETE", "/sessions")
    thief.do("POST", "/logout")
    thief.do("GET", "/whoami", expect=401)
