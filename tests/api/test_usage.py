"""GPU time of a group, by member and day."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.api.harness import PATIENCE, Harness
from tests.api.people_harness import PeopleHarness
from tests.support.server import DanluServer

DAY = 86_400


@pytest.fixture
def harness(server: DanluServer) -> Iterator[Harness]:
    harness = Harness(server)
    yield harness
    harness.clear()
    harness.http.close()


@pytest.fixture
def people(harness: Harness) -> Iterator[PeopleHarness]:
    people = PeopleHarness(harness)
    yield people
    people.close()


def backdate(server: DanluServer, job: dict[str, Any], started: float, ended: float) -> None:
    """A job that ran for hours, without waiting for hours."""
    path = server.data / "danlu.db"
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as db, db:
        db.execute(
            "UPDATE attempts SET started_at = ?, ended_at = ? WHERE job_id = ?",
            (started, ended, job["id"]),
        )


def test_gpu_time_is_split_at_midnight_and_added_up(
    server: DanluServer, harness: Harness, people: PeopleHarness
) -> None:
    group = people.group()
    alice, leader = people.person(group), people.person(leads=group)
    job = harness.wait(alice.submit(command="true", gpus=1, held=False, group=group))
    midnight = time.time() // DAY * DAY
    backdate(server, job, midnight - 2 * 3600, midnight - 1800)
    harness.wait(alice.submit(command="true", held=False, group=group))

    found = leader.get(f"/groups/{group}/usage", days=2)
    assert found["since"] == midnight - DAY
    assert found["whole"]
    (member,) = found["members"]
    assert member["user"] == alice.name
    assert member["jobs"] == 2
    assert member["days"] == [5400, 0]
    assert found["gpu_seconds"] == 5400

    # Half an hour before midnight in Greenwich, the next day has begun an hour further east.
    east = leader.get(f"/groups/{group}/usage", days=3, zone=3600)
    assert [seconds for seconds in east["members"][0]["days"] if seconds] == [3600, 1800]


def test_jobs_of_other_groups_do_not_count(harness: Harness, people: PeopleHarness) -> None:
    group, other = people.group(), people.group()
    alice, leader = people.person(group, other), people.person(leads=group)
    harness.wait(alice.submit(command="true", gpus=1, held=False, group=other))
    assert leader.get(f"/groups/{group}/usage")["members"] == []
    leader.do("GET", f"/groups/{other}/usage", expect=404)
    alice.do("GET", f"/groups/{group}/usage", expect=403)
    leader.do("GET", f"/groups/{group}/usage?days=367", expect=422)


def test_a_drained_node_says_why(harness: Harness, people: PeopleHarness) -> None:
    try:
        (node,) = people.admin.do("POST", "/nodes/n1/drain", {"reason": " new power supply "})[
            "nodes"
        ]
        assert (node["drained"], node["drain_reason"]) == (True, "new power supply")
        alice = people.person()
        seen = next(one for one in alice.get("/nodes")["nodes"] if one["name"] == "n1")
        assert seen["drain_reason"] == "new power supply"
        assert people.acts(act="node.drained")[-1]["data"] == {"reason": "new power supply"}
        (node,) = people.admin.do("POST", "/nodes/n1/drain")["nodes"]
        assert node["drain_reason"] == "new power supply"
        people.admin.do("POST", "/nodes/n1/drain", {"reason": "x" * 201}, expect=422)
    finally:
        (node,) = people.admin.do("POST", "/nodes/n1/resume")["nodes"]
    assert (node["drained"], node["drain_reason"]) == (False, "")
