"""A waiting job is changed in place, through the API and `danlu edit`."""

from __future__ import annotations

from typing import Any

from tests.api.harness import Harness, Job
from tests.api.people_harness import PeopleHarness

LONG: dict[str, Any] = {"command": "sleep 1000"}


def edit(harness: Harness, job: Job, **changes: Any) -> Any:
    return harness.http.patch(f"/jobs/{job['id']}", json=changes)


def test_what_why_suggests_is_had_by_its_change(harness: Harness) -> None:
    harness.fill(gpus=3)
    job = harness.submit(gpus=2, **LONG)
    fewer = next(one for one in harness.why(job)["suggestions"] if one["kind"] == "fewer_gpus")
    assert fewer["effect"] == "starts_now"
    assert edit(harness, job, **fewer["change"]).status_code == 200
    assert harness.until(job, "running")["gpus"] == 1
    (event,) = [event for event in harness.events(job) if event["kind"] == "edited"]
    assert event["en"].startswith("Changed by admin: gpus: 2 -> 1, cpus: ")


def test_the_command_line_prints_the_command_and_runs_it(harness: Harness) -> None:
    harness.fill(gpus=3)
    job = harness.submit(gpus=2, **LONG)
    said = harness.server.cli("why", job["ref"]).stdout.decode()
    assert f"    danlu edit {job['ref']} --gpus 1 --cpus " in said
    done = harness.server.cli("edit", job["ref"], "--gpus", "1", "--time", "2h")
    assert done.returncode == 0, done.stderr
    shown = harness.until(job, "running")
    assert (shown["gpus"], harness.show(job)["spec"]["time_limit"]) == (1, "2h")
    nothing = harness.server.cli("edit", job["ref"])
    assert nothing.returncode == 2
    assert b"Nothing to change" in nothing.stderr


def test_a_change_is_checked_like_a_submission(harness: Harness) -> None:
    job = harness.submit(gpus=1, held=True, **LONG)
    for changes, told in (
        ({"gpus": 9}, "needs 9 GPUs on one node"),
        ({"queue": "nowhere"}, "is not a queue here"),
        ({"nodes": {"only": ["n9"]}}, "is not a node here"),
        ({"memory": "much"}, "much"),
        ({"gpus": "1:H100"}, "No H100 here"),
    ):
        answer = edit(harness, job, **changes)
        assert answer.status_code == 422, answer.text
        assert told in answer.text
    assert edit(harness, job, command="rm").status_code == 422
    assert harness.show(job)["gpus"] == 1
    assert "edited" not in harness.kinds(job)


def test_a_job_that_has_started_or_ended_is_not_changed(harness: Harness) -> None:
    running = harness.until(harness.submit(gpus=1, **LONG), "running")
    answer = edit(harness, running, gpus=2)
    assert answer.status_code == 409
    assert "has already started: only waiting jobs can be changed" in answer.text
    ended = harness.run("true")
    answer = edit(harness, ended, cpus=1)
    assert answer.status_code == 409
    assert "danlu clone" in answer.text


def test_an_array_is_changed_as_a_whole_and_an_element_alone(harness: Harness) -> None:
    jobs = harness.submit_all({"command": "true", "array": "0-2", "held": True, "gpus": 2})
    jobs.sort(key=lambda job: job["array_index"])
    ref = jobs[0]["ref"].rpartition(".")[0].replace("/", "~")
    answer = harness.http.patch(f"/jobs/{ref}", json={"gpus": 1})
    assert [job["gpus"] for job in answer.json()["jobs"]] == [1, 1, 1]
    edit(harness, jobs[1], gpus=3)
    assert [harness.show(job)["gpus"] for job in jobs] == [1, 3, 1]


def test_the_command_line_changes_the_priority_of_many(harness: Harness) -> None:
    jobs = [harness.submit(gpus=1, held=True, **LONG) for _ in range(2)]
    done = harness.server.cli("edit", *(job["ref"] for job in jobs), "--priority", "7")
    assert done.returncode == 0, done.stderr
    assert [harness.show(job)["priority"] for job in jobs] == [7, 7]
    assert edit(harness, jobs[0], priority=1001).status_code == 422
    assert harness.show(jobs[0])["priority"] == 7


def test_only_the_owner_and_admins_change_a_priority(harness: Harness) -> None:
    people = PeopleHarness(harness)
    try:
        owner, other = people.person(), people.person()
        job = owner.submit(held=True, priority=2, **LONG)
        path = f"/jobs/{job['id']}"
        other.do("PATCH", path, {"priority": 9}, expect=404)
        assert harness.show(job)["priority"] == 2
        owner.do("PATCH", path, {"priority": 3})
        assert harness.show(job)["priority"] == 3
        assert harness.http.patch(path, json={"priority": 9}).status_code == 200
        assert harness.show(job)["priority"] == 9
    finally:
        people.close()


def test_an_admin_changes_another_s_job_within_the_owner_s_quota(harness: Harness) -> None:
    job = harness.submit(gpus=1, held=True, **LONG)
    harness.http.put("/quotas/user/admin", json={"gpus": 2})
    try:
        answer = edit(harness, job, gpus=3)
        assert answer.status_code == 422
        assert "quota allows 2 GPUs at once" in answer.text
    finally:
        harness.http.delete("/quotas/user/admin")
