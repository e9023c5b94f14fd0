from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.slurm import Slurm, real_slurm


@pytest.fixture(scope="session")
def shared_slurm() -> Iterator[Slurm]:
    slurm = real_slurm()
    try:
        yield slurm
    finally:
        slurm.close()


@pytest.fixture
def slurm(shared_slurm: Slurm) -> Iterator[Slurm]:
    """The one Slurm of these tests: with all its nodes, and empty after each of them."""
    shared_slurm.forget_calls()
    yield shared_slurm
    shared_slurm.tidy()
