"""A lab's guide to its Slurm: the same lines through Slurm's own commands, and through Danlu."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dialects.harness import ShimHarness
from tests.dialects.printed import Guide
from tests.real.slurm.danlu import server_on
from tests.support.folders import let_in
from tests.support.parts import need
from tests.support.server import DanluServer
from tests.support.slurm import PARTITION, Slurm
from tests.support.waiting import until

COUNT = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'].count(',') + 1)\n"
SCRIPT = """\
#!/bin/bash
#SBATCH --partition={partition}
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --gres=gpu:2
#SBATCH --time=00:10:00
srun python3 main.py
echo "$SLURM_JOB_NAME on $SLURM_JOB_NUM_NODES nodes of $SLURM_JOB_PARTITION"
"""
MORE = f'\n[queues.{PARTITION}]\nengine = "slurm"\n'


@pytest.fixture(scope="module")
def server(shared_slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    data = tmp_path_factory.mktemp("guide") / "data"
    server = server_on(shared_slurm, data, shared_slurm.people["ann"], MORE)
    yield server
    server.cleanup()


@pytest.fixture
def desk(server: DanluServer, slurm: Slurm) -> ShimHarness:
    """In the home that the nodes see as well."""
    ann = slurm.people["ann"]
    folder = ann.home / "work"
    folder.mkdir(exist_ok=True)
    ann.home.chmod(0o711)
    desk = ShimHarness(server, let_in(folder))
    desk.file("main.py", COUNT)
    return desk


def test_a_script_of_two_nodes_does_the_same_through_sbatch_and_through_danlu(
    desk: ShimHarness, slurm: Slurm
) -> None:
    ann = slurm.people["ann"]
    script = desk.file("train.sh", SCRIPT.format(partition=PARTITION))
    out = ann.home / "out"
    chdir = f"--chdir={desk.folder}"

    number = slurm.sbatch(ann, f"--output={out}", chdir, str(script))
    until(lambda: slurm.job(number)["JobState"] == "COMPLETED")
    done = desk.run("sbatch", "--wait", str(script))

    expected = ["2", "2", f"train on 2 nodes of {PARTITION}"]
    assert out.read_text().splitlines() == expected
    assert done.returncode == 0, done.stderr
    submitted = re.search(r"Submitted batch job (\d+)", done.stdout)
    assert submitted is not None
    job = desk.server.get("/jobs")["jobs"][0]
    assert desk.log(job["id"]).splitlines() == expected


def test_srun_prints_what_slurms_own_prints(desk: ShimHarness, slurm: Slurm) -> None:
    words = ("srun", "-p", PARTITION, "--gres=gpu:3", "python3", "main.py")

    theirs = slurm.as_user(slurm.people["ann"], *words[:-1], str(desk.folder / "main.py"))
    ours = desk.run(*words)

    assert theirs.stdout == "3\n"
    assert (ours.returncode, ours.stdout) == (0, "3\n"), ours.stderr


def test_the_launchers_of_the_guide(desk: ShimHarness) -> None:
    need("python", "python-is-python3")

    done = desk.shell(Guide("004").block("ilaunch"))

    assert done.returncode == 0, done.stderr
    assert done.stdout == "4\n5\n"


def test_a_task_sees_the_folder_of_its_queue(desk: ShimHarness, tmp_path: Path) -> None:
    """What the person wrote on the login machine is there, and belongs to them, on the node."""
    done = desk.run("srun", "-p", PARTITION, "sh", "-c", "echo mine > made; id -u")

    assert done.returncode == 0, done.stderr
    made = desk.folder / "made"
    assert made.read_text() == "mine\n"
    assert os.stat(made).st_uid == int(done.stdout)
