"""The experiment with start-time estimates."""

from __future__ import annotations

from bench.traces import Machine

from bench import eta
from tests.bench.trace import rigid


def test_everybody_who_waits_got_an_estimate_and_learning_makes_it_better() -> None:
    jobs = rigid(300, 64)
    found = eta.Found()
    eta._window(Machine(64, jobs), jobs, 1, found)
    assert found.unanswered == 0
    assert found.waited > 100
    assert sum(found.errors) < sum(found.plain)
    assert found.share > 50


def test_the_rows_speak_of_all_estimates_together() -> None:
    one = eta.Found([10.0], [100.0], held=1)
    two = eta.Found([30.0, 20.0], [100.0, 300.0], held=1, unanswered=1)
    rows = list(eta._rows(eta._together([one, two])))
    assert rows[0].what == "waiting jobs without an ETA, of 4"
    assert (rows[0].danlu, rows[0].met) == (1, False)
    assert rows[1].ratio == 20 / (500 / 3)
    assert rows[1].met
    assert [row.danlu for row in rows[2:]] == [50, 50]
    assert [row.met for row in rows[2:]] == [False, True]
