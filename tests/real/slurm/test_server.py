"""Danlu over a real Slurm, as people use it: two engines, retries, environments, restarts."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.client import Client
from tests.gateway.web import entered
from tests.real.slurm.server import QUEUE, SlurmServer
from tests.support.slurm import NODES, Slurm
from tests.support.tools import tools_venv
from tests.support.waiting import until

OUTAGE = float(os.environ.get("DANLU_TEST_OUTAGE", "60"))  # seconds


@pytest.fixture(scope="module")
def site(shared_slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmServer]:
    server = SlurmServer(shared_slurm, tmp_path_factory.mktemp("site")).start()
    yield server
    server.cleanup()
    shared_slurm.tidy()


@pytest.fixture(scope="module")
def ann(site: SlurmServer, shared_slurm: Slurm) -> Client:
    return site.member(shared_slurm.people["ann"])


def submit(person: Client, **job: Any) -> dict[str, Any]:
    found: dict[str, Any] = person.call("POST", "/jobs", {"queue": QUEUE, **job})["jobs"][0]
    return found


def ended(person: Client, job: dict[str, Any]) -> dict[str, Any]:
    def over() -> Any:
        found = person.call("GET", f"/jobs/{job['id']}")
        return found if found["state"] in ("succeeded", "failed", "stopped") else None

    found: dict[str, Any] = until(over)
    return found


def log_of(site: SlurmServer, job: dict[str, Any]) -> str:
    return site.bytes_of(f"/jobs/{job['id']}/logs").decode()


def running(person: Client, job: dict[str, Any]) -> dict[str, Any]:
    def runs() -> Any:
        found = person.call("GET", f"/jobs/{job['id']}")
        assert found["state"] in ("queued", "starting", "running"), found
        return found if found["state"] == "running" else None

    found: dict[str, Any] = until(runs)
    return found


def test_local_engine_and_slurm_are_different_queues_of_one_server(
    site: SlurmServer, ann: Client
) -> None:
    here = submit(ann, command="echo here $SLURM_JOB_ID $(id -un)", queue="default")
    there = submit(ann, command="echo there $SLURMD_NODENAME $(id -un)")
    assert ended(ann, here)["state"] == "succeeded", log_of(site, here)
    assert ended(ann, there)["state"] == "succeeded", log_of(site, there)
    assert log_of(site, here).split()[:1] == ["here"]
    words = log_of(site, there).split()
    assert words[1] in NODES
    assert words[2] == ann.name
    names = {node["name"] for node in ann.call("GET", "/nodes")["nodes"]}
    assert names == {"here", *NODES}


def test_a_dry_run_prints_the_script_and_what_cannot_fit_is_refused(
    site: SlurmServer, ann: Client
) -> None:
    env = {"DANLU_TOKEN": ann.token}
    queued = ("--queue", QUEUE, "-c", "1")
    small = ("-m", "1G", "-g", "2", "--time", "1h")
    done = site.cli("run", "--dry-run", *queued, *small, "--", "true", env=env)
    said = done.stdout.decode()
    assert done.returncode == 0, done
    assert "#!/bin/bash\n#SBATCH --job-name=true\n" in said
    assert f"#SBATCH --partition={QUEUE}\n" in said
    assert "#SBATCH --gres=gpu:2\n" in said
    assert "#SBATCH --time=01:03:00\n" in said or "#SBATCH --time=" in said
    assert not ann.call("GET", "/jobs?name=true&limit=1")["jobs"]
    for words, told in (
        (("-g", "9", "-m", "1G"), "at most 5 GPUs"),
        (("-m", "900G"), "of memory"),
        (("-g", "1:H100", "-m", "1G"), "it has: 3090"),
    ):
        refused = site.cli("submit", *queued, *words, "--", "true", env=env)
        assert refused.returncode == 2, refused
        assert told in refused.stderr.decode()


def test_a_job_on_a_node_that_fails_is_retried_elsewhere(
    site: SlurmServer, ann: Client, slurm: Slurm
) -> None:
    job = running(ann, submit(ann, command="sleep 600", name="fragile"))
    # It is told to run a moment before its place is written.
    node = until(lambda: ann.call("GET", f"/jobs/{job['id']}")["attempts"][-1]["places"][0]["node"])
    slurm.lose_node(node)
    until(lambda: len(ann.call("GET", f"/jobs/{job['id']}")["attempts"]) == 2)
    again = running(ann, job)
    first, second = again["attempts"]
    assert first["reason"] == "lost"
    assert f"{node}: node failed" in first["reason_en"]
    assert second["places"][0]["node"] != node
    number = int(slurm.jobs("--format=%i", "--states=running", "--name=fragile")[0])
    assert slurm.job(number)["ExcNodeList"] == node
    ann.call("POST", f"/jobs/{job['id']}/stop", {"now": True})
    ended(ann, job)


def test_a_controller_away_for_a_minute_fails_nothing_and_pages_say_since_when(
    site: SlurmServer, ann: Client, slurm: Slurm
) -> None:
    goes = [Path(f"/tmp/danlu-go-{random.randrange(10**9)}") for _ in range(2)]
    stays, ends = (
        running(ann, submit(ann, command=f"until [ -e {go} ]; do sleep 0.1; done; exit {code}"))
        for code, go in enumerate(goes, 3)
    )
    paused = time.time()
    slurm.pause_controller()
    waits = submit(ann, command="exit 5")
    away = until(lambda: _engine(site)["away_since"])
    assert abs(away - paused) < OUTAGE, "since it was paused, not since somebody noticed"
    assert "squeue has not answered" in _engine(site)["problem"]
    _say_since_when(site, ann, stays)
    goes[1].touch()
    assert ended(ann, ends)["exit_code"] == 4, "its own record tells, without Slurm"
    site.kill()  # as if that were not enough
    site.start()
    while time.time() < paused + OUTAGE:
        assert ann.call("GET", f"/jobs/{stays['id']}")["state"] == "running"
        assert ann.call("GET", f"/jobs/{waits['id']}")["state"] in ("queued", "starting")
        time.sleep(1)
    until(lambda: ann.call("GET", f"/jobs/{stays['id']}")["unknown_since"])
    slurm.resume_controller()
    until(lambda: not _engine(site)["away_since"])
    until(lambda: ann.call("GET", f"/jobs/{stays['id']}")["unknown_since"] is None)
    goes[0].touch()
    assert ended(ann, stays)["exit_code"] == 3
    assert ended(ann, waits)["exit_code"] == 5
    for each in (stays, waits):
        assert len(ann.call("GET", f"/jobs/{each['id']}")["attempts"]) == 1
    for go in goes:
        go.unlink()


def _say_since_when(site: SlurmServer, ann: Client, job: dict[str, Any]) -> None:
    until(lambda: ann.call("GET", f"/jobs/{job['id']}")["unknown_since"])
    unknown = {node["name"] for node in ann.call("GET", "/nodes")["nodes"] if node["unknown_since"]}
    assert unknown == set(NODES)
    env = {"DANLU_TOKEN": ann.token}
    for words in (("cluster",), ("nodes",), ("why", job["id"])):
        said = site.cli(*words, env=env).stdout.decode()
        assert "since" in said or "Unknown for" in said, (words, said)
        assert "TimeoutError" not in said, (words, said)


def _engine(site: SlurmServer) -> dict[str, Any]:
    found: dict[str, Any] = next(
        each for each in site.get("/cluster")["engines"] if each["name"] == "cluster"
    )
    return found


def test_ssh_and_terminals_lead_to_the_compute_node(site: SlurmServer, ann: Client) -> None:
    ann.run(queue=QUEUE, name="container")
    words = ann.said("echo $SLURMD_NODENAME $(id -un); pwd").decode().split()
    assert words[0] in NODES
    assert words[1] == ann.name
    done = site.cli("exec", ann.job, "--", "id", "-un", env={"DANLU_TOKEN": ann.token})
    assert done.stdout.decode().strip() == ann.name, done


BATCH = f"""#!/bin/bash
#SBATCH -J printed -p {QUEUE} -N 2 --ntasks-per-node=2 --gres=gpu:2
#SBATCH --mail-user=nobody@example.org --mail-type=TIME_LIMIT --nice=7
srun -l sh -c 'echo $SLURM_PROCID has ${{CUDA_VISIBLE_DEVICES:-none}} | tr , +'
sleep 30
"""


def test_a_batch_script_of_a_user_keeps_its_own_lines(
    site: SlurmServer, ann: Client, tmp_path: Path, slurm: Slurm
) -> None:
    (tmp_path / "job.sh").write_text(BATCH)
    env = {"DANLU_TOKEN": ann.token}
    done = site.cli("submit", str(tmp_path / "job.sh"), env=env, cwd=tmp_path)
    assert done.returncode == 0, done
    number = int(until(lambda: slurm.jobs("--format=%i", "--name=printed", "--states=R"))[0])
    job = slurm.job(number)
    assert job["MailUser"] == "nobody@example.org"
    assert job["Nice"] == "7"
    (found,) = ann.call("GET", "/jobs?name=printed&limit=1")["jobs"]
    until(lambda: log_of(site, found).count("\n") == 4)
    ranks = sorted(line.partition(" has ")[::2] for line in log_of(site, found).splitlines())
    assert [rank for rank, _ in ranks] == [f"{n}: {n}" for n in range(4)]
    assert all(gpus.count("+") == 1 for _, gpus in ranks), ranks
    ann.call("POST", f"/jobs/{found['id']}/stop", {"now": True})
    ended(ann, found)


@pytest.fixture
def tools(site: SlurmServer) -> Iterator[None]:
    """Where everybody on the nodes can read them."""
    made = tools_venv()
    place = site.data.parent / "shared" / "tools" / made.name
    place.mkdir(parents=True)
    subprocess.run(["mount", "--bind", made, place], check=True)
    yield
    subprocess.run(["umount", "--lazy", place], check=True)


def test_jupyterlab_opens_in_an_environment_on_a_compute_node(
    site: SlurmServer, ann: Client, tools: None
) -> None:
    ann.call("POST", "/environments", {"name": "dev", "queue": QUEUE})
    until(lambda: _state(ann) == "running")
    ann.job = "dev"
    assert ann.said("echo $SLURMD_NODENAME").decode().strip() in NODES
    door = entered(ann, "dev", {"door": "lab"})
    until(lambda: door.ask("/lab").status == 200)  # it may only just have started
    assert b"JupyterLab" in door.ask("/lab").body
    ann.call("POST", "/environments/dev/stop")
    until(lambda: _state(ann) == "stopped")


def _state(person: Client) -> str:
    found: str = person.call("GET", "/environments/dev")["state"]
    assert found != "failed"
    return found
