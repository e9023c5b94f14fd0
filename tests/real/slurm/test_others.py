"""A Slurm that is shared with people who use `sbatch`: their jobs are in every picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.real.slurm.danlu import server_on
from tests.support.server import DanluServer
from tests.support.slurm import GPUS, NODES, Slurm
from tests.support.waiting import until


@pytest.fixture(scope="module")
def shared_server(
    shared_slurm: Slurm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DanluServer]:
    data = tmp_path_factory.mktemp("others") / "data"
    server = server_on(shared_slurm, data, shared_slurm.people["ann"])
    yield server
    server.cleanup()


@pytest.fixture
def server(shared_server: DanluServer, slurm: Slurm) -> Iterator[DanluServer]:
    yield shared_server
    for job in shared_server.get("/jobs?state=queued,starting,running")["jobs"]:
        shared_server.post(f"/jobs/{job['id']}/stop")
        shared_server.wait(job)


def outside(server: DanluServer) -> list[dict[str, Any]]:
    return [gpu for gpu in server.get("/gpus")["gpus"] if gpu["state"] == "outside"]


def adds_up(count: dict[str, float]) -> bool:
    parts = ("free", "reserved", "used", "out", "outside", "unknown")
    return sum(count[part] for part in parts) == count["total"]


def test_jobs_of_others_are_on_the_map_with_their_owner_and_all_adds_up(
    server: DanluServer, slurm: Slurm
) -> None:
    bob = slurm.people["bob"]
    held = ("--gres=gpu:3090:3", "-w", "n1", "-c", "4", "--time=60", "-J", "bert")
    number = slurm.sbatch(bob, *held, "--wrap=sleep 600")
    until(lambda: len(outside(server)) == 3)

    gpus = outside(server)
    assert {gpu["node"] for gpu in gpus} == {"n1"}
    assert gpus[0]["outside"] == {
        "engine": "slurm",
        "id": str(number),
        "user": bob.name,
        "name": "bert",
    }
    assert gpus[0]["ends"] - gpus[0]["since"] == 3600
    n1 = next(node for node in server.get("/nodes")["nodes"] if node["name"] == "n1")
    assert n1["cpus"] - n1["cpus_free"] == 4
    cluster = server.get("/cluster")
    assert adds_up(cluster["gpus"])
    assert all(adds_up(node) for node in cluster["nodes"])
    assert (cluster["gpus"]["total"], cluster["gpus"]["outside"]) == (len(NODES) * GPUS, 3)

    listed = server.cli("gpus").stdout.decode()
    assert len(re.findall(f"{bob.name}/slurm:{number}", listed)) == 3
    assert f"{bob.name} 3" in server.cli("cluster").stdout.decode()
    assert f"3 outside ({bob.name} 3)" in server.cli("top", "--once").stdout.decode()


def test_a_job_that_waits_in_slurm_is_told_slurms_reason_and_who_holds_what(
    server: DanluServer, slurm: Slurm
) -> None:
    bob = slurm.people["bob"]
    for node in NODES:
        slurm.sbatch(bob, "--gres=gpu:3090:5", "-w", node, "--time=60", "--wrap=sleep 600")
    until(lambda: len(outside(server)) == 20)

    job = server.submit(command="true", gpus="2:RTX3090", time_limit="10m")

    why = until(lambda: _why(server, job, "Resources") or _why(server, job, "Priority"))
    assert why["sentence_en"].startswith("Waiting in the queue of engine slurm: ")
    assert "slurm says" in why["sentence_en"]
    assert why["sentence_zh"].startswith("在引擎 slurm 的队列中等待：")
    assert why["causes"][0]["basis"] == "engine"
    assert {node["node"]: node["free"] for node in why["nodes"]} == dict.fromkeys(NODES, 0)
    assert {holder["owner"] for holder in why["holders"]} == {bob.name}
    assert all(holder["outside"] for holder in why["holders"])
    # Slurm plans its start for when the first of them reaches its limit.
    why = until(lambda: _planned(server, job))
    assert why["eta_basis"] == "engine"
    assert "the engine's own plan" in why["eta_en"]
    shown = server.cli("why", job["ref"]).stdout.decode()
    assert f"{bob.name}/slurm:" in shown
    assert "the engine's own plan" in shown


def test_no_start_is_promised_behind_jobs_without_a_time_limit(
    server: DanluServer, slurm: Slurm
) -> None:
    bob = slurm.people["bob"]
    for node in NODES:
        slurm.sbatch(bob, "--gres=gpu:3090:5", "-w", node, "--wrap=sleep 600")
    until(lambda: len(outside(server)) == 20)

    job = server.submit(command="true", gpus="2:RTX3090")

    # Until Slurm has begun the others, it only says that it has planned nothing.
    words = "No estimate: jobs before it in the engine have no time limit"
    why = until(lambda: (now := _asked(server, job))["eta_why_en"] == words and now)
    assert why["eta"] is None
    assert why["eta_why_zh"] == "无法估计：引擎中排在它前面的任务没有时间上限"


def _asked(server: DanluServer, job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = server.get(f"/jobs/{job['id']}/why")
    return found


def _why(server: DanluServer, job: dict[str, Any], code: str) -> dict[str, Any] | None:
    found = _asked(server, job)
    causes = found["causes"]
    return found if causes and causes[0]["numbers"].get("code") == code else None


def _planned(server: DanluServer, job: dict[str, Any]) -> dict[str, Any] | None:
    found = _asked(server, job)
    return found if found["eta"] is not None else None
