"""What an sbatch script means depends on the nodes there are."""

from __future__ import annotations

from typing import Any

import pytest

from danlu.spec.dialects import Converted, NodeSize, Site, convert
from danlu.spec.dialects.dlc_machines import Machine, machine_of
from danlu.spec.native import to_native
from danlu.spec.units import exact_size

G = 2**30
SMALL = NodeSize(16, 64 * G, 2, "NVIDIA T4")
MIDDLE = NodeSize(32, 256 * G, 4, "Tesla V100-SXM2-32GB")
LARGE = NodeSize(96, 1024 * G, 8, "NVIDIA A100-SXM4-80GB")
PLAIN = NodeSize(64, 512 * G)


def converted(
    *options: str, sizes: tuple[NodeSize, ...], labels: tuple[str, ...] = ()
) -> Converted:
    lines = "\n".join(f"#SBATCH {option}" for option in options)
    text = f"#!/bin/bash\n{lines}\npython train.py\n"
    gpus = max(size.gpus for size in sizes)
    return convert(text, site=Site(gpus=gpus, sizes=sizes, labels=frozenset(labels)))


def asks(found: Converted) -> dict[str, Any]:
    native = to_native(found.jobs[0].spec)
    return {key: native.get(key) for key in ("cpus", "memory", "gpus")}


def notes(found: Converted) -> str:
    return "\n".join(note.text() for note in found.notes)


@pytest.mark.parametrize(
    ("options", "node", "gpus"),
    [
        (["--exclusive", "--gpus-per-node=8"], LARGE, 8),
        (["--exclusive", "--gpus-per-node=3"], MIDDLE, 4),
        (["--exclusive", "--gres=gpu:a100:1"], LARGE, {"count": 8, "model": "a100"}),
        (["--exclusive"], PLAIN, None),
        (["--exclusive", "--gpus-per-node=1", "--mem=0"], SMALL, 2),
    ],
)
def test_exclusive_takes_the_smallest_whole_node_that_fits(
    options: list[str], node: NodeSize, gpus: Any
) -> None:
    found = converted(*options, sizes=(LARGE, PLAIN, MIDDLE, SMALL))
    memory = exact_size(node.memory)
    assert asks(found) == {"cpus": node.cpus, "memory": memory, "gpus": gpus}
    shown = f"{node.cpus:g} CPUs, {exact_size(node.memory)} of memory, {node.gpus} GPUs"
    assert f"takes a whole node: {shown}" in notes(found)


def test_exclusive_with_memory_takes_that_memory() -> None:
    found = converted("--exclusive", "--mem=10G", "--gpus-per-node=1", sizes=(SMALL,))
    assert asks(found) == {"cpus": 16, "memory": "10G", "gpus": 2}


@pytest.mark.parametrize("value", ["user", "mcs"])
def test_nodes_for_one_user_are_not_taken_whole(value: str) -> None:
    found = converted(f"--exclusive={value}", "--gpus-per-node=1", sizes=(SMALL, LARGE))
    assert asks(found)["gpus"] == 1
    assert f"{value!r} is ignored" in notes(found)


def test_all_memory_is_that_of_the_node() -> None:
    found = converted("--mem=0", "--gpus-per-node=3", sizes=(LARGE, MIDDLE, SMALL))
    assert asks(found)["memory"] == "256G"
    assert asks(found)["gpus"] == 3
    assert "all memory of the node: 256G" in notes(found)


def test_every_node_of_several_is_taken_whole() -> None:
    found = converted("--exclusive", "--nodes=2", "--gpus-per-node=8", sizes=(LARGE, SMALL))
    assert asks(found) == {"cpus": 96, "memory": "1T", "gpus": 8}
    assert found.jobs[0].spec.tasks == 2


@pytest.mark.parametrize(
    ("constraint", "model", "labels"),
    [
        ("v100-32g", "v100-32g", ()),
        ("gpu_v100", "v100", ()),
        ("t4|h100", "t4", ()),
        ("h100|t4", "t4", ()),
        ("[h100|h200]", "h100", ()),
        ("v100&nvlink", "v100", ("nvlink",)),
        ("(v100|t4)&nvlink&fast", "v100", ("nvlink",)),
        ("nvlink", None, ("nvlink",)),
        ("skylake", None, ()),
        ("t4|v100", None, ()),
    ],
)
def test_a_constraint_names_models_and_labels(
    constraint: str, model: str | None, labels: tuple[str, ...]
) -> None:
    sizes = (SMALL, MIDDLE) if constraint == "t4|v100" else (SMALL, MIDDLE, LARGE)
    options = ("--gpus=1", f"--constraint='{constraint}'")
    spec = converted(*options, sizes=sizes, labels=("nvlink",)).jobs[0].spec
    assert spec.roles[0].resources.gpus.model == model
    assert spec.nodes.labels == labels


@pytest.mark.parametrize(
    ("spec", "machine"),
    [
        ("ecs.gn7i-c32g1.32xlarge", Machine(128, 752, 4, "A10")),
        ("ecs.gn7i-c8g1.2xlarge", Machine(8, 30, 1, "A10")),
        ("ecs.gn7i-8x.16xlarge", Machine(64, 256, 8, "A10")),
        ("ecs.gn6v-c10g1.20xlarge", Machine(82, 336, 8, "V100")),
        ("ecs.gn6e-c12g1.24xlarge", Machine(96, 736, 8, "V100")),
        ("ecs.gn6i-c24g1.12xlarge", Machine(48, 186, 2, "T4")),
        ("ecs.gn7-c13g1.26xlarge", Machine(104, 756, 8, "A100")),
        ("ecs.gn7e-c16g1.16xlarge", Machine(64, 500, 4, "A100")),
        ("ecs.ebmgn7i.32xlarge", Machine(128, 768, 4, "A10")),
        ("ecs.g6.2xlarge", Machine(8, 32)),
        ("ecs.gn99x-c1g1.xlarge", None),
    ],
)
def test_instance_types_have_their_true_memory(spec: str, machine: Machine | None) -> None:
    assert machine_of(spec) == machine
