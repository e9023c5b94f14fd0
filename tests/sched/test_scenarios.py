"""The table of scenarios: tiny clusters, and what the scheduler must do with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sched.scenario import Scenario, scenarios

ALL = list(scenarios(Path(__file__).parent / "scenarios"))


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: f"{scenario.where} {scenario.title}")
def test_scenario(scenario: Scenario) -> None:
    scenario.check()


def test_no_scenario_is_written_twice() -> None:
    titles = [scenario.title for scenario in ALL]
    assert len(set(titles)) == len(titles)
