"""Partitions are queues, and a volume may exist on some of them only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.slurm.danlu import server_on
from tests.support.server import DanluServer
from tests.support.slurm import Slurm, real_slurm
from tests.support.waiting import until

PARTITIONS = {"makkapakka": ("n1", "n2"), "other": ("n3", "n4")}
MORE = """
[queues.other]
engine = "slurm"

[volumes.fast]
source = "{folder}/fast"
path = "{folder}/fast"
nodes = ["n1", "n2"]
everywhere = false

[volumes.data]
source = "{folder}/data"
path = "{folder}/data"
nodes = ["n1", "n2"]
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    slurm = real_slurm(partitions=PARTITIONS, people=("ann",))
    try:
        yield slurm
    finally:
        slurm.close()


@pytest.fixture(scope="module")
def server(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    for name in ("fast", "data"):
        (slurm.shared / name).mkdir()
        (slurm.shared / name).chmod(0o1777)
    data = tmp_path_factory.mktemp("partitions") / "data"
    server = server_on(slurm, data, slurm.people["ann"], MORE.format(folder=slurm.shared))
    yield server
    server.cleanup()


def test_a_queue_leads_to_its_partition(server: DanluServer, slurm: Slurm) -> None:
    jobs = [
        server.submit(command="echo $SLURM_JOB_PARTITION", queue=queue)
        for queue in ("default", "other")
    ]

    for job, partition in zip(jobs, ("makkapakka", "other"), strict=True):
        done = server.wait(job)
        assert done["state"] == "succeeded", done["reason_en"]
        assert server.cli("logs", job["ref"]).stdout.decode().split() == [partition]


def test_a_job_goes_where_its_volume_is(server: DanluServer) -> None:
    mount = {"volume": "fast", "path": "/mnt/fast"}

    job = server.submit(command="echo $SLURMD_NODENAME", mounts=[mount])

    done = server.wait(job)
    assert done["state"] == "succeeded", done["reason_en"]
    assert server.cli("logs", job["ref"]).stdout.decode().split()[0] in ("n1", "n2")


def test_a_volume_that_no_node_of_the_queue_has_is_refused_at_once(server: DanluServer) -> None:
    done = server.cli("submit", "--queue", "other", "--mount", "fast:/mnt/fast", "--", "true")

    assert done.returncode != 0
    assert b"no node it may use has the volume fast" in done.stderr


def test_why_shows_the_nodes_of_the_partition_only(server: DanluServer, slurm: Slurm) -> None:
    ann = slurm.people["ann"]
    for node in ("n3", "n4"):
        slurm.sbatch(ann, "-p", "other", "-w", node, "--gres=gpu:5", "--wrap=sleep 600")
    job = server.submit(command="true", gpus=1, queue="other")

    why = until(lambda: _why(server, job["id"]))

    assert {node["node"] for node in why["nodes"]} == {"n3", "n4"}
    server.post(f"/jobs/{job['id']}/stop")


def _why(server: DanluServer, job: str) -> dict[str, list[dict[str, str]]] | None:
    found: dict[str, list[dict[str, str]]] = server.get(f"/jobs/{job}/why")
    return found if found["nodes"] and found["holders"] else None
