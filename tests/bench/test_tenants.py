"""The experiments with tenants: private machines against one cluster, and its fragments."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from bench.easy_nodes import easy, fit
from bench.traces import Tenancy, Tenanted

from bench import fragments, tenants
from danlu.sched.api import Policy
from danlu.sched.decide import decide
from tests.bench.trace import tenanted
from tests.sched.cluster import cluster, job

NODES = {"red": 1, "blue": 2}


def test_best_fit_takes_the_fullest_node_and_then_the_first() -> None:
    assert fit([8, 3, 2, 2], 2) == [(2, 2)]
    assert fit([8, 8, 5, 8], 20) == [(0, 8), (1, 8), (2, 4)]
    assert fit([8, 7, 7], 16) is None


def test_private_easy_keeps_the_first_in_line_safe() -> None:
    jobs = [Tenanted(0, 100, 6, "a"), Tenanted(1, 50, 8, "a"), Tenanted(2, 90, 2, "a")]
    assert easy(jobs, 1).starts == [0, 100, 2]
    longer = replace(jobs[2], run=99)
    assert easy([*jobs[:2], longer], 1).starts == [0, 100, 150]


def test_time_in_which_the_first_waits_beside_scattered_free_gpus_is_counted() -> None:
    # Five and five of eight GPUs on two nodes: six are free, four of them are asked for.
    jobs = [Tenanted(0, 100, 5, "a"), Tenanted(0, 200, 5, "a"), Tenanted(10, 10, 4, "a")]
    found = easy(jobs, 2)
    assert found.starts == [0, 0, 100]
    assert found.fragmented == 90


def test_lending_leaves_nobody_worse_off_and_the_average_better() -> None:
    jobs = tenanted(400)
    tenancy = Tenancy(jobs, NODES)
    private = tenants._private(jobs, NODES)
    waits = tenants.by_tenant(jobs, tenants.replay(jobs, tenancy, tenants.RULES).starts)
    assert {t: len(own) for t, own in waits.items()} == {t: len(o) for t, o in private.items()}
    assert {t for t in waits if fmean(waits[t]) > fmean(private[t])} == set()
    everybody = [wait for own in waits.values() for wait in own]
    alone = [wait for own in private.values() for wait in own]
    assert fmean(everybody) < fmean(alone)


def test_consolidation_takes_few_moves_and_leaves_fewer_fragments() -> None:
    jobs = tenanted(400)
    tenancy = Tenancy(jobs, NODES)
    still = fragments.Watch()
    tenants.replay(jobs, tenancy, tenants.RULES, still)
    hours, moves, _ = fragments._measure(jobs, tenancy)
    assert 0 < moves < len(jobs) / 10
    assert hours < still.seconds / 3600


def test_the_watch_counts_from_one_pass_to_the_next_while_the_first_would_fit_in_the_sum() -> None:
    watch = fragments.Watch()
    waits = cluster("n1 8x3090 -4\nn2 8x3090 -4", job("a", "6", 1))
    watch(waits, decide(waits, Policy("easy")))
    later = replace(waits, now=waits.now + 60)
    watch(later, decide(later, Policy("easy")))
    assert watch.seconds == 60
    full = replace(cluster("n1 8x3090 -8", job("a", "6", 1)), now=waits.now + 90)
    watch(full, decide(full, Policy("easy")))
    watch(replace(full, now=waits.now + 200), decide(full, Policy("easy")))
    assert watch.seconds == 90
