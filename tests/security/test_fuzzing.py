"""To crash, hang or swell what listens, by bytes of any kind. Hours of it: scripts/fuzz."""

from __future__ import annotations

import os

import pytest

from tests.security import fuzzing

SECONDS = 2.0


@pytest.mark.parametrize("name", fuzzing.TARGETS)
def test_noise_is_refused_and_nothing_breaks(name: str) -> None:
    seed = int.from_bytes(os.urandom(4))
    assert fuzzing.run(name, SECONDS, seed) > 10
