"""Jobs that wait for other jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.harness import Harness, Job, wait_for_file


def _ref(job: Job) -> str:
    return f"{job['name']}-{job['number']}"


@pytest.mark.parametrize(
    ("when", "code", "happens"),
    [
        ("succeeded", 0, True),
        ("succeeded", 1, False),
        ("failed", 0, False),
        ("failed", 1, True),
        ("ended", 0, True),
        ("ended", 1, True),
        ("started", 0, True),
        ("started", 1, True),
    ],
)
def test_a_job_starts_when_the_other_ended_as_required_and_never_otherwise(
    harness: Harness, tmp_path: Path, when: str, code: int, happens: bool
) -> None:
    go = tmp_path / "go"
    first = harness.submit(name="first", command=f"{wait_for_file(go)}; exit {code}")
    job = harness.submit(command="true", after=[{"job": _ref(first), "when": when}])
    if when == "started":
        assert harness.wait(job)["state"] == "succeeded", "it does not wait for the end"
        assert harness.show(first)["state"] in ("starting", "running")
        go.touch()
        return
    harness.until(first, "running")
    assert harness.show(job)["state"] == "queued"
    go.touch()
    ended = harness.wait(job)
    if happens:
        assert ended["state"] == "succeeded"
        assert ended["started_at"] >= harness.wait(first)["ended_at"]
    else:
        assert (ended["state"], ended["reason"]) == ("stopped", "dependency_failed")
        assert ended["reason_en"] == f"Not started: {first['ref']} did not end as required"
        assert ended["reason_zh"] == f"未启动：{first['ref']} 没有按要求结束"
        assert ended["started_at"] is None


def test_what_has_ended_before_counts_at_once(harness: Harness) -> None:
    good, bad = harness.run("true", name="good"), harness.run("false", name="bad")
    assert harness.run("true", after=[_ref(good)])["state"] == "succeeded"
    assert harness.run("true", after=[_ref(bad)])["reason"] == "dependency_failed"
    assert harness.run("true", after=[{"job": _ref(bad), "when": "failed"}])["state"] == "succeeded"
    assert (
        harness.run("true", after=[{"job": _ref(bad), "when": "started"}])["state"] == "succeeded"
    )


def test_a_job_stopped_in_the_queue_never_started(harness: Harness) -> None:
    first = harness.submit(name="first", command="true", held=True)
    after_start = harness.submit(command="true", after=[{"job": _ref(first), "when": "started"}])
    after_end = harness.submit(command="true", after=[{"job": _ref(first), "when": "ended"}])
    harness.stop(first)
    assert harness.wait(after_start)["reason"] == "dependency_failed"
    assert harness.wait(after_end)["state"] == "succeeded"


def test_a_chain_that_breaks_ends_all_that_hang_on_it(harness: Harness) -> None:
    jobs = [harness.submit(name="link", command="exit 1", held=True)]
    for _ in range(3):
        jobs.append(harness.submit(name="link", command="true", after=[_ref(jobs[-1])]))
    harness.post(jobs[0], "release")
    assert harness.wait(jobs[0])["state"] == "failed"
    assert [harness.wait(job)["reason"] for job in jobs[1:]] == ["dependency_failed"] * 3


def test_all_of_several_must_hold(harness: Harness) -> None:
    first, second = harness.submit_all(*[{"name": "part", "command": "true", "held": True}] * 2)
    job = harness.submit(command="true", after=[_ref(first), _ref(second)])
    harness.post(first, "release")
    harness.wait(first)
    assert harness.show(job)["state"] == "queued"
    harness.post(second, "release")
    assert harness.wait(job)["state"] == "succeeded"


def test_a_retried_job_counts_only_once_it_is_settled(harness: Harness, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = f"[ -e {mark} ] || {{ touch {mark}; exit 1; }}"
    first = harness.submit(name="flaky", command=command, retries=1, held=True)
    job = harness.submit(command="true", after=[_ref(first)])
    failed = harness.submit(command="true", after=[{"job": _ref(first), "when": "failed"}])
    harness.post(first, "release")
    assert harness.wait(job)["state"] == "succeeded"
    assert harness.wait(failed)["reason"] == "dependency_failed"


def test_a_job_that_fails_at_once_and_is_tried_again_has_started(harness: Harness) -> None:
    first = harness.submit(name="hasty", command="exit 1", retries=100, held=True)
    job = harness.submit(command="true", after=[{"job": _ref(first), "when": "started"}])
    harness.post(first, "release")
    assert harness.wait(job)["state"] == "succeeded"
    assert harness.stop(first, now=True)["ended_at"] > harness.show(job)["started_at"]


def test_waiting_for_an_array_means_all_its_elements(harness: Harness, tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = f"[ $DANLU_ARRAY_INDEX = 0 ] || {{ {wait_for_file(go)}; }}"
    array = harness.submit_all({"name": "all", "command": command, "array": 2})
    job = harness.submit(command="true", after=[_ref(array[0])])
    one = harness.submit(command="true", after=[f"{_ref(array[0])}.0"])
    assert harness.wait(one)["state"] == "succeeded"
    assert harness.show(job)["state"] == "queued"
    go.touch()
    assert harness.wait(job)["state"] == "succeeded"
