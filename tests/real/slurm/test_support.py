"""What the tests of this folder stand on: a Slurm that works as its manual says."""

from __future__ import annotations

from pathlib import Path

from tests.support.slurm import GPUS, MODEL, NODES, PARTITION, Slurm, real_slurm
from tests.support.waiting import until


def test_four_nodes_with_five_gpus_form_one_partition(slurm: Slurm) -> None:
    lines = slurm.run("sinfo", "--noheader", "-N", "-o", "%N %R %G").splitlines()

    assert sorted(lines) == [f"{node} {PARTITION} gpu:{MODEL}:{GPUS}" for node in NODES]


def test_a_job_runs_as_its_user_on_the_gpus_slurm_gave_it(slurm: Slurm) -> None:
    ann = slurm.people["ann"]
    out = ann.home / "out"
    script = "id -u; id -g; id -G; hostname >/dev/null; echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"

    number = slurm.sbatch(ann, "--gres=gpu:3090:2", "-w", "n3", "-o", str(out), f"--wrap={script}")

    until(lambda: slurm.job(number)["JobState"] == "COMPLETED")
    uid, gid, groups, where = out.read_text().splitlines()
    assert (int(uid), int(gid)) == (ann.uid, ann.gid)
    assert {int(word) for word in groups.split()} == {ann.gid, *ann.groups}
    assert where == "n3 0,1"
    assert out.stat().st_uid == ann.uid


def test_the_calls_of_commands_are_counted(slurm: Slurm) -> None:
    slurm.as_user(slurm.people["bob"], "squeue", "--noheader", "-o", "%i %u")
    slurm.run("squeue", "--noheader")

    assert slurm.calls("squeue") == 2
    assert slurm.called_with("squeue")[0].split() == ["--noheader", "-o", "%i", "%u"]


def test_a_killed_node_takes_its_jobs_along_and_comes_back(slurm: Slurm) -> None:
    bob = slurm.people["bob"]
    number = slurm.sbatch(bob, "--no-requeue", "-w", "n2", "--wrap=sleep 600")
    until(lambda: slurm.job(number)["JobState"] == "RUNNING")

    slurm.lose_node("n2")

    until(lambda: slurm.job(number)["JobState"] == "NODE_FAIL")
    slurm.start_node("n2")
    slurm.wait_until_ready("n2")
    assert not _alive(bob.uid)


def test_a_paused_controller_continues_where_it_was(slurm: Slurm) -> None:
    number = slurm.sbatch(slurm.people["ann"], "--wrap=sleep 600")
    until(lambda: slurm.job(number)["JobState"] == "RUNNING")

    slurm.stop_controller()
    slurm.start_controller()

    until(lambda: slurm.job(number)["JobState"] == "RUNNING")


def test_two_of_them_run_side_by_side(slurm: Slurm) -> None:
    other = real_slurm(people=("dee",))
    try:
        number = other.sbatch(other.people["dee"], "--wrap=sleep 600")
        until(lambda: other.job(number)["JobState"] == "RUNNING")
        assert not slurm.jobs()
        folder, gone = other.folder, other.people["dee"]
    finally:
        other.close()
    assert not folder.exists()
    assert not _alive(gone.uid)
    assert gone.name not in Path("/etc/passwd").read_text()


def _alive(uid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            ended = (path / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if path.stat().st_uid == uid and not ended:
                found.append(int(path.name))
        except OSError:
            continue
    return found
