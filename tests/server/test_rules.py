"""Queues, quotas and nodes change while the server runs, and stay so after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.lab import Job, Lab, eventually
from tests.api.society import Society
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
def lab(server: DanluServer) -> Iterator[Lab]:
    lab = Lab(server)
    yield lab
    lab.clear()
    for queue in lab.get("/queues")["queues"]:
        if queue["declared"] == "command":
            lab.http.delete(f"/queues/{queue['name']}")
    for quota in lab.get("/quotas")["quotas"]:
        lab.http.delete(f"/quotas/{quota['of']}/{quota['name']}")


def danlu(lab: Lab, *words: str, code: int = 0) -> str:
    done = lab.server.cli(*words)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return (done.stdout if not code else done.stderr).decode()


def causes(lab: Lab, job: Job) -> list[str]:
    return [cause["kind"] for cause in lab.why(job)["causes"]]


# -- queues ---------------------------------------------------------------------------------------


def test_a_queue_is_made_and_resized_and_what_waits_goes_by_the_new_nodes(lab: Lab) -> None:
    assert "vision" in danlu(lab, "queue", "set", "vision", "--node", "n1", "--order", "fair")
    jobs = [lab.submit(gpus=1, queue="vision", **LONG) for _ in range(3)]
    assert {lab.until(job, "running")["nodes"][0] for job in jobs[:2]} == {"n1"}
    assert causes(lab, jobs[2]) == ["cluster_full"]
    danlu(lab, "queue", "set", "vision", "--node", "n1", "--node", "n2")
    assert lab.until(jobs[2], "running")["nodes"] == ["n2"]
    listed = danlu(lab, "queue", "list")
    assert "n1, n2" in listed
    assert "fair" in listed


def test_a_queue_merged_into_another_takes_its_jobs_along_and_its_name_goes_on(lab: Lab) -> None:
    danlu(lab, "queue", "set", "small", "--node", "n1")
    danlu(lab, "queue", "set", "large", "--node", "n2")
    held = [lab.submit(gpus=2, queue="small", **LONG) for _ in range(2)]
    lab.until(held[0], "running")
    told = danlu(lab, "queue", "merge", "small", "large")
    assert "small is part of large now, and so are its 2 jobs" in told
    assert lab.until(held[1], "running")["nodes"] == ["n2"]
    assert lab.show(held[1])["queue"] == "large"
    assert "admin merged queue small into large: it waits there now" in [
        event["en"] for event in lab.events(held[1])
    ]
    assert lab.submit(queue="small", **LONG, held=True)["queue"] == "large"
    large = next(q for q in lab.get("/queues")["queues"] if q["name"] == "large")
    assert (large["nodes"], large["merged"]) == (["n1", "n2"], ["small"])
    assert [job["id"] for job in lab.get("/jobs", queue="large", active="true")["jobs"]]


def test_a_queue_with_jobs_is_not_removed_but_one_without_is(lab: Lab) -> None:
    danlu(lab, "queue", "set", "brief")
    job = lab.submit(queue="brief", **LONG)
    lab.until(job, "running")
    assert "merge it into another one first" in danlu(lab, "queue", "remove", "brief", code=5)
    lab.stop(job, now=True)
    danlu(lab, "queue", "remove", "brief")
    assert lab.refusal(queue="brief", **LONG)["key"] == "queue"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("queue", "set", "fixed", "--order", "fair"), 5, "declared in danlu.toml"),
        (("queue", "merge", "fixed", "default"), 5, "declared in danlu.toml"),
        (("queue", "set", "x", "--order", "nobody"), 2, "there is: fifo, easy, fair, short-first"),
        (("queue", "set", "x", "--node", "n9"), 2, "there is: n1, n2"),
        (("queue", "set", "x", "--max-wait", "long"), 2, "max_wait"),
        (("queue", "set", "x", "--reclaim", "maybe"), 2, "write yes or no"),
        (("queue", "set", "x", "--node", "n1", "--all-nodes"), 2, "exclude each other"),
        (("queue", "merge", "nothing", "default"), 3, "There is no queue nothing"),
        (("queue", "remove", "nothing"), 3, "There is no queue nothing"),
        (("queue", "merge", "x"), 2, "Something is missing"),
        (("quota", "set", "user", "frank", "--gpus", "3"), 5, "declared in danlu.toml"),
        (("quota", "set", "user", "nobody", "--gpus", "3"), 3, "There is no user nobody"),
        (("quota", "set", "user", "admin", "--guaranteed", "3"), 2, "belongs to a group"),
        (("quota", "set", "user", "admin", "--gpus", "many"), 2, "not a number"),
        (("quota", "set", "user", "admin", "--model", "A100"), 2, "as A100=2"),
        (("quota", "set", "user", "admin", "--memory", "much"), 2, "memory"),
        (("quota", "set", "user", "admin"), 2, "Nothing to set"),
        (("quota", "set", "people", "admin", "--gpus", "1"), 2, "write user or group"),
        (("quota", "remove", "user", "admin"), 3, "There is no quota of user admin"),
        (("drain", "n9"), 3, "There is no node n9"),
    ],
)
def test_what_cannot_be_done_is_told(
    lab: Lab, words: tuple[str, ...], code: int, told: str
) -> None:
    assert told in danlu(lab, *words, code=code)


# -- quotas ---------------------------------------------------------------------------------------


def test_a_quota_holds_at_once_and_says_so_until_it_is_taken_away(lab: Lab) -> None:
    danlu(lab, "quota", "set", "user", "admin", "--gpus", "1")
    jobs = [lab.submit(gpus=1, **LONG) for _ in range(2)]
    lab.until(jobs[0], "running")
    why = lab.why(jobs[1])
    assert causes(lab, jobs[1]) == ["quota_user"]
    assert "1 of 1" in why["sentence_en"]
    assert "1/1" in danlu(lab, "quota", "list")
    danlu(lab, "quota", "set", "user", "admin", "--gpus", "2")
    lab.until(jobs[1], "running")
    danlu(lab, "quota", "remove", "user", "admin")
    lab.until(lab.submit(gpus=1, **LONG), "running")


@pytest.mark.parametrize(
    ("limit", "job"),
    [
        (("--model", "A100=0"), {"gpus": "1:A100"}),
        (("--cpus", "1"), {"cpus": 2}),
        (("--memory", "1G"), {"memory": "2G"}),
    ],
)
def test_quotas_are_of_models_cpus_and_memory_too(
    lab: Lab, limit: tuple[str, ...], job: dict[str, Any]
) -> None:
    danlu(lab, "quota", "set", "user", "*", *limit)
    waits = lab.submit(**{**LONG, **job})
    assert causes(lab, waits) == ["quota_user"]
    danlu(lab, "quota", "set", "user", "*", limit[0], "none")
    lab.until(waits, "running")


def test_a_groups_quota_binds_its_members_together_and_only_they_see_it(lab: Lab) -> None:
    society = Society(lab)
    group = society.group()
    one, two, other = society.person(group), society.person(group), society.person()
    danlu(lab, "quota", "set", "group", group, "--gpus", "1")
    lab.until(one.submit(gpus=1, held=False, **LONG), "running")
    assert causes(lab, two.submit(gpus=1, held=False, **LONG)) == ["quota_group"]
    lab.until(other.submit(gpus=1, held=False, **LONG), "running")
    assert [quota["name"] for quota in two.get("/quotas")["quotas"]] == [group]
    assert two.get("/quotas")["quotas"][0]["used_gpus"] == 1
    assert other.get("/quotas")["quotas"] == []
    acts = [(line["act"], line["thing"]) for line in society.acts(act="quota.set")]
    assert ("quota.set", f"group {group}") in acts
    society.close()


# -- nodes ----------------------------------------------------------------------------------------


def test_a_node_that_is_taken_out_gets_nothing_new_and_what_runs_goes_on(lab: Lab) -> None:
    stays = lab.submit(gpus=1, nodes=["n1"], **LONG)
    lab.until(stays, "running")
    assert "1 of its cards are still in use" in danlu(lab, "drain", "n1")
    waits = lab.submit(gpus=1, nodes=["n1"], **LONG)
    assert "node_drained" in causes(lab, waits)
    assert "Taken out by an admin: n1" in [cause["en"] for cause in lab.why(waits)["causes"]]
    assert "taken out" in danlu(lab, "nodes")
    assert lab.show(stays)["state"] == "running"
    danlu(lab, "resume", "n1")
    lab.until(waits, "running")


# -- over a restart -------------------------------------------------------------------------------


def test_what_was_set_is_kept_over_a_restart_and_the_file_wins(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data", CONFIG)
    server.start()
    try:
        lab = Lab(server)
        danlu(lab, "queue", "set", "mine", "--node", "n1", "--max-wait", "2d")
        danlu(lab, "queue", "set", "gone", "--node", "n1")
        danlu(lab, "quota", "set", "user", "admin", "--gpus", "3")
        danlu(lab, "drain", "n2")
        first = lab.submit(gpus=2, queue="gone", **LONG)
        lab.until(first, "running")
        waits = lab.submit(gpus=1, queue="gone", **LONG)
        danlu(lab, "queue", "merge", "gone", "mine")
        server.kill()
        server.config.write_text(CONFIG + "[quotas.users.admin]\ngpus = 1\n")
        server.start()
        again = Lab(server)
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


def check_sums(lab: Lab) -> None:
    """All that is shown is made of the same sums: nothing is counted twice or left out."""
    cluster = lab.get("/cluster")
    parts = ("free", "reserved", "used", "out")
    lines = [cluster["gpus"], *cluster["models"], *cluster["nodes"]]
    for line in lines:
        assert sum(line[part] for part in parts) == pytest.approx(line["total"])
        assert 0 <= line["idle"] <= line["used"]
    for rows in (cluster["models"], cluster["nodes"]):
        for part in (*parts, "total", "idle"):
            assert sum(row[part] for row in rows) == pytest.approx(cluster["gpus"][part])
    assert 0 <= cluster["lent"] <= cluster["gpus"]["used"]


def test_counts_add_up_and_agree_whatever_starts_and_ends(lab: Lab) -> None:
    submitted: list[Job] = []
    asked = (1, 0.5, 2, "1:A100", 0.25, 2, 1, 0.5)
    for gpus in asked * 2:
        command = "sleep 0.2" if len(submitted) % 2 else "sleep 1000"
        job = {**LONG, "command": command, "gpus": gpus, "time_limit": "1h"}
        submitted.append(lab.submit(**job))
        check_sums(lab)
        if len(submitted) == 6:
            danlu(lab, "drain", "n2")
            check_sums(lab)
    danlu(lab, "resume", "n2")
    for job in submitted:
        lab.http.post(f"/jobs/{job['id']}/stop", json={"now": True})  # or it has ended
        check_sums(lab)
    eventually(lambda: lab.get("/cluster")["gpus"]["used"] == 0 or None)
    quiet = lab.get("/cluster")
    assert (quiet["gpus"]["free"], quiet["running"], quiet["waiting"]) == (4, 0, 0)


def test_room_is_kept_only_while_somebody_waits_for_it(lab: Lab) -> None:
    job = {**LONG, "time_limit": "1h", "nodes": ["n1"]}
    running = lab.until(lab.submit(gpus=1, **job), "running")
    waits = lab.submit(gpus=2, **job)
    late = lab.submit(gpus=1, **{**job, "time_limit": "2h"})
    eventually(lambda: lab.get("/cluster")["gpus"]["reserved"] or None)
    for each in (late, waits):
        lab.stop(each, now=True)
    assert lab.get("/cluster")["gpus"]["reserved"] == 0
    assert lab.get("/cluster")["gpus"]["used"] == 1
    lab.stop(running, now=True)


def test_what_nodes_gpus_and_cluster_show_is_the_same(lab: Lab) -> None:
    jobs = [lab.submit(gpus=gpus, **LONG) for gpus in (1, 0.5)]
    for job in jobs:
        lab.until(job, "running")
    cluster, cards, nodes = lab.get("/cluster"), lab.get("/gpus"), lab.get("/nodes")["nodes"]
    assert sum(card["free"] for card in cards["gpus"]) == cluster["gpus"]["free"] == 2.5
    assert [card for node in nodes for card in node["gpus"]] == cards["gpus"]
    assert len(cards["gpus"]) == cluster["gpus"]["total"] == 4
    text = danlu(lab, "cluster")
    assert "Jobs: 2 running, 0 waiting" in text
    assert json.loads(danlu(lab, "cluster", "--json")) == cluster
    assert "合计" in danlu(lab, "cluster", "--lang", "zh")
