"""Every example runs, by the commands its page gives, on a cluster with declared GPUs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.folders import let_in
from tests.support.server import DanluServer

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGES = ("README.md", "README.zh.md")
CLUSTER = """
[[nodes]]
name = "n1"
cpus = 16
memory = "64G"
gpus = "2:RTX3090"

[[nodes]]
name = "n2"
cpus = 16
memory = "64G"
gpus = "2:RTX3090"
"""
FITTED = re.compile(r"y = (2\.\d+|3\.0\d)x -(1\.\d+|2\.0\d) loss \d")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("examples") / "data", CLUSTER).start()
    yield server
    server.cleanup()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the examples, where the tasks of whoever submits them may write."""
    copy = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copy)
    return let_in(copy)


def run(server: DanluServer, folder: Path, *words: str) -> list[dict[str, Any]]:
    """Submits as a user would, waits; the jobs, each with its log."""
    done = server.cli("submit", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    jobs = json.loads(done.stdout)["jobs"]
    ended = []
    for job in jobs:
        found = server.wait(job)
        count = server.get(f"/jobs/{job['id']}")["task_count"]
        logs = [server.cli("logs", job["id"], "--task", str(task)) for task in range(count)]
        found["log"] = b"".join(each.stdout for each in logs).decode()
        assert found["state"] == "succeeded", (found["reason_en"], found["log"])
        ended.append(found)
    return ended


def ranks(log: str) -> list[str]:
    return sorted(re.findall(r"rank (\d of \d)", log))


def test_a_single_gpu(server: DanluServer, folder: Path) -> None:
    (job,) = run(server, folder, "single-gpu.yaml")
    assert ranks(job["log"]) == ["0 of 1"]
    assert FITTED.search(job["log"])
    kept = server.cli("run", "--", "sh", "-c", f'cat "$HOME/single-{job["id"]}.json"')
    assert json.loads(kept.stdout)["step"] == 200


def test_data_parallel_over_two_nodes(server: DanluServer, folder: Path) -> None:
    (job,) = run(server, folder, "ddp.yaml")
    assert ranks(job["log"]) == ["0 of 4", "1 of 4", "2 of 4", "3 of 4"]
    assert len(job["nodes"]) == 2
    assert FITTED.search(job["log"])


def test_a_sweep_tries_every_pair_of_values_once(server: DanluServer, folder: Path) -> None:
    jobs = run(server, folder, "sweep.yaml")
    assert len(jobs) == 6
    tried = [re.search(r"learning rate .* steps", job["log"]) for job in jobs]
    assert len({found.group() for found in tried if found}) == 6


def test_a_batch_script_of_slurm(server: DanluServer, folder: Path) -> None:
    run(server, folder, "train.sbatch")
    (output,) = folder.glob("slurm-*.out")
    assert ranks(output.read_text()) == ["0 of 4", "1 of 4", "2 of 4", "3 of 4"]
    assert FITTED.search(output.read_text())


def test_a_job_file_of_openpai_here_without_its_image(server: DanluServer, folder: Path) -> None:
    (job,) = run(server, folder, "--set", "image=null", "-w", str(folder), "openpai.yaml")
    assert ranks(job["log"]) == ["0 of 2", "1 of 2"]
    assert FITTED.search(job["log"])


def test_an_experiment_of_determined(server: DanluServer, folder: Path) -> None:
    jobs = run(server, folder, "determined.yaml")
    assert len(jobs) == 4
    assert all(ranks(job["log"]) == ["0 of 1"] for job in jobs)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_a_line_for_every_example_and_every_command_names_a_file(page: str) -> None:
    text = (EXAMPLES / page).read_text()
    files = {path.name for path in EXAMPLES.iterdir() if path.name not in PAGES}
    assert set(re.findall(r"\]\(([\w.-]+\.(?:ya?ml|sbatch|py))\)", text)) == files
    assert set(re.findall(r"`danlu submit (?:-\S+ \S+ )*(\S+\.\w+)`", text)) == files - {"train.py"}
