"""The packing experiment: its arrivals, and that nothing in it hangs on names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench import packing
from danlu.sched.api import GpuState, NodeState, TaskShape

GIB = 2**30
NODES = [
    NodeState(f"n{at}", 16, 64 * GIB, 16, 64 * GIB, tuple(GpuState(i, "T4") for i in range(4)))
    for at in range(6)
]
PODS = [TaskShape(2, GIB, gpus=1), TaskShape(1, GIB, share=500), TaskShape(4, GIB, gpus=2)] * 8


def test_arrivals_are_every_pod_once_and_then_copies_up_to_the_limit() -> None:
    order = packing.arrivals(PODS, np.random.default_rng(1), 60_000)
    assert sorted(order[: len(PODS)]) == list(range(len(PODS)))
    asked = sum(PODS[at].amount for at in order)
    assert 58_000 < asked <= 60_000


def test_a_list_that_asks_for_more_than_the_limit_loses_pods() -> None:
    order = packing.arrivals(PODS, np.random.default_rng(1), 10_000)
    assert len(order) < len(PODS)
    assert len(set(order)) == len(order)
    assert sum(PODS[at].amount for at in order) <= 10_000


@pytest.mark.parametrize("cold", [False, True])
def test_a_small_cluster_is_filled_and_names_do_not_matter(cold: bool) -> None:
    filled = packing.allocation(PODS, NODES, 42, cold)
    renamed = [replace(node, name=f"z{9 - at}") for at, node in enumerate(NODES)]
    assert packing.allocation(PODS, renamed, 42, cold) == filled
    assert 90 < filled <= 100


def test_the_published_workload_is_packed_better_than_published() -> None:
    folder = packing.data_folder() / "openb"
    if not folder.is_dir():
        pytest.skip("the workloads are not here; DANLU_DATA names the folder that has openb/")
    nodes = packing.read_nodes(folder / "openb_node_list_gpu_node.csv")
    pods = packing.read_pods(folder / "openb_pod_list_default.csv")
    published = packing.read_published(folder / "published_allocation.csv")
    assert packing.allocation(pods, nodes, 42, cold=False) > published["openb_pod_list_default"]
