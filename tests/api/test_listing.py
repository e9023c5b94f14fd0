"""Lists of jobs over the API and the command line: filters, orders, pages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from danlu.sdk.client import Client
from tests.api.harness import Harness, Job
from tests.api.people_harness import PeopleHarness


@pytest.fixture
def danlu(harness: Harness) -> Iterator[Client]:
    with Client(harness.server.url, harness.server.token) as client:
        yield client


@pytest.fixture
def listed(harness: Harness) -> list[Job]:
    """Five jobs that wait, of one name apart from the others."""
    harness.submit_all(*({"command": "true", "name": "other", "held": True} for _ in range(2)))
    jobs = [
        {"command": f"echo listed {i}", "name": "listed", "priority": i % 3, "held": True}
        for i in range(5)
    ]
    return harness.submit_all(*jobs)


def numbers(page: Any) -> list[int]:
    return [job["number"] for job in page["jobs"]]


def test_filters_and_orders_are_those_asked_for(harness: Harness, listed: list[Job]) -> None:
    last = listed[-1]["number"]
    first = listed[0]["number"]
    assert numbers(harness.get("/jobs", name="listed", limit=2)) == [last, last - 1]
    assert numbers(harness.get("/jobs", name="listed", sort="submitted", active="true")) == [
        *range(first, last + 1)
    ]
    by_priority = harness.get("/jobs", name="listed", sort="-priority", active="true")["jobs"]
    assert [job["priority"] for job in by_priority] == [2, 1, 1, 0, 0]
    assert numbers(harness.get("/jobs", text="LISTED 3", active="true")) == [first + 3]
    assert numbers(harness.get("/jobs", name="listed", kind="service")) == []
    assert numbers(harness.get("/jobs", name="listed", queue="default", active="true"))
    assert numbers(harness.get("/jobs", name="listed", since=time.time() + 3600)) == []
    assert numbers(harness.get("/jobs", name="listed", until=listed[0]["submitted_at"])) == []
    assert numbers(harness.get("/jobs", name="listed", owner="nobody")) == []


@pytest.mark.parametrize("sort", ["-submitted", "name", "-started", "state", "-priority"])
def test_pages_go_on_behind_the_last_while_jobs_arrive(
    harness: Harness, danlu: Client, listed: list[Job], sort: str
) -> None:
    seen = []
    for job in danlu.iter_jobs(sort=sort, limit=2, active=True):
        seen.append(job["id"])
        if len(seen) < 4:
            harness.submit(command="true", name="listed", held=True)
    assert len(seen) == len(set(seen))
    assert {job["id"] for job in listed} <= set(seen)


@pytest.mark.parametrize(
    "query",
    [
        "sort=colour",
        "sort=--name",
        "before=xyz",
        "before=WyJuYW1lIiwieCIsMV0",  # of a page by name, but this one is by number
        "sort=name&before=12",
        "sort=name&before=W10",
        "state=sleeping",
        "limit=0",
        "limit=1001",
        "since=yesterday",
        "text=%00",
    ],
)
def test_wrong_questions_are_refused(harness: Harness, query: str) -> None:
    answer = harness.http.get(f"/jobs?{query}")
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid_request"


def test_a_person_lists_their_own_jobs_and_a_leader_the_groups(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    group = people_harness.group()
    member, leader, other = (
        people_harness.person(group),
        people_harness.person(leads=group),
        people_harness.person(),
    )
    mine = member.submit(name="mine", group=group)
    theirs = other.submit(name="theirs")

    def refs(who: Any, **query: Any) -> list[str]:
        return [job["ref"] for job in who.get("/jobs", **query)["jobs"]]

    assert refs(member) == [mine["ref"]]
    assert refs(leader) == [mine["ref"]]
    assert refs(leader, group=group, sort="name") == [mine["ref"]]
    assert refs(other) == [theirs["ref"]]
    assert refs(member, owner=other.name) == []
    assert refs(member, text="theirs") == []


def test_the_command_line_takes_the_same_filters(harness: Harness, listed: list[Job]) -> None:
    def shown(*words: str) -> list[str]:
        done = harness.server.cli("jobs", "--quiet", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode().split()

    refs = [job["ref"] for job in listed]
    assert shown("--name", "listed", "--sort", "submitted") == refs
    assert shown("--text", "listed 3") == [refs[3]]
    assert shown("--name", "listed", "--since", "1h", "--kind", "train") == refs[::-1]
    assert shown("--name", "listed", "--until", "2020-01-01") == []
    wrong = harness.server.cli("jobs", "--since", "soon")
    assert (wrong.returncode, b"not a time" in wrong.stderr) == (2, True)


def test_an_array_is_one_entry_with_true_counts_however_short_the_page(harness: Harness) -> None:
    name = "folded"
    before = harness.submit(command="true", name=name, held=True)
    harness.submit_all({"command": "true", "name": name, "array": "0-119", "held": True})
    after = harness.submit(command="true", name=name, held=True)
    pages, cursor = [], None
    while not pages or cursor is not None:
        more = {} if cursor is None else {"before": cursor}
        page = harness.get("/jobs", name=name, fold=True, counts=True, limit=1, **more)
        pages.append(page)
        cursor = page["next"]
    jobs = [page["jobs"][0] for page in pages]
    assert [job["elements"] for job in jobs] == [None, {"queued": 120}, None]
    assert [jobs[0]["id"], jobs[2]["id"]] == [after["id"], before["id"]]
    assert [page["counts"] for page in pages] == [{"queued": 122}] * 3
    array = {"owner": jobs[1]["owner"], "name": name, "number": jobs[1]["number"]}
    elements = harness.get("/jobs", **array, limit=200)["jobs"]
    assert len(elements) == 120
    harness.http.post(f"/jobs/{elements[-1]['id']}/stop")
    harness.wait(elements[-1])
    (stopped,) = harness.get("/jobs", name=name, fold=True, state="stopped")["jobs"]
    assert stopped["id"] == elements[-1]["id"]
    assert stopped["elements"] == {"queued": 119, "stopped": 1}
    answer = harness.http.get("/jobs?fold=true&sort=name")
    assert answer.status_code == 422
    assert "leave out `sort`" in answer.text
