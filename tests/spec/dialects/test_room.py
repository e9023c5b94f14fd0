"""Scripts that do not say over how many nodes: as few as have room, where the nodes are known."""

from __future__ import annotations

import pytest

from danlu.spec.defaults import Defaults
from danlu.spec.dialects import Dialect, Site, convert
from danlu.spec.job import JobSpec

EIGHT_GPUS = Site(gpus=8)
FORTY_CPUS = Defaults(node_cpus=40, node_gpus=8)


def job(*options: str, site: Site = EIGHT_GPUS, defaults: Defaults = FORTY_CPUS) -> JobSpec:
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in options), "srun hostname"]
    found = convert("\n".join(lines), Dialect.SBATCH, site=site, defaults=defaults)
    return found.jobs[0].spec


@pytest.mark.parametrize(
    ("options", "nodes", "cpus", "gpus"),
    [
        (("--ntasks=100",), 3, 34, 0),
        (("--ntasks=40",), 1, 40, 0),
        (("--ntasks=8", "--cpus-per-task=10"), 2, 40, 0),
        (("--ntasks=16", "--gpus-per-task=1", "--cpus-per-task=2"), 2, 16, 8),
        (("--gpus=16", "--cpus-per-gpu=4"), 2, 32, 8),
        (("--gpus=4",), 1, 15, 4),
        (("--nodes=1", "--ntasks=100"), 1, 100, 0),
        (("--nodes=2-8", "--ntasks=100"), 3, 34, 0),
        (("--nodes=2-8", "--ntasks=10"), 2, 5, 0),
        (("--nodes=1-2", "--ntasks=100"), 2, 50, 0),
    ],
)
def test_tasks_go_over_as_few_nodes_as_have_room(
    options: tuple[str, ...], nodes: int, cpus: int, gpus: int
) -> None:
    role = job(*options).roles[0]
    assert (role.count, role.resources.cpus, role.resources.gpus.count) == (nodes, cpus, gpus)


def test_a_task_larger_than_any_node_is_left_to_the_scheduler_to_explain() -> None:
    role = job("--ntasks=2", "--cpus-per-task=64").roles[0]
    assert (role.count, role.resources.cpus) == (1, 128)


def test_without_knowing_the_nodes_all_tasks_share_one() -> None:
    role = job("--ntasks=100", site=Site(), defaults=Defaults()).roles[0]
    assert (role.count, role.resources.cpus) == (1, 100)
