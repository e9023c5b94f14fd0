"""What could never run in a partition is said with the key, its value and what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.fitting import Size, misfit
from danlu.engines.slurm.script import Cluster
from danlu.spec.job import GpuRequest, Resources

GIB = 1 << 30
CONFIG = SlurmConfig(
    Path("/data"), Path("/shared"), {"big": "long", "typo": "nosuch"},
    {"A100": "constraint:a100"},
)  # fmt: skip
CLUSTER = Cluster(
    ("3090",),
    ("short", "long"),
    {"short": ("n1", "n2"), "long": ("n2", "n3")},
    {},
    {
        "n1": Size(16, 64 * GIB, {"3090": 5}),
        "n2": Size(32, 128 * GIB, {"3090": 2}),
        "n3": Size(8, 32 * GIB, {}),
    },
    "short",
)


def need(gpus: int = 0, cpus: float = 1, memory: int = GIB, model: str | None = None) -> Resources:
    return Resources(GpuRequest(gpus, model), cpus, memory, 0)


@pytest.mark.parametrize(
    ("queue", "asked", "count", "key", "words"),
    [
        ("default", need(6), 1, "gpus", "any node of partition short has (at most 5 GPUs)"),
        ("big", need(3), 1, "gpus", "any node of partition long has (at most 2 GPUs)"),
        ("short", need(6, model="RTX3090"), 1, "gpus", "at most 5 3090 GPUs"),
        ("short", need(1, model="H100"), 1, "gpus", "no GPUs of model H100; it has: 3090"),
        ("short", need(cpus=32.5), 1, "cpus", "at most 32 CPUs"),
        ("short", need(memory=129 * GIB), 1, "memory", "at most 128G of memory"),
        ("short", need(5, 32), 1, "gpus", "no single node of partition short"),
        ("short", need(5), 2, "count", "fits only 1 such tasks"),
        ("short", need(1, memory=50 * GIB), 4, "count", "fits only 3 such tasks"),
        ("typo", need(), 1, "queue", "partition nosuch, which Slurm does not have"),
    ],
)
def test_what_cannot_fit_is_refused(
    queue: str, asked: Resources, count: int, key: str, words: str
) -> None:
    found = misfit(queue, [(need(), 1), (asked, count)], CONFIG, CLUSTER)
    assert found is not None
    assert found.key == key
    assert words in found.message.en
    assert found.message.zh


@pytest.mark.parametrize(
    ("queue", "asked", "count"),
    [
        ("default", need(5, 16, 64 * GIB), 1),
        ("short", need(1), 7),
        ("short", need(2, model="3090"), 3),
        ("long", need(8, model="A100"), 100),  # which nodes have the feature is up to Slurm
        ("long", need(cpus=32, memory=128 * GIB), 1),
    ],
)
def test_what_may_fit_is_left_to_slurm(queue: str, asked: Resources, count: int) -> None:
    assert misfit(queue, [(asked, count)], CONFIG, CLUSTER) is None


def test_a_fraction_and_chosen_gpus_need_another_queue() -> None:
    fraction = Resources(GpuRequest(1, fraction=0.5), 1, GIB, 0)
    chosen = Resources(GpuRequest(2, indexes=(0, 1)), 1, GIB, 0)
    for asked, words in ((fraction, "whole GPUs only"), (chosen, "chooses the GPUs")):
        found = misfit("default", [(asked, 1)], CONFIG, CLUSTER)
        assert found is not None
        assert words in found.message.en


def test_nothing_is_refused_before_slurm_has_answered() -> None:
    assert misfit("typo", [(need(99), 9)], CONFIG, Cluster()) is None


def test_memory_counts_only_where_slurm_conf_tells_it() -> None:
    cluster = Cluster((), ("p",), {"p": ("n",)}, {}, {"n": Size(4, 0, {})}, "p")
    assert misfit("default", [(need(memory=999 * GIB), 4)], CONFIG, cluster) is None
