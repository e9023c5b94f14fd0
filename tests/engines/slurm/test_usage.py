"""What tasks say about their GPUs: read from nvidia-smi there, believed only of their own here."""

from __future__ import annotations

from danlu.engines.slurm.node.measure import read_gpus
from danlu.engines.slurm.usage import gpus_of

ALL = "0, 11, 100, 40, 70.5\n1, 22, 200, 41, 71\n2, 33, 300, 42, [N/A]\n"


def test_a_task_that_sees_all_gpus_tells_of_its_own() -> None:
    assert read_gpus(ALL, [2, 0]) == [
        [0.33, 300 << 20, 42.0, None],
        [0.11, 100 << 20, 40.0, 70.5],
    ]


def test_a_task_that_sees_only_its_own_numbers_them_from_zero() -> None:
    found = read_gpus("0, 50, 10, 30, 40\n1, 60, 20, 31, 41\n", [3, 4])
    assert [row[0] for row in found] == [0.5, 0.6]


def test_what_nvidia_smi_says_instead_is_no_usage() -> None:
    assert read_gpus("No devices were found\n", [0]) == []
    assert read_gpus(ALL, [7]) == []


def test_nobody_speaks_of_the_gpus_of_others() -> None:
    (first, second) = gpus_of([[0.5, 1 << 20, 30, 40], [9, None, None, None]], (3, 4))
    assert (first.index, first.utilisation, first.memory) == (3, 0.5, 1 << 20)
    assert (second.index, second.utilisation, second.memory) == (4, 1.0, None)
    assert gpus_of([[0.5, 1, 2, 3]] * 3, (3,)) == ()
    assert gpus_of("many", (3,)) == ()
    assert gpus_of(["x"], (3,))[0].utilisation is None
