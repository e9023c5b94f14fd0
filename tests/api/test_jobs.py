"""Looking at jobs and acting on them: list, show, stop, hold, release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.harness import Harness, wait_for_file
from tests.engines.harness import token
from tests.support.processes import processes_with


def test_the_list_shows_the_newest_first_page_by_page(harness: Harness) -> None:
    jobs = harness.submit_all(*[{"name": "page", "command": "true", "held": True}] * 7)
    seen: list[str] = []
    before: dict[str, str] = {}
    while True:
        page = harness.get("/jobs", name="page", limit=3, **before)
        assert len(page["jobs"]) <= 3
        seen += [job["id"] for job in page["jobs"]]
        if page["next"] is None:
            break
        before = {"before": page["next"]}
    assert seen == [job["id"] for job in reversed(jobs)]


def test_the_list_filters_by_state_name_owner_and_activity(harness: Harness) -> None:
    ended = harness.run("true", name="sieve")
    failed = harness.run("false", name="sieve")
    held = harness.submit(command="true", name="sieve", held=True)

    def found(**query: str) -> list[str]:
        return [job["id"] for job in harness.get("/jobs", name="sieve", **query)["jobs"]]

    assert found() == [held["id"], failed["id"], ended["id"]]
    assert found(state="queued") == [held["id"]]
    assert found(state="failed,succeeded") == [failed["id"], ended["id"]]
    assert found(active="true") == [held["id"]]
    assert found(active="false") == [failed["id"], ended["id"]]
    assert found(owner="admin", state="failed") == [failed["id"]]
    assert found(owner="somebody") == []


def test_a_state_that_does_not_exist_is_told_with_those_that_do(harness: Harness) -> None:
    answer = harness.http.get("/jobs", params={"state": "sleeping"})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert "'sleeping'" in error["message_en"]
    assert "succeeded" in error["message_en"]
    assert "succeeded" in error["message_zh"]


def test_a_job_answers_to_its_id_its_name_and_its_owner_with_name(harness: Harness) -> None:
    job = harness.run("true", name="many-names")
    plain = f"many-names-{job['number']}"
    for ref in (job["id"], job["id"].upper(), plain, f"admin~{plain}"):
        assert harness.get(f"/jobs/{ref}")["id"] == job["id"]


@pytest.mark.parametrize(
    "ref", ["nobody-1", "x", "a%20b-1", "999999999", "nobody~x-1", "%00-1", "-"]
)
def test_what_names_no_job_is_told_so(harness: Harness, ref: str) -> None:
    for path in ("", "/why", "/events", "/spec", "/logs", "/wait"):
        answer = harness.http.get(f"/jobs/{ref}{path}")
        assert answer.status_code == 404
        assert answer.json()["error"]["message_zh"].startswith("没有任务")


def test_a_job_is_shown_with_its_tasks_and_attempts(harness: Harness) -> None:
    job = harness.run("exit 0", gpus=2, count=2, ports=["http"])
    shown = harness.show(job)
    assert shown["state"] == "succeeded"
    assert shown["gpus"] == 4
    assert shown["task_count"] == 2
    assert [task["index"] for task in shown["tasks"]] == [0, 1]
    assert [task["phase"] for task in shown["tasks"]] == ["exited", "exited"]
    assert [task["exit_code"] for task in shown["tasks"]] == [0, 0]
    assert all(len(task["gpus"]) == 2 and task["node"] in ("n1", "n2") for task in shown["tasks"])
    (attempt,) = shown["attempts"]
    assert attempt["number"] == 1
    assert attempt["state"] == "succeeded"
    assert shown["submitted_at"] <= attempt["created_at"] <= attempt["ended_at"]
    assert shown["submitted_at"] <= shown["started_at"] <= shown["ended_at"]


def test_what_happened_to_a_job_is_told_in_order_in_both_languages(harness: Harness) -> None:
    job = harness.run("true")
    events = harness.events(job)
    assert [event["kind"] for event in events] == ["submitted", "placed", "started", "ended"]
    assert events[0]["actor"] == "admin"
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    for event in events:
        assert event["en"]
        assert any("\u4e00" <= char <= "\u9fff" for char in event["zh"])
    later = harness.get(f"/jobs/{job['id']}/events", after=events[1]["seq"])["events"]
    assert later == events[2:]
    assert harness.get(f"/jobs/{job['id']}/events", limit=1)["events"] == events[:1]


def test_gpus_and_nodes_show_who_holds_them(harness: Harness) -> None:
    job = harness.until(harness.submit(command="sleep 1000", gpus="2:A100"), "running")
    gpus = harness.get("/gpus")
    held = [gpu for gpu in gpus["gpus"] if gpu["state"] == "used"]
    assert [(gpu["node"], gpu["job"], gpu["owner"]) for gpu in held] == [
        ("n2", job["ref"], "admin")
    ] * 2
    assert gpus["summary"] == [
        {"model": "A100", "total": 4, "free": 2},
        {"model": "RTX3090", "total": 4, "free": 4},
    ]
    node = next(node for node in harness.get("/nodes")["nodes"] if node["name"] == "n2")
    assert node["cpus_free"] == node["cpus"] - 12
    assert [gpu["state"] for gpu in node["gpus"]].count("used") == 2
    assert harness.get("/server")["tasks_running"] == 1
    harness.stop(job, now=True)
    assert {gpu["state"] for gpu in harness.get("/gpus")["gpus"]} == {"free"}


# -- stopping ---------------------------------------------------------------------------------


def test_a_queued_job_is_stopped_without_ever_starting(harness: Harness) -> None:
    job = harness.submit(command="true", held=True)
    answer = harness.post(job, "stop")
    assert answer["jobs"][0]["state"] == "stopped"
    ended = harness.wait(job)
    assert ended["reason"] == "stopped_by_user"
    assert ended["reason_en"] == "Stopped by admin"
    assert ended["started_at"] is None
    assert ended["exit_code"] is None
    assert harness.kinds(job) == ["submitted", "ended"]


def test_a_running_job_is_asked_first_and_may_clean_up(harness: Harness) -> None:
    job = harness.submit(
        command="trap 'echo saved; exit 7' TERM; echo ready; while :; do sleep 0.1; done",
        grace=100,
    )
    harness.until(job, "running")
    with harness.following(job) as answer:
        stream = answer.iter_bytes()
        assert next(stream) == b"ready\n"
        harness.post(job, "stop")
        assert b"".join(stream).endswith(b"saved\n"), "its last words are in the log"
    ended = harness.wait(job)
    assert (ended["state"], ended["reason"]) == ("stopped", "stopped_by_user")
    assert ended["exit_code"] == 7
    assert "stop_requested" in harness.kinds(job)


def test_a_job_that_does_not_listen_is_ended_with_all_its_processes(harness: Harness) -> None:
    name = token()
    command = f"trap '' TERM; sleep {name} & echo up; while :; do sleep {name}; done"
    job = harness.submit(command=command, grace="1s")
    harness.until(job, "running")
    with harness.following(job) as answer:
        next(answer.iter_bytes())
    ended = harness.stop(job)
    assert (ended["state"], ended["exit_code"]) == ("stopped", 137)
    assert processes_with(name) == []


def test_a_second_stop_may_be_less_patient(harness: Harness) -> None:
    job = harness.submit(command="trap '' TERM; echo up; while :; do sleep 0.1; done", grace=3000)
    harness.until(job, "running")
    with harness.following(job) as answer:
        next(answer.iter_bytes())
    assert harness.post(job, "stop")["jobs"][0]["state"] == "stopping"
    ended = harness.stop(job, now=True)
    assert ended["state"] == "stopped"
    assert ended["reason_en"] == "Stopped by admin"


def test_stopping_an_array_stops_every_element(harness: Harness) -> None:
    jobs = harness.submit_all({"name": "swarm", "command": "sleep 1000", "array": "0-5%2"})
    for job in jobs[:2]:
        harness.until(job, "running")
    answer = harness.http.post(f"/jobs/swarm-{jobs[0]['number']}/stop", json={"now": True})
    assert len(answer.json()["jobs"]) == 6
    assert {harness.wait(job)["state"] for job in jobs} == {"stopped"}


def test_stopping_one_element_leaves_the_others(harness: Harness) -> None:
    jobs = harness.submit_all({"name": "solo", "command": "true", "array": "4,8", "held": True})
    number = jobs[0]["number"]
    answer = harness.http.post(f"/jobs/solo-{number}.8/stop")
    assert [job["array_index"] for job in answer.json()["jobs"]] == [8]
    assert harness.show(jobs[0])["state"] == "queued"
    assert harness.show(jobs[1])["state"] == "stopped"


def test_stopping_what_has_ended_changes_nothing(harness: Harness) -> None:
    job = harness.run("exit 3")
    answer = harness.post(job, "stop")
    assert answer["jobs"][0]["state"] == "failed"
    after = harness.show(job)
    assert (after["reason"], after["exit_code"]) == ("exit_code", 3)
    assert harness.kinds(job)[-1] == "ended"
    told = harness.get("/audit", act="job.stopped", thing=job["ref"])["lines"]
    assert told == [], "nobody stopped it"


def test_a_job_that_fails_and_is_tried_again_and_again_can_be_stopped(harness: Harness) -> None:
    jobs = harness.submit_all(*[{"command": "exit 1", "retries": 100}] * 6)
    for job in jobs:
        assert harness.post(job, "stop", {"now": True})["jobs"]
    for job in jobs:
        ended = harness.wait(job)
        assert ended["state"] in ("stopped", "failed")
        assert ended["attempt"] <= 100, "it was not tried to the end of its budget"


# -- holding ----------------------------------------------------------------------------------


def test_a_held_job_waits_until_it_is_released(harness: Harness) -> None:
    held = harness.submit(command="true", held=True)
    other = harness.run("true")
    assert other["seq"] > held["seq"], "a held job stands in nobody's way"
    assert harness.show(held)["state"] == "queued"
    assert harness.show(held)["held"] is True
    harness.post(held, "release")
    assert harness.wait(held)["state"] == "succeeded"
    assert harness.kinds(held)[:2] == ["submitted", "released"]


def test_a_waiting_job_can_be_held_and_released(harness: Harness, tmp_path: Path) -> None:
    go = tmp_path / "go"
    first = harness.submit(command=wait_for_file(go), name="first")
    job = harness.submit(command="true", after=[f"first-{first['number']}"])
    harness.post(job, "hold")
    go.touch()
    harness.wait(first)
    assert harness.why(job)["causes"][0]["kind"] == "held"
    harness.post(job, "release")
    assert harness.wait(job)["state"] == "succeeded"
    assert harness.kinds(job)[:3] == ["submitted", "held", "released"]


@pytest.mark.parametrize("action", ["hold", "release"])
def test_only_what_waits_can_be_held_or_released(harness: Harness, action: str) -> None:
    running = harness.until(harness.submit(command="sleep 1000"), "running")
    ended = harness.run("true")
    for job in (running, ended):
        answer = harness.http.post(f"/jobs/{job['id']}/{action}")
        assert answer.status_code == 409
        assert "is not waiting in the queue" in answer.json()["error"]["message_en"]
        assert "不在队列中" in answer.json()["error"]["message_zh"]
