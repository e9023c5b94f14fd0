"""Counters of engines become rates; what is not known stays unknown."""

from __future__ import annotations

from danlu.engines.api import GpuUsage, NodeUsage, TaskRef, Usage, UsageReport
from danlu.metrics.rates import Rates
from danlu.metrics.values import Kind, Subject

REF = TaskRef("a1", 0, "job")
TASK = Subject(Kind.TASK, "job", 0, "a1")
NODE = Subject(Kind.NODE, "n1")


def report(at: float, task: Usage | None = None, node: NodeUsage | None = None) -> UsageReport:
    return UsageReport(at, {REF: task} if task else {}, {"n1": node} if node else {})


def values(rates: Rates, what: UsageReport, subject: Subject = TASK) -> dict[str, float]:
    return {s.subject: dict(s.values) for s in rates.samples(what)}.get(subject, {})


def test_two_looks_make_a_rate() -> None:
    rates = Rates()
    rates.samples(report(100, Usage(5.0, 1000, 1, 0, 500)))
    found = values(rates, report(110, Usage(25.0, 1000, 1, 100, 500)))
    assert found["cpu"] == 2.0
    assert found["disk_read"] == 10.0
    assert found["disk_written"] == 0


def test_after_the_first_look_of_a_server_no_rate_is_known() -> None:
    assert "cpu" not in values(Rates(), report(100, Usage(5000.0, 1000)))


def test_a_task_that_began_between_two_looks_counts_from_zero() -> None:
    rates = Rates()
    rates.samples(report(100))
    assert values(rates, report(110, Usage(5.0, 1000)))["cpu"] == 0.5


def test_a_node_never_counts_from_zero() -> None:
    rates = Rates()
    rates.samples(report(100))
    assert "cpu" not in values(rates, report(110, None, NodeUsage(1e6, 10)), NODE)


def test_a_counter_that_fell_gives_no_rate() -> None:
    rates = Rates()
    rates.samples(report(100, None, NodeUsage(1e6, 10, net_sent=50)))
    found = values(rates, report(110, None, NodeUsage(1.0, 10, net_sent=150)), NODE)
    assert "cpu" not in found
    assert found["net_sent"] == 10


def test_a_gap_is_bridged_by_the_mean_over_it() -> None:
    rates = Rates()
    rates.samples(report(100, Usage(0.0, 1)))
    assert values(rates, report(160, Usage(60.0, 1)))["cpu"] == 1.0


def test_two_looks_at_the_same_time_make_no_rate() -> None:
    rates = Rates()
    rates.samples(report(100, Usage(0.0, 1)))
    assert "cpu" not in values(rates, report(100, Usage(9.0, 1)))


def test_what_an_ended_task_used_is_forgotten() -> None:
    rates = Rates()
    rates.samples(report(100, Usage(50.0, 1)))
    rates.samples(report(110))
    assert rates._before == {}


def test_a_node_has_the_mean_of_its_gpus_and_each_of_them_is_a_series() -> None:
    node = NodeUsage(
        memory=1, gpus=(GpuUsage(0, 1.0, 100, 70, 300), GpuUsage(1, 0.0, 50), GpuUsage(2))
    )
    samples = {s.subject: s.values for s in Rates().samples(report(100, None, node))}
    assert samples[NODE]["gpu"] == 0.5
    assert samples[NODE]["gpu_memory"] == 150
    assert samples[Subject(Kind.GPU, "n1", 0)] == {
        "gpu": 1.0,
        "gpu_memory": 100,
        "temperature": 70,
        "power": 300,
    }
    assert Subject(Kind.GPU, "n1", 2) not in samples  # nothing is known of it


def test_declared_gpus_have_no_utilisation() -> None:
    found = values(Rates(), report(100, Usage(1.0, 1000)))
    assert found == {"memory": 1000, "processes": 0}
