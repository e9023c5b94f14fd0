"""How traces are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.traces import WINDOW, Machine, Missing, Rigid, gang, read_philly, read_swf

from tests.bench.trace import as_swf, rigid


def test_the_header_says_how_large_the_machine_is(tmp_path: Path) -> None:
    jobs = [Rigid(0, 10, 4), Rigid(5, 20, 96, requested=60)]
    path = as_swf(jobs, tmp_path / "t.swf", "Version: 2.2", "MaxNodes: 16", "MaxProcs: 128", "")
    machine = read_swf(path)
    assert machine.width == 128
    assert machine.jobs == jobs


def test_without_a_header_the_machine_is_as_large_as_the_largest_job(tmp_path: Path) -> None:
    machine = read_swf(as_swf(rigid(20, 64), tmp_path / "t.swf"))
    assert machine.width == max(job.width for job in machine.jobs)


def test_what_never_ran_is_left_out_and_jobs_come_in_the_order_of_submission(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.swf"
    path.write_text("1 30 -1 5 2\n2 10 -1 -1 2\n3 20 -1 0 2\n4 5 -1 7 -1 -1 -1 3 9\n")
    assert read_swf(path).jobs == [Rigid(5, 7, 3, 9), Rigid(20, 1, 2), Rigid(30, 5, 2)]


def test_requested_times_can_be_left_aside(tmp_path: Path) -> None:
    path = as_swf([Rigid(0, 10, 4, requested=60), Rigid(1, 10, 4)], tmp_path / "t.swf")
    machine = read_swf(path)
    assert machine.has_requests
    assert [job.planned for job in machine.jobs] == [60, 10]
    assert not machine.exact().has_requests
    assert [job.planned for job in machine.exact().jobs] == [10, 10]


@pytest.mark.parametrize("text", ["", "; MaxProcs: 8\n", "one two three four five\n", "1 2\n"])
def test_a_file_in_another_format_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.swf"
    path.write_text(text)
    with pytest.raises(Missing, match=r"t\.swf"):
        read_swf(path)


def test_a_short_trace_has_windows_spread_evenly_over_it() -> None:
    machine = Machine(64, rigid(2 * WINDOW, 64))
    windows = machine.windows(10)
    assert [len(window) for window in windows] == [WINDOW] * 10
    assert windows[0][0] == machine.jobs[0]
    assert windows[-1][-1] == machine.jobs[-1]
    assert len(Machine(64, rigid(50, 64)).windows(2)[0]) == 50


def test_a_large_job_takes_whole_nodes_and_a_remainder() -> None:
    assert [shape.gpus for shape in gang(20)] == [8, 8, 4]
    assert [shape.gpus for shape in gang(8)] == [8]


def test_the_tenants_are_those_of_the_experiment() -> None:
    try:
        tenancy = read_philly()
    except Missing as missing:
        pytest.skip(str(missing))
    assert len(tenancy.jobs) == 68_503
    assert len(tenancy.nodes) == 11
    assert sum(tenancy.nodes.values()) == 83
