"""Queues, quotas and nodes change while the server runs, and stay so after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.harness import Harness, Job, eventually
from tests.api.people_harness import PeopleHarness
from tests.support.server import DanluServer

CONFIG = """
server.circle_of_trust = true

[[nodes]]
name = "n1"
cpus = 8
memory = "8G"
gpus = "2:RTX3090"

[[nodes]]
name = "n2"
cpus = 8
memory = "8G"
gpus = "2:A100"

[queues.fixed]
nodes = ["n2"]

[quotas.users.frank]
gpus = 1
"""
LONG: dict[str, Any] = {"command": "sleep 1000", "cpus": 0.1, "memory": "64M"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("rules") / "data", CONFIG)
    server.start()
    yield server
    server.cleanup()


@pytest.fixture
def harness(server: DanluServer) -> Iterator[Harness]:
    harness = Harness(server)
    yield harness
    harness.clear()
    for queue in harness.get("/queues")["queues"]:
        if queue["declared"] == "command":
            harness.http.delete(f"/queues/{queue['name']}")
    for quota in harness.get("/quotas")["quotas"]:
        harness.http.delete(f"/quotas/{quota['of']}/{quota['name']}")


def danlu(harness: Harness, *words: str, code: int = 0) -> str:
    done = harness.server.cli(*words)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return (done.stdout if not code else done.stderr).decode()


def causes(harness: Harness, job: Job) -> list[str]:
    return [cause["kind"] for cause in harness.why(job)["causes"]]


# -- queues ---------------------------------------------------------------------------------------


def test_a_queue_is_made_and_resized_and_what_waits_goes_by_the_new_nodes(harness: Harness) -> None:
    assert "vision" in danlu(harness, "queue", "set", "vision", "--node", "n1", "--order", "fair")
    jobs = [harness.submit(gpus=1, queue="vision", **LONG) for _ in range(3)]
    assert {harness.until(job, "running")["nodes"][0] for job in jobs[:2]} == {"n1"}
    assert causes(harness, jobs[2]) == ["cluster_full"]
    danlu(harness, "queue", "set", "vision", "--node", "n1", "--node", "n2")
    assert harness.until(jobs[2], "running")["nodes"] == ["n2"]
    listed = danlu(harness, "queue", "list")
    assert "n1, n2" in listed
    assert "fair" in listed


def test_a_queue_merged_into_another_takes_its_jobs_along_and_its_name_goes_on(
    harness: Harness,
) -> None:
    danlu(harness, "queue", "set", "small", "--node", "n1")
    danlu(harness, "queue", "set", "large", "--node", "n2")
    held = [harness.submit(gpus=2, queue="small", **LONG) for _ in range(2)]
    harness.until(held[0], "running")
    told = danlu(harness, "queue", "merge", "small", "large")
    assert "small and its 2 jobs are now part of large" in told
    assert harness.until(held[1], "running")["nodes"] == ["n2"]
    assert harness.show(held[1])["queue"] == "large"
    assert "admin merged queue small into large, where it waits now" in [
        event["en"] for event in harness.events(held[1])
    ]
    assert harness.submit(queue="small", **LONG, held=True)["queue"] == "large"
    large = next(q for q in harness.get("/queues")["queues"] if q["name"] == "large")
    assert (large["nodes"], large["merged"]) == (["n1", "n2"], ["small"])
    assert [job["id"] for job in harness.get("/jobs", queue="large", active="true")["jobs"]]


def test_a_queue_with_jobs_is_not_removed_but_one_without_is(harness: Harness) -> None:
    danlu(harness, "queue", "set", "brief")
    job = harness.submit(queue="brief", **LONG)
    harness.until(job, "running")
    assert "merge it into another one first" in danlu(harness, "queue", "remove", "brief", code=5)
    harness.stop(job, now=True)
    danlu(harness, "queue", "remove", "brief")
    assert harness.refusal(queue="brief", **LONG)["key"] == "queue"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("queue", "set", "fixed", "--order", "fair"), 5, "declared in danlu.toml"),
        (("queue", "merge", "fixed", "default"), 5, "declared in danlu.toml"),
        (("queue", "set", "x", "--order", "nobody"), 2, "available: fifo, easy, fair, short-first"),
        (("queue", "set", "x", "--node", "n9"), 2, "available: n1, n2"),
        (("queue", "set", "x", "--max-wait", "long"), 2, "max_wait"),
        (("queue", "set", "x", "--reclaim", "maybe"), 2, "must be yes or no"),
        (("queue", "set", "x", "--node", "n1", "--all-nodes"), 2, "cannot be combined"),
        (("queue", "merge", "nothing", "default"), 3, "There is no queue nothing"),
        (("queue", "remove", "nothing"), 3, "There is no queue nothing"),
        (("queue", "merge", "x"), 2, "Missing argument: INTO"),
        (("quota", "set", "user", "frank", "--gpus", "3"), 5, "declared in danlu.toml"),
        (("quota", "set", "user", "nobody", "--gpus", "3"), 3, "There is no user nobody"),
        (("quota", "set", "user", "admin", "--guaranteed", "3"), 2, "belongs to one group"),
        (("quota", "set", "group", "*", "--guaranteed", "3"), 2, "belongs to one group"),
        (("quota", "set", "user", "admin", "--gpus", "many"), 2, "must be a number"),
        (("quota", "set", "user", "admin", "--model", "A100"), 2, "as A100=2"),
        (("quota", "set", "user", "admin", "--memory", "much"), 2, "memory"),
        (("quota", "set", "user", "admin"), 2, "Nothing to set"),
        (("quota", "set", "people", "admin", "--gpus", "1"), 2, "must be user or group"),
        (("quota", "remove", "user", "admin"), 3, "There is no quota of user admin"),
        (("drain", "n9"), 3, "There is no node n9"),
    ],
)
def test_what_cannot_be_done_is_told(
    harness: Harness, words: tuple[str, ...], code: int, told: str
) -> None:
    assert told in danlu(harness, *words, code=code)


# -- quotas ---------------------------------------------------------------------------------------


def test_a_quota_that_contradicts_itself_is_refused(harness: Harness) -> None:
    harness.http.post("/groups", json={"name": "lab"})
    words = ("quota", "set", "group", "lab")
    told = danlu(harness, *words, "--gpus", "1", "--guaranteed", "2", code=2)
    assert "2 GPUs cannot be guaranteed to a group that may use at most 1" in told
    danlu(harness, *words, "--guaranteed", "2")
    assert "at most 1" in danlu(harness, *words, "--gpus", "1", code=2)


def test_a_quota_the_cluster_cannot_give_now_is_kept_with_a_warning(harness: Harness) -> None:
    harness.http.post("/groups", json={"name": "lab"})
    done = harness.server.cli(
        "quota", "set", "group", "lab", "--guaranteed", "9", "--model", "H100=2"
    )
    assert done.returncode == 0
    told = done.stderr.decode()
    assert "9 GPUs are guaranteed, but the cluster has 4" in told
    assert "No node has a GPU called H100; models here: A100, RTX3090" in told
    (quota,) = [each for each in harness.get("/quotas")["quotas"] if each["name"] == "lab"]
    assert len(quota["warnings"]) == 2


def test_a_quota_holds_at_once_and_says_so_until_it_is_taken_away(harness: Harness) -> None:
    danlu(harness, "quota", "set", "user", "admin", "--gpus", "1")
    jobs = [harness.submit(gpus=1, **LONG) for _ in range(2)]
    harness.until(jobs[0], "running")
    why = harness.why(jobs[1])
    assert causes(harness, jobs[1]) == ["quota_user"]
    assert "1 of 1" in why["sentence_en"]
    assert "1/1" in danlu(harness, "quota", "list")
    danlu(harness, "quota", "set", "user", "admin", "--gpus", "2")
    harness.until(jobs[1], "running")
    danlu(harness, "quota", "remove", "user", "admin")
    harness.until(harness.submit(gpus=1, **LONG), "running")


@pytest.mark.parametrize(
    ("limit", "job"),
    [
        (("--model", "A100=0"), {"gpus": "1:A100"}),
        (("--cpus", "1"), {"cpus": 2}),
        (("--memory", "1G"), {"memory": "2G"}),
    ],
)
def test_quotas_are_of_models_cpus_and_memory_too(
    harness: Harness, limit: tuple[str, ...], job: dict[str, Any]
) -> None:
    danlu(harness, "quota", "set", "user", "*", *limit)
    assert "quota allows" in harness.refusal(**{**LONG, **job})["message_en"]
    danlu(harness, "quota", "set", "user", "*", limit[0], "none")
    harness.until(harness.submit(**{**LONG, **job}), "running")


def test_a_groups_quota_binds_its_members_together_and_only_they_see_it(harness: Harness) -> None:
    people_harness = PeopleHarness(harness)
    group = people_harness.group()
    one, two, other = (
        people_harness.person(group),
        people_harness.person(group),
        people_harness.person(),
    )
    danlu(harness, "quota", "set", "group", group, "--gpus", "1")
    harness.until(one.submit(gpus=1, held=False, **LONG), "running")
    assert causes(harness, two.submit(gpus=1, held=False, **LONG)) == ["quota_group"]
    harness.until(other.submit(gpus=1, held=False, **LONG), "running")
    assert [quota["name"] for quota in two.get("/quotas")["quotas"]] == [group]
    assert two.get("/quotas")["quotas"][0]["used_gpus"] == 1
    assert other.get("/quotas")["quotas"] == []
    acts = [(line["act"], line["thing"]) for line in people_harness.acts(act="quota.set")]
    assert ("quota.set", f"group {group}") in acts
    people_harness.close()


# -- nodes ----------------------------------------------------------------------------------------


def test_a_node_that_is_taken_out_gets_nothing_new_and_what_runs_goes_on(harness: Harness) -> None:
    stays = harness.submit(gpus=1, nodes=["n1"], **LONG)
    harness.until(stays, "running")
    assert "1 of its GPUs is still in use" in danlu(harness, "drain", "n1")
    waits = harness.submit(gpus=1, nodes=["n1"], **LONG)
    assert "node_drained" in causes(harness, waits)
    assert "Drained by an admin: n1" in [cause["en"] for cause in harness.why(waits)["causes"]]
    assert "drained" in danlu(harness, "nodes")
    assert "Drained: n1; GPUs still in use there: 1" in danlu(harness, "cluster")
    totals = harness.get("/cluster")
    assert (totals["drained"], totals["gpus"]["draining"], totals["gpus"]["out"]) == (["n1"], 1, 1)
    assert harness.show(stays)["state"] == "running"
    danlu(harness, "resume", "n1")
    harness.until(waits, "running")


# -- over a restart -------------------------------------------------------------------------------


def test_what_was_set_is_kept_over_a_restart_and_the_file_wins(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data", CONFIG)
    server.start()
    try:
        harness = Harness(server)
        danlu(harness, "queue", "set", "mine", "--node", "n1", "--max-wait", "2d")
        danlu(harness, "queue", "set", "gone", "--node", "n1")
        danlu(harness, "quota", "set", "user", "admin", "--gpus", "3")
        danlu(harness, "drain", "n2")
        first = harness.submit(gpus=2, queue="gone", **LONG)
        harness.until(first, "running")
        waits = harness.submit(gpus=1, queue="gone", **LONG)
        danlu(harness, "queue", "merge", "gone", "mine")
        server.kill()
        server.config.write_text(CONFIG + "[quotas.users.admin]\ngpus = 1\n")
        server.start()
        again = Harness(server)
        mine = next(q for q in again.get("/queues")["queues"] if q["name"] == "mine")
        assert (mine["nodes"], mine["max_wait"], mine["merged"]) == (["n1"], 172800, ["gone"])
        assert (mine["waiting"], mine["running"]) == (1, 1)
        assert again.show(waits)["queue"] == "mine"
        quota = next(q for q in again.get("/quotas")["quotas"] if q["name"] == "admin")
        assert (quota["gpus"], quota["declared"]) == (1, "file")
        assert [node["drained"] for node in again.get("/nodes")["nodes"]] == [False, True]
    finally:
        server.cleanup()


# -- one ledger -----------------------------------------------------------------------------------


def check_sums(harness: Harness) -> None:
    """All that is shown is made of the same sums: nothing is counted twice or left out."""
    cluster = harness.get("/cluster")
    parts = ("free", "reserved", "used", "out")
    lines = [cluster["gpus"], *cluster["models"], *cluster["nodes"]]
    for line in lines:
        assert sum(line[part] for part in parts) == pytest.approx(line["total"])
        assert 0 <= line["idle"] <= line["used"]
    for rows in (cluster["models"], cluster["nodes"]):
        for part in (*parts, "total", "idle"):
            assert sum(row[part] for row in rows) == pytest.approx(cluster["gpus"][part])
    assert 0 <= cluster["lent"] <= cluster["gpus"]["used"]


def test_counts_add_up_and_agree_whatever_starts_and_ends(harness: Harness) -> None:
    submitted: list[Job] = []
    asked = (1, 0.5, 2, "1:A100", 0.25, 2, 1, 0.5)
    for gpus in asked * 2:
        command = "sleep 0.2" if len(submitted) % 2 else "sleep 1000"
        job = {**LONG, "command": command, "gpus": gpus, "time_limit": "1h"}
        submitted.append(harness.submit(**job))
        check_sums(harness)
        if len(submitted) == 6:
            danlu(harness, "drain", "n2")
            check_sums(harness)
    danlu(harness, "resume", "n2")
    for job in submitted:
        harness.http.post(f"/jobs/{job['id']}/stop", json={"now": True})  # or it has ended
        check_sums(harness)
    eventually(lambda: harness.get("/cluster")["gpus"]["used"] == 0 or None)
    quiet = harness.get("/cluster")
    assert (quiet["gpus"]["free"], quiet["running"], quiet["waiting"]) == (4, 0, 0)


def test_room_is_kept_only_while_somebody_waits_for_it(harness: Harness) -> None:
    job = {**LONG, "time_limit": "1h", "nodes": ["n1"]}
    running = harness.until(harness.submit(gpus=1, **job), "running")
    waits = harness.submit(gpus=2, **job)
    late = harness.submit(gpus=1, **{**job, "time_limit": "2h"})
    eventually(lambda: harness.get("/cluster")["gpus"]["reserved"] or None)
    for each in (late, waits):
        harness.stop(each, now=True)
    assert harness.get("/cluster")["gpus"]["reserved"] == 0
    assert harness.get("/cluster")["gpus"]["used"] == 1
    harness.stop(running, now=True)


def test_what_nodes_gpus_and_cluster_show_is_the_same(harness: Harness) -> None:
    jobs = [harness.submit(gpus=count, **LONG) for count in (1, 0.5)]
    for job in jobs:
        harness.until(job, "running")
    cluster, gpus, nodes = (
        harness.get("/cluster"),
        harness.get("/gpus"),
        harness.get("/nodes")["nodes"],
    )
    assert sum(gpu["free"] for gpu in gpus["gpus"]) == cluster["gpus"]["free"] == 2.5
    assert [gpu for node in nodes for gpu in node["gpus"]] == gpus["gpus"]
    assert len(gpus["gpus"]) == cluster["gpus"]["total"] == 4
    text = danlu(harness, "cluster")
    assert "Jobs: 2 running, 0 waiting" in text
    assert json.loads(danlu(harness, "cluster", "--json")) == cluster
    assert "合计" in danlu(harness, "cluster", "--lang", "zh")
