"""Environments: kept under a name, started again as jobs like any other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from danlu.spec.ids import uuid7
from tests.api.harness import ENDED, Harness, Job, eventually
from tests.api.people_harness import PeopleHarness, Someone
from tests.support.tools import give, tools_venv

Found = dict[str, Any]


@pytest.fixture
def alice(people_harness: PeopleHarness, harness: Harness) -> Iterator[Someone]:
    give(harness.server.data, tools_venv())
    yield people_harness.person()
    harness.clear()


def create(who: Someone, name: str = "dev", **keys: Any) -> Found:
    made: Found = who.do("POST", "/environments", {"name": name, **keys})["environment"]
    return made


def show(who: Someone, name: str = "dev") -> Found:
    found: Found = who.get(f"/environments/{name}")
    return found


def until(who: Someone, state: str, name: str = "dev") -> Found:
    def there() -> Found | None:
        found = show(who, name)
        return found if found["state"] == state else None

    return eventually(there)


def jobs(who: Someone) -> list[Job]:
    found: list[Job] = who.get("/jobs", owner=who.name, limit=100)["jobs"]
    return found


def refused(who: Someone, method: str, path: str, status: int, body: Any = None) -> Found:
    error: Found = who.do(method, path, body, expect=status)["error"]
    assert error["message_en"]
    assert error["message_zh"]
    return error


def test_an_environment_is_created_runs_and_starts_again(alice: Someone) -> None:
    made = create(alice, gpus=1, time_limit="8h")
    assert made["request"] == {"gpus": 1, "time_limit": "8h"}
    first = until(alice, "running")
    assert (first["job"]["kind"], first["job"]["name"]) == ("environment", "dev")
    assert first["job"]["gpus"] == 1
    assert first["ends_at"] == pytest.approx(first["job"]["started_at"] + 8 * 3600, abs=5)
    alice.do("POST", "/environments/dev/stop")
    stopped = until(alice, "stopped")
    assert stopped["job"]["reason"] == "stopped_by_user"
    alice.do("POST", "/environments/dev/start")
    again = until(alice, "running")
    assert (again["job"]["number"], again["job"]["gpus"]) == (2, 1)
    assert again["id"] == made["id"]


@pytest.mark.parametrize(
    "name", ["", "my-env", "a b", "x" * 28, "环境", "12345", "12_3", "a/b", "a.b", "dev\n"]
)
def test_names_are_letters_digits_and_underscores(alice: Someone, name: str) -> None:
    error = refused(alice, "POST", "/environments", 422, {"name": name})
    assert "at most 27" in error["message_en"]
    assert jobs(alice) == []


def test_the_longest_name_is_one(alice: Someone) -> None:
    name = "A_" + "1" * 25
    create(alice, name, start=False)
    assert show(alice, name)["name"] == name


def test_a_name_is_taken_once(alice: Someone, people_harness: PeopleHarness) -> None:
    create(alice, start=False)
    assert refused(alice, "POST", "/environments", 409, {"name": "dev"})["code"] == "name_taken"
    assert jobs(alice) == []
    create(people_harness.person(), start=False)


def test_the_same_request_sent_twice_creates_one(alice: Someone) -> None:
    order = {"name": "dev", "id": uuid7()}
    first = alice.do("POST", "/environments", order, expect=201)["environment"]
    second = alice.do("POST", "/environments", order, expect=200)["environment"]
    assert first["id"] == second["id"] == order["id"]
    assert len(jobs(alice)) == 1


def test_starting_is_idempotent_however_many_ask_at_once(alice: Someone) -> None:
    create(alice, start=False)
    asking = [
        threading.Thread(target=alice.do, args=("POST", "/environments/dev/start"))
        for _ in range(8)
    ]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    assert len(jobs(alice)) == 1


def test_one_that_is_stopping_starts_after_that(alice: Someone) -> None:
    create(alice, grace="30s", env={"A": "1"})
    until(alice, "running")
    old = show(alice)["job"]
    alice.do("POST", "/environments/dev/stop")
    again = alice.do("POST", "/environments/dev/start")
    assert again["job"]["id"] != old["id"]
    until(alice, "running")
    ended = alice.get(f"/jobs/{old['id']}")
    assert ended["state"] in ENDED
    assert show(alice)["job"]["started_at"] >= ended["ended_at"] - 1


def test_what_cannot_run_is_refused_before_anything_is_kept(alice: Someone) -> None:
    for keys in ({"gpus": 64}, {"queue": "nowhere"}, {"memory": "many"}, {"mounts": ["no:/no"]}):
        error = refused(alice, "POST", "/environments", 422, {"name": "dev", **keys})
        assert error["code"] == "invalid_job"
        assert next(iter(keys)) in error["details"][0]["key"]
    assert alice.get("/environments")["environments"] == []


@pytest.mark.parametrize("key", ["command", "roles", "count", "array", "after", "kind"])
def test_what_is_not_for_one_place_to_work_in_is_refused(alice: Someone, key: str) -> None:
    error = refused(alice, "POST", "/environments", 422, {"name": "dev", key: "x"})
    assert key in error["details"][0]["message_en"]


def test_a_dry_run_tells_the_verdict_and_keeps_nothing(alice: Someone, harness: Harness) -> None:
    body = {"name": "dev", "gpus": 4}
    found = alice.do("POST", "/environments?dry_run=true", body, expect=200)
    assert found["environment"] is None
    assert found["preview"]["why"]["starts_now"]
    assert found["preview"]["spec"]["kind"] == "environment"
    harness.fill()
    found = alice.do("POST", "/environments?dry_run=true", body)
    assert not found["preview"]["why"]["starts_now"]
    assert alice.get("/environments")["environments"] == []


def test_it_waits_in_the_queue_like_every_job(alice: Someone, harness: Harness) -> None:
    harness.fill()
    made = create(alice, gpus=4)
    assert made["state"] == "queued"
    why = alice.get(f"/jobs/{made['job']['id']}/why")
    assert "GPU" in why["sentence_en"]


def test_a_change_of_a_stopped_one_counts_from_its_next_start(alice: Someone) -> None:
    create(alice, gpus=1, start=False)
    changed = alice.do("PATCH", "/environments/dev", {"gpus": 2, "cpus": 3})
    assert (changed["restarted"], changed["environment"]["request"]) == (
        False,
        {"gpus": 2, "cpus": 3},
    )
    alice.do("POST", "/environments/dev/start")
    assert until(alice, "running")["job"]["gpus"] == 2
    refused(alice, "PATCH", "/environments/dev", 422, {"gpus": "many"})


def test_a_waiting_one_is_changed_in_place(alice: Someone, harness: Harness) -> None:
    harness.fill()
    made = create(alice, gpus=4)
    changed = alice.do("PATCH", "/environments/dev", {"gpus": 2})
    assert changed["environment"]["job"]["id"] == made["job"]["id"]
    assert changed["environment"]["job"]["gpus"] == 2
    assert not changed["restarted"]


def test_the_gpus_are_dropped_and_the_rest_is_kept(alice: Someone) -> None:
    create(alice, gpus=1, env={"A": "1"}, time_limit="2h")
    old = until(alice, "running")["job"]
    error = refused(alice, "PATCH", "/environments/dev", 409, {"gpus": 0})
    assert error["code"] == "restart_needed"
    assert "Files in your folders stay" in error["message_en"]
    assert show(alice)["job"]["id"] == old["id"], "nothing was done yet"
    changed = alice.do("PATCH", "/environments/dev", {"gpus": 0, "restart": True})
    assert changed["restarted"]
    new = until(alice, "running")
    assert new["job"]["id"] != old["id"]
    assert new["job"]["gpus"] == 0
    assert new["request"] == {"gpus": 0, "env": {"A": "1"}, "time_limit": "2h"}
    ended = alice.get(f"/jobs/{old['id']}")
    assert ended["reason"] == "stopped_by_user"
    events = [each["kind"] for each in alice.get(f"/jobs/{old['id']}/events")["events"]]
    assert events.count("stop_requested") == 1


def test_a_change_that_changes_nothing_restarts_nothing(alice: Someone) -> None:
    create(alice, gpus=1)
    until(alice, "running")
    changed = alice.do("PATCH", "/environments/dev", {"gpus": 1, "restart": True})
    assert not changed["restarted"]
    assert changed["environment"]["job"]["number"] == 1


def test_neither_do_other_words_for_the_same(alice: Someone) -> None:
    """Somebody without a GPU drops it, and says the memory in other units."""
    create(alice, memory="2G")
    until(alice, "running")
    changed = alice.do("PATCH", "/environments/dev", {"gpus": 0, "memory": "2048M"})
    assert not changed["restarted"]
    assert show(alice)["request"]["gpus"] == 0
    assert until(alice, "running")["job"]["number"] == 1


def test_the_time_is_extended(alice: Someone) -> None:
    create(alice, time_limit="1h")
    before = until(alice, "running")["ends_at"]
    after = alice.do("POST", "/environments/dev/extend", {"by": "2h"})
    assert after["ends_at"] == before + 2 * 3600
    events = alice.get(f"/jobs/{after['job']['id']}/events")["events"]
    assert events[-1]["en"] == f"{alice.name} extended its time limit to 3h"
    usual = alice.do("POST", "/environments/dev/extend")
    assert usual["ends_at"] == after["ends_at"], "it had more left already"
    assert (
        "more than 0"
        in refused(alice, "POST", "/environments/dev/extend", 422, {"by": 0})["message_en"]
    )
    refused(alice, "POST", "/environments/dev/extend", 422, {"by": "soon"})


def test_it_is_not_extended_without_bound(alice: Someone) -> None:
    create(alice, time_limit="1h")
    before = until(alice, "running")["ends_at"]
    said = refused(alice, "POST", "/environments/dev/extend", 422, {"by": "30d"})
    assert "dev may run for at most 30d from now on" in said["message_en"]
    assert "dev 从现在起最多再运行 30d" in said["message_zh"]
    refused(alice, "POST", "/environments/dev/extend", 422, {"by": "900d"})
    assert show(alice)["ends_at"] == before
    # One that is meant to run for longer may have its usual time.
    longer = alice.do("PATCH", "/environments/dev", {"time_limit": "90d"})["environment"]
    refused(alice, "POST", "/environments/dev/extend", 422, {"by": "30d"})
    assert alice.do("POST", "/environments/dev/extend")["ends_at"] >= longer["ends_at"]


def test_what_does_not_run_is_not_extended(alice: Someone) -> None:
    create(alice, start=False)
    error = refused(alice, "POST", "/environments/dev/extend", 409)
    assert error["code"] == "not_running"


def test_deleting_stops_it_and_frees_its_name(alice: Someone, harness: Harness) -> None:
    create(alice)
    job = until(alice, "running")["job"]
    alice.do("DELETE", "/environments/dev")
    refused(alice, "GET", "/environments/dev", 404)
    assert harness.wait(job)["reason"] == "stopped_by_user"
    create(alice, start=False)


def test_anothers_environment_is_like_none(alice: Someone, people_harness: PeopleHarness) -> None:
    bob = people_harness.person()
    create(alice)
    until(alice, "running")
    there = f"/environments/{alice.name}~dev"
    nowhere = f"/environments/{alice.name}~none"
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"gpus": 0, "restart": True}),
        ("DELETE", "", None),
        ("POST", "/start", None),
        ("POST", "/stop", None),
        ("POST", "/extend", None),
    ):
        said = refused(bob, method, there + path, 404, body)["message_en"]
        assert (
            said.replace("dev", "none")
            == refused(bob, method, nowhere + path, 404, body)["message_en"]
        )
    assert bob.get("/environments", all=True)["environments"] == []
    assert show(alice)["state"] == "running"


def test_an_admin_stops_but_does_not_start_anothers(
    alice: Someone, people_harness: PeopleHarness
) -> None:
    create(alice)
    until(alice, "running")
    admin = people_harness.admin
    listed = admin.get("/environments", all=True)["environments"]
    assert (alice.name, "dev") in [(each["owner"], each["name"]) for each in listed]
    admin.do("POST", f"/environments/{alice.name}~dev/stop")
    until(alice, "stopped")
    said = refused(admin, "POST", f"/environments/{alice.name}~dev/start", 403)["message_en"]
    assert said.startswith(f"Only {alice.name} may start")


def test_a_removed_account_leaves_no_environment(
    alice: Someone, people_harness: PeopleHarness
) -> None:
    create(alice, start=False)
    admin = people_harness.admin
    admin.do("POST", f"/users/{alice.name}/disable")
    admin.do("DELETE", f"/users/{alice.name}")
    refused(admin, "GET", f"/environments/{alice.name}~dev", 404)


def test_changes_are_in_the_audit_log(alice: Someone, people_harness: PeopleHarness) -> None:
    create(alice, gpus=1)
    until(alice, "running")
    alice.do("POST", "/environments/dev/extend")
    alice.do("PATCH", "/environments/dev", {"gpus": 0, "restart": True})
    alice.do("POST", "/environments/dev/stop")
    alice.do("POST", "/environments/dev/start")
    alice.do("DELETE", "/environments/dev")
    acts = [line["act"] for line in people_harness.acts(actor=alice.name)]
    assert [act.partition(".")[2] for act in acts if act.startswith("environment.")] == [
        "created",
        "extended",
        "changed",
        "stopped",
        "started",
        "stopped",
        "deleted",
    ]
