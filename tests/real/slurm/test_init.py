"""What `danlu slurm init` writes starts a Slurm that works, and `danlu slurm check` says so.

Four nodes on one machine need what four machines do not: ports and names of their own, other
folders, declared GPUs, and no cgroups (the test machine may have none to give). All else is used
as it was written.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.parts import missing
from tests.support.slurm import declare_gpus
from tests.support.slurm_daemons import Site, SlurmDaemons, absent
from tests.support.waiting import until

NODES = ("gpu1", "gpu2")
ONE_MACHINE = {
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "JobAcctGatherType": "jobacct_gather/none",
}


def danlu(*words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "danlu.cli", "slurm", *words]
    return subprocess.run(
        command, env={**env, "DANLU_LANG": "en"}, cwd=cwd, capture_output=True, text=True
    )


class Lab(SlurmDaemons):
    def __init__(self) -> None:
        super().__init__(NODES, self._write)

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    def _write(self, site: Site) -> None:
        folder = site.folder
        self.shared.mkdir(exist_ok=True)
        devices = declare_gpus(folder / "dev", 2)
        nodes = [
            f'[[nodes]]\nname = "{name}"\ncpus = 4\nmemory = "8G"\ngpus = "2:RTX3090"\n'
            f'devices = "{devices}"\n'
            for name in NODES
        ]
        text = f'controller = "{site.host}"\nshared = "{self.shared}"\n' + "\n".join(nodes)
        (folder / "nodes.toml").write_text(text)
        done = danlu("init", "nodes.toml", "--out", ".", "--force", env=self.env, cwd=folder)
        assert done.returncode == 0, done.stderr
        conf = folder / "slurm.conf"
        here = {**site.common(), **ONE_MACHINE}
        lines = [_here(line, here, site) for line in conf.read_text().splitlines()]
        known = {line.partition("=")[0] for line in lines}
        lines += [f"{key}={value}" for key, value in here.items() if key not in known]
        conf.write_text("\n".join(lines) + "\n")
        (folder / "cgroup.conf").unlink()


def _here(line: str, here: dict[str, str], site: Site) -> str:
    key = line.partition("=")[0]
    if key == "NodeName":
        first, _, rest = line.partition(" ")
        return f"{site.node(first.partition('=')[2])} {rest}"
    return f"{key}={here[key]}" if key in here else line


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    if os.geteuid() != 0 or absent():
        missing(
            "Slurm for tests", "as root: apt-get install --no-install-recommends slurm-wlm munge"
        )
    lab = Lab()
    try:
        yield lab
    finally:
        lab.close()


def check(lab: Lab, *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    done = danlu("check", *words, "--json", env=lab.env, cwd=lab.folder)
    assert done.stdout, done.stderr
    return done.returncode, {each["what"]: each for each in json.loads(done.stdout)}


def test_a_job_runs_on_the_gpus_it_asked_for(lab: Lab) -> None:
    out = lab.folder / "shared" / "out"
    line = "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $SLURM_MEM_PER_CPU"

    lab.run("sbatch", "-p", "main", "--gres=gpu:RTX3090:2", f"--output={out}", f"--wrap={line}")

    until(lambda: out.exists() and out.read_text())
    assert out.read_text().split() == ["gpu1", "0,1", "1945"]


def test_check_finds_nothing_wrong(lab: Lab) -> None:
    code, found = check(lab, "--via", "srun", "--shared", str(lab.shared))

    wrong = {what: each for what, each in found.items() if each["verdict"] == "no"}
    # gpu1 and gpu2 are no names of machines here, and nobody can resolve them.
    assert set(wrong) == {"names"}
    assert code == 1
    for what in (
        "controller",
        "version",
        "clocks",
        "accounts",
        "munge",
        "files",
        "programs",
        "gpus",
    ):
        assert found[what]["verdict"] == "yes", found[what]
    assert found["shared folder"]["verdict"] == "yes", found["shared folder"]


def test_check_names_what_is_wrong(lab: Lab) -> None:
    gres = lab.folder / "gres.conf"
    fine = gres.read_text()
    try:
        gres.write_text(fine.replace("nvidia[0-1]", "nvidia[0-2]", 1))
        lab.run("scontrol", "update", "nodename=gpu2", "state=drain", "reason=new fan")

        code, found = check(lab, "--via", "srun")
    finally:
        gres.write_text(fine)
        lab.run("scontrol", "update", "nodename=gpu2", "state=resume")

    assert code == 1
    assert "nvidia2" in found["gpus gpu1"]["en"]
    assert found["node gpu2"]["en"].startswith("drained by a Slurm admin: new fan")
    assert found["node gpu2"]["zh"].startswith("已被 Slurm 管理员停用：new fan")
    assert found["gpu2"]["verdict"] == "no"  # a drained node cannot be asked through Slurm


def test_check_says_that_the_controller_is_away(lab: Lab) -> None:
    assert lab.controller is not None
    env = {**lab.env, "SLURM_CONF": str(lab.folder / "away.conf")}
    text = (lab.folder / "slurm.conf").read_text()
    (lab.folder / "away.conf").write_text(text.replace("SlurmctldPort=", "SlurmctldPort=1#"))

    done = danlu("check", "--json", env=env, cwd=lab.folder)

    assert done.returncode == 1
    (first, *_) = json.loads(done.stdout)
    assert (first["what"], first["verdict"]) == ("controller", "no")
