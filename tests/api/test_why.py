"""You always know why: what a waiting job waits for, and how an ended one ended."""

from __future__ import annotations

from typing import Any

from tests.api.harness import Harness


def _kinds(why: dict[str, Any]) -> list[str]:
    return [cause["kind"] for cause in why["causes"]]


def test_a_job_that_finds_no_room_says_what_it_needs_and_who_holds_it(harness: Harness) -> None:
    a, b = harness.fill()
    job = harness.submit(command="true", gpus=2)
    why = harness.why(job)
    assert why["state"] == "queued"
    assert why["sentence_en"] == "Needs 2 GPUs: every GPU is in use"
    assert why["sentence_zh"] == "需 2 卡：卡全部占用"
    assert _kinds(why) == ["cluster_full"]
    assert why["causes"][0]["basis"] == "verified"
    assert why["position"] == 1
    nodes = {node["node"]: node for node in why["nodes"]}
    assert nodes["n1"]["holders"] == [a["ref"]] or nodes["n1"]["holders"] == [b["ref"]]
    assert {ref for node in nodes.values() for ref in node["holders"]} == {a["ref"], b["ref"]}
    for node in nodes.values():
        assert (node["free"], node["need"], node["fits"]) == (0, 2, False)
        assert "gpus" in node["lacks"]
    # By what ended before there is an estimate; or it is said why there is none.
    assert (why["eta"] is None) == bool(why["eta_why_en"]) == bool(why["eta_why_zh"])


def test_a_job_behind_another_names_it(harness: Harness) -> None:
    harness.fill(gpus=3)
    first = harness.submit(command="true", gpus=2)
    second = harness.submit(command="true", gpus=1)
    why = harness.why(second)
    assert _kinds(why) == ["behind"]
    assert why["sentence_en"] == f"{first['ref']} was submitted earlier and goes first"
    assert why["sentence_zh"] == f"{first['ref']} 先到先得，排在前面"
    assert why["position"] == 2


def test_a_held_job_says_so_and_also_what_else_is_missing(harness: Harness) -> None:
    harness.fill()
    why = harness.why(harness.submit(command="true", gpus=1, held=True))
    assert why["sentence_en"] == "Held until it is released"
    assert why["sentence_zh"] == "已挂起，释放后才会开始"
    assert _kinds(why) == ["held", "cluster_full"]


def test_a_job_that_waits_for_others_names_them(harness: Harness) -> None:
    jobs = harness.submit_all(*[{"name": "prep", "command": "true", "held": True}] * 2)
    refs = [f"prep-{job['number']}" for job in jobs]
    why = harness.why(
        harness.submit(command="true", after=[{"job": refs[0], "when": "ended"}, refs[1]])
    )
    assert _kinds(why) == ["dependency"]
    assert why["sentence_en"] == f"Waiting for {jobs[0]['ref']} to end (and 1 more)"
    assert why["sentence_zh"] == f"等待 {jobs[0]['ref']} 结束（另有 1 个）"


def test_an_element_kept_back_by_the_limit_of_its_array_says_so(harness: Harness) -> None:
    jobs = harness.submit_all({"command": "sleep 1000", "array": "0-3%2"})
    for job in jobs[:2]:
        harness.until(job, "running")
    why = harness.why(jobs[3])
    assert _kinds(why) == ["array_limit"]
    assert why["sentence_en"] == "At most 2 elements of its array may be active at once, and 2 are"


def test_a_gang_that_finds_room_for_some_of_its_tasks_waits_for_all(harness: Harness) -> None:
    harness.fill(gpus=3)
    why = harness.why(harness.submit(command="true", gpus=1, count=3))
    assert why["sentence_en"] == (
        "All 3 tasks start together, and there is no room for all of them yet (2 GPUs free)"
    )


def test_what_lacks_may_be_cpus_or_memory(harness: Harness) -> None:
    harness.fill(cpus=20, gpus=0, memory="150G")
    why = harness.why(harness.submit(command="true", cpus=5))
    assert why["sentence_en"] == "Needs 5 CPUs on one node: at most 4 are free on one"
    assert all(node["lacks"] == ["cpus"] for node in why["nodes"])
    harness.clear()
    harness.fill(cpus=20, gpus=0, memory="150G")
    why = harness.why(harness.submit(command="true", cpus=1, memory="60G"))
    assert why["sentence_en"] == "Needs 60 GiB of memory on one node: at most 50 GiB is free on one"


