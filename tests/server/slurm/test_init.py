"""`danlu slurm init`: one file with machines in, a whole configuration out, or clear mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LAB = """\
cluster = "lab"
controller = "gpu1"
shared = "/shared"

[[nodes]]
name = "gpu1"
address = "10.0.0.11"
cpus = 32
memory = "128G"
gpus = "5:RTX3090"

[[nodes]]
name = "gpu2"
cpus = 16
memory = "64G"
gpus = "1:A100"
features = ["nvlink"]

[[nodes]]
name = "cpu1"
cpus = 64
memory = "256G"

[[partitions]]
name = "gpu"
nodes = ["gpu1", "gpu2"]
time_limit = "7d"

[[partitions]]
name = "cpu"
nodes = ["cpu1"]
default = true
"""


def danlu(*words: str, cwd: Path, lang: str = "en") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "DANLU_LANG": lang}
    command = [sys.executable, "-m", "danlu.cli", "slurm", *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def written(tmp_path: Path, text: str = LAB) -> subprocess.CompletedProcess[str]:
    (tmp_path / "nodes.toml").write_text(text)
    return danlu("init", "nodes.toml", "--out", "out", cwd=tmp_path)


def test_a_lab_becomes_a_configuration(tmp_path: Path) -> None:
    done = written(tmp_path)

    assert done.returncode == 0, done.stderr
    conf = (tmp_path / "out" / "slurm.conf").read_text().splitlines()
    assert "SlurmctldHost=gpu1(10.0.0.11)" in conf
    assert (
        "NodeName=gpu1 NodeAddr=10.0.0.11 CPUs=32 RealMemory=124518 Gres=gpu:RTX3090:5 "
        "Feature=RTX3090 State=UNKNOWN"
    ) in conf
    assert (
        "NodeName=gpu2 CPUs=16 RealMemory=62259 Gres=gpu:A100:1 Feature=nvlink,A100 State=UNKNOWN"
    ) in conf
    assert "PartitionName=gpu Nodes=gpu1,gpu2 Default=NO MaxTime=7-00:00:00 State=UP" in conf
    assert "PartitionName=cpu Nodes=cpu1 Default=YES MaxTime=INFINITE State=UP" in conf
    gres = (tmp_path / "out" / "gres.conf").read_text().splitlines()
    assert gres[-2:] == [
        "NodeName=gpu1 Name=gpu Type=RTX3090 File=/dev/nvidia[0-4]",
        "NodeName=gpu2 Name=gpu Type=A100 File=/dev/nvidia0",
    ]
    assert "ConstrainDevices=yes" in (tmp_path / "out" / "cgroup.conf").read_text()


def test_the_steps_name_each_machine_and_the_script_is_a_script(tmp_path: Path) -> None:
    done = written(tmp_path)

    assert "controller gpu1" in done.stdout
    assert "sh munge.sh" in done.stdout
    munge = tmp_path / "out" / "munge.sh"
    assert "for node in gpu2 cpu1; do" in munge.read_text()
    assert subprocess.run(["sh", "-n", str(munge)]).returncode == 0


def test_the_steps_are_told_in_chinese(tmp_path: Path) -> None:
    (tmp_path / "nodes.toml").write_text(LAB)
    done = danlu("init", "nodes.toml", cwd=tmp_path, lang="zh")

    assert "控制节点 gpu1" in done.stdout
    assert "控制节点 gpu1" in (tmp_path / "slurm-conf" / "STEPS.txt").read_text()


def test_nothing_is_replaced_without_being_asked(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "out" / "gres.conf").write_text("mine\n")

    again = written(tmp_path)

    assert again.returncode == 2
    assert "gres.conf" in again.stderr
    assert (tmp_path / "out" / "gres.conf").read_text() == "mine\n"
    assert danlu("init", "nodes.toml", "--out", "out", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out" / "gres.conf").read_text() != "mine\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('name = "gpu2"', 'name = "gpu1"', 13, "already"),
        ('name = "gpu2"', 'name = "gpu2 State=DOWN"', 13, "plain name"),
        ('name = "gpu2"', 'name = "gpu2\\nSlurmUser=root"', 13, "plain name"),
        ("cpus = 16", "cpus = 0", 14, "above 0"),
        ('memory = "64G"', 'memory = "much"', 15, "much"),
        ('memory = "64G"', "memory = 128", 15, "with its unit"),
        ('memory = "64G"', 'memory = "128"', 15, "with its unit"),
        (
            'name = "gpu2"',
            'name = "gpu2"\naddress = "10.0.0.11"',
            14,
            "already the address of gpu1",
        ),
        ('name = "gpu2"', 'name = "gpu2"\naddress = "gpu1"', 14, "already the address of gpu1"),
        ('gpus = "1:A100"', 'gpus = "A100"', 16, "NUMBER:MODEL"),
        ('gpus = "1:A100"', 'gpus = "1:A100,b"', 16, "NUMBER:MODEL"),
        ('gpus = "1:A100"', 'gpus = "2:A100"\ndevices = "/dev/nvidia0"', 17, "gpus is 2"),
        ("features =", "feature =", 17, "did you mean features"),
        ('nodes = ["cpu1"]', 'nodes = ["cpu2"]', 31, "not one of the nodes"),
        ('shared = "/shared"', 'shared = "here"', 3, "absolute path"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_nothing_is_written(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    done = written(tmp_path, LAB.replace(old, new))

    assert done.returncode == 2
    assert f"nodes.toml:{line}" in done.stderr
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    done = written(tmp_path, LAB.replace("1:A100", "A100").replace("7d", "long"))

    assert len(done.stderr.strip().splitlines()) == 2


def test_a_file_that_is_none_or_no_toml_is_refused(tmp_path: Path) -> None:
    missing = danlu("init", "nodes.toml", cwd=tmp_path)
    broken = written(tmp_path, "[[nodes]\n")

    assert (missing.returncode, broken.returncode) == (2, 2)
    assert "nodes.toml" in missing.stderr
    assert "not valid TOML" in broken.stderr
    assert danlu("init", cwd=tmp_path).returncode == 2
    assert danlu("check", "--via", "pigeon", cwd=tmp_path).returncode == 2
