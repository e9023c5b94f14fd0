"""The backfill experiment: its anchors, and a trace of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.easy import easy, fifo, slowdown
from bench.measure import Options
from bench.traces import Machine, Missing, Rigid, find, read_swf

from bench import backfill
from danlu.sched.api import QueuePolicy
from tests.bench.trace import as_swf, rigid

LONG, WIDE, SHORT, LATE = Rigid(0, 100, 6), Rigid(1, 50, 8), Rigid(2, 90, 2), Rigid(3, 99, 2)


def test_plain_fifo_lets_nobody_pass() -> None:
    assert fifo([LONG, WIDE, SHORT], 8) == [0, 100, 150]


def test_easy_lets_pass_what_ends_before_the_first_can_start() -> None:
    assert easy([LONG, WIDE, SHORT], 8) == [0, 100, 2]
    assert easy([LONG, WIDE, LATE], 8) == [0, 100, 150]


def test_easy_goes_by_what_is_planned_and_not_by_what_comes_true() -> None:
    doubtful = Rigid(2, 90, 2, requested=200)
    assert easy([LONG, WIDE, doubtful], 8) == [0, 100, 150]


def test_ten_seconds_count_as_much_as_one() -> None:
    assert slowdown(Rigid(0, 1, 1), 99) == 10
    assert slowdown(Rigid(0, 1, 1), 0) == 1


@pytest.mark.parametrize("requested", [False, True])
def test_the_order_easy_of_the_scheduler_is_the_textbook_one(requested: bool) -> None:
    jobs = [
        Rigid(job.submit, job.run, job.width, job.run * (1 + i % 4) if requested else 0)
        for i, job in enumerate(rigid(300, 64))
    ]
    machine = Machine(64, jobs)
    assert backfill.replay(jobs, machine, QueuePolicy("easy")) == easy(jobs, 64)


@pytest.mark.parametrize("seed", range(4))
def test_under_fifo_nobody_is_later_than_if_nobody_had_passed(seed: int) -> None:
    jobs = rigid(250, 100, seed)
    starts = backfill.replay(jobs, Machine(100, jobs), backfill.FIFO)
    plain = fifo(jobs, 100)
    assert [i for i in range(len(jobs)) if starts[i] > plain[i]] == []
    assert sum(starts) < sum(plain)


def test_a_trace_of_ones_own_is_replayed_exactly_and_by_what_people_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [Rigid(job.submit, job.run, job.width, 3 * job.run) for job in rigid(120, 100)]
    path = as_swf(jobs, tmp_path / "t.swf", "MaxProcs: 100")
    rows = list(backfill.run(Options(rounds=1, trace=str(path))))
    figures = {row.what: row for row in rows}
    assert figures["fifo: jobs later than under plain FIFO"].met
    assert figures["fifo: average bounded slowdown"].met
    assert figures["short-first: average bounded slowdown"].met
    assert "short-first, uncapped: longest wait (s)" in figures
    assert "fifo, by requested times: average bounded slowdown" in figures
    assert "RLScheduler" not in {row.anchor_name for row in rows}
    assert "fifo window 1" in capsys.readouterr().err


def test_a_trace_that_is_not_there_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        list(backfill.run(Options(trace=str(tmp_path / "none.swf"))))
    assert ended.value.code == 2
    assert "none.swf" in capsys.readouterr().err


def test_the_anchor_on_the_published_windows_is_the_known_one() -> None:
    try:
        machine = read_swf(find("lublin/lublin_256.swf"))
    except Missing as missing:
        pytest.skip(str(missing))
    windows = machine.windows(10)
    found = backfill._mean([backfill._figures(w, easy(w, 256), machine) for w in windows])
    assert round(found.slowdown, 2) == 271.40
    assert round(found.longest) == 250_645