def test_a_fraction_of_a_gpu_waits_for_a_gpu_with_that_much_left(harness: Harness) -> None:
    harness.fill(gpus=3)
    half = [harness.submit(command="sleep 1000", gpus=0.5, cpus=1) for _ in range(4)]
    for job in half:
        harness.until(job, "running")
    gpus = {(task["node"], *task["gpus"]) for job in half for task in harness.show(job)["tasks"]}
    assert len(gpus) == 2, "two halves share one GPU"
    why = harness.why(harness.submit(command="true", gpus=0.5, cpus=1))
    assert why["sentence_en"] == "Needs 0.5 of a GPU: every GPU is in use"


def test_a_running_job_says_that_it_runs(harness: Harness) -> None:
    job = harness.until(harness.submit(command="sleep 1000"), "running")
    why = harness.why(job)
    assert (why["state"], why["sentence_en"], why["sentence_zh"]) == (
        "running",
        "Running",
        "正在运行",
    )


def test_an_ended_job_says_how_it_ended_and_what_to_do(harness: Harness) -> None:
    why = harness.why(harness.run("echo 'boom: it broke' >&2; exit 3"))
    assert why["state"] == "failed"
    assert why["sentence_en"] == "The command exited with status 3"
    assert why["sentence_zh"] == "命令以状态 3 结束"
    assert why["advice_en"]
    assert why["advice_zh"]
    assert why["evidence"] == ["boom: it broke"]


# -- the order of the queue -------------------------------------------------------------------


def test_first_come_first_served_and_higher_priority_first(harness: Harness) -> None:
    holders = harness.fill()
    asked = [(0, "a"), (0, "b"), (5, "c"), (-5, "d"), (5, "e"), (0, "f")]
    jobs = [
        harness.submit(name=name, command="true", gpus=4, priority=priority, cpus=24)
        for priority, name in asked
    ]
    expected = ["c", "e", "a", "b", "f", "d"]
    positions = {job["name"]: harness.why(job)["position"] for job in jobs}
    assert sorted(positions, key=lambda name: positions[name]) == expected
    harness.stop(holders[0], now=True)
    ended = sorted((harness.wait(job) for job in jobs), key=lambda job: float(job["started_at"]))
    assert [job["name"] for job in ended] == expected


def test_nobody_overtakes_a_job_that_waits_for_room(harness: Harness) -> None:
    a, b = harness.fill(gpus=3)
    large = harness.submit(command="true", gpus=4)
    small = harness.submit(command="true", gpus=1)
    harness.run("true", gpus=1, priority=1)
    assert harness.show(small)["state"] == "queued", "one GPU is free, but the large one goes first"
    harness.stop(a, now=True)
    for job in (large, small):
        assert harness.wait(job)["state"] == "succeeded"
    # Placed one after the other; which command is quicker to begin is chance.
    told = [event for job in (large, small) for event in harness.events(job)]
    first, second = (event["seq"] for event in told if event["kind"] == "placed")
    assert first < second
    assert harness.show(b)["state"] == "running"


def test_the_whole_queue_is_listed_behind_its_explained_head(harness: Harness) -> None:
    harness.fill(gpus=3)
    turn = [harness.submit(command="sleep 1000", gpus=3) for _ in range(7)]
    held = harness.submit(command="true", held=True, priority=9)
    head = harness.get("/waiting")
    assert [job["id"] for job in head["jobs"]] == [job["id"] for job in turn[:5]]
    found = harness.get("/waiting", limit=500)
    assert [job["id"] for job in found["jobs"]] == [job["id"] for job in (*turn, held)]
    assert found["waiting"] == 8
    assert [job["place"] for job in found["jobs"]] == [1, 2, 3, 4, 5, 6, 7, None]
    assert [bool(job["cause_en"]) for job in found["jobs"]] == [True] * 5 + [False] * 2 + [True]
    assert found["jobs"][-1]["cause_en"] == "Held until it is released"
    assert harness.http.get("/waiting?limit=501").status_code == 422
