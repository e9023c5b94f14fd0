"""When it should start: from limits, from history, or why nobody can say."""

from __future__ import annotations

from dataclasses import replace

from danlu.sched.api import (
    Cause,
    CauseKind,
    Eta,
    EtaBasis,
    Policy,
    QueuePolicy,
    Quota,
    Quotas,
    Running,
    Snapshot,
    TaskShape,
)
from danlu.sched.estimate.eta import estimate
from danlu.sched.estimate.history import Book, History
from danlu.sched.explain.advice import rounded
from danlu.sched.explain.explain import explain
from danlu.spec.placement import Placement
from tests.sched.cluster import cluster, job


def holds(name: str, gpus: int, end: float | None, owner: str = "bob") -> Running:
    indexes = tuple(range(gpus))
    shapes, places = (TaskShape(1, 1, gpus),), (Placement("n1", indexes),)
    return Running(name, f"{owner}/{name}", owner, 0.0, end, {"n1": indexes}, shapes, places)


def test_a_job_that_fits_starts_now() -> None:
    eta = estimate(cluster("n1 4x3090", job("a", "2", 1)), Policy(), "a")
    assert (eta.p50, eta.p90, eta.basis) == (0.0, 0.0, EtaBasis.NOW)


def test_with_limits_only_it_starts_when_the_limit_of_the_holder_is_reached() -> None:
    snapshot = cluster("n1 4x3090 -3", job("a", "2", 1), running=(holds("r", 3, 500.0),))
    eta = estimate(snapshot, Policy(), "a")
    assert eta.p50 == 500.0
    assert eta.p90 == 500.0, "the limit holds: it cannot be later"
    assert eta.basis is EtaBasis.LIMITS
    assert eta.after == "bob/r"


def test_history_says_that_limits_are_not_reached() -> None:
    book = Book()
    for _ in range(20):
        book.ended("x", "", (TaskShape(1, 1, 1),), 1000.0, 250.0)
    snapshot = cluster("n1 4x3090 -3", job("a", "2", 1), running=(holds("r", 3, 500.0),))
    eta = estimate(replace(snapshot, history=book.history()), Policy(), "a")
    assert eta.p50 == 125.0
    assert eta.basis is EtaBasis.HISTORY


def test_the_jobs_ahead_are_counted() -> None:
    snapshot = cluster(
        "n1 4x3090 -3",
        job("first", "4", 1, time_limit=100.0),
        job("a", "4", 2, time_limit=50.0),
        running=(holds("r", 3, 500.0),),
    )
    assert estimate(snapshot, Policy(), "a").p50 == 600.0


def test_past_errors_make_the_cautious_estimate() -> None:
    errors = tuple(sorted([1.0] * 80 + [4.0] * 20))
    open_end = replace(holds("r", 3, None), expected_end=540.0)
    snapshot = cluster("n1 4x3090 -3", job("a", "2", 1), running=(open_end,))
    eta = estimate(replace(snapshot, history=History(errors=errors)), Policy(), "a")
    assert eta.p90 == 4 * 600.0 - 60.0


def test_the_cautious_estimate_is_never_beyond_a_known_limit() -> None:
    errors = tuple(sorted([1.0] * 80 + [4.0] * 20))
    snapshot = cluster("n1 4x3090 -3", job("a", "2", 1), running=(holds("r", 3, 1800.0),))
    eta = estimate(replace(snapshot, history=History(errors=errors)), Policy(), "a")
    assert (eta.p50, eta.p90) == (1800.0, 1800.0)


def test_so_it_is_for_a_job_that_fits_and_stays_back() -> None:
    """Whether it waits for a reservation or just for the next end."""
    errors = tuple(sorted([1.0] * 80 + [4.0] * 20))
    snapshot = cluster("n1 4x3090 -3", job("a", "1", 1), running=(holds("r", 3, 1800.0),))
    snapshot = replace(snapshot, history=History(errors=errors))
    for numbers in ({}, {"at": 1200.0}):
        kept = Cause(CauseKind.RESERVED, numbers=dict(numbers))
        eta = estimate(snapshot, Policy(), "a", causes=[kept])
        assert eta.p50 == numbers.get("at", 1800.0)
        assert eta.p90 == 1800.0


def test_what_other_kinds_of_jobs_took_says_nothing() -> None:
    book = Book()
    for _ in range(11):
        book.ended("x", "tiny", (TaskShape(1, 1, 0),), None, 0.5)
    snapshot = cluster("n1 4x3090 -3", job("a", "2", 1), running=(holds("r", 3, None),))
    eta = estimate(replace(snapshot, history=book.history()), Policy(), "a")
    assert (eta.p50, eta.why) == (None, "no_limit")


def test_clock_and_distance_say_the_same() -> None:
    now = 47_880.0 + 17.0  # 13:18
    for ahead in (29 * 60.0, 61.0, 3 * 3600.0, 86_400.0):
        shown = rounded(now + ahead, now)
        assert ahead <= shown - now < ahead + 3600
        assert (shown - now) % 60 == 0, "whole minutes from now"


def test_without_limits_and_history_nobody_can_say_and_the_job_in_the_way_is_named() -> None:
    snapshot = cluster("n1 4x3090 -3", job("a", "2", 1), running=(holds("r", 3, None),))
    eta = estimate(snapshot, Policy(), "a")
    assert (eta.p50, eta.why, eta.after) == (None, "no_limit", "bob/r")


def test_larger_than_everything_is_never() -> None:
    eta = estimate(cluster("n1 4x3090", job("a", "2*4", 1)), Policy(), "a")
    assert (eta.p50, eta.why) == (None, "never")


def test_a_held_job_has_no_estimate() -> None:
    waiting = job("a", "2", 1, blocked=Cause(CauseKind.HELD))
    assert estimate(cluster("n1 4x3090", waiting), Policy(), "a").why == "blocked"


def told(snapshot: Snapshot, name: str, policy: Policy | None = None) -> Eta:
    eta = explain(snapshot, policy or Policy(), name, suggest=False).eta
    assert eta is not None
    return eta


def test_over_a_quota_it_starts_when_enough_of_its_owner_s_jobs_have_ended() -> None:
    snapshot = cluster(
        "n1 8x3090 -4",
        job("first", "1", 1, time_limit=100.0),
        job("a", "3", 2),
        running=(holds("r", 3, 500.0, "u"), holds("other", 1, 50.0)),
        quotas=Quotas(users={"u": Quota(gpus=3000)}),
    )
    first, then = told(snapshot, "first"), told(snapshot, "a")
    assert (first.p50, first.after) == (500.0, "u/r")
    assert then.p50 == 600.0


def test_the_quota_of_a_group_opens_with_the_jobs_of_all_its_members() -> None:
    mine = replace(holds("r", 2, 500.0), group="vision")
    snapshot = cluster(
        "n1 8x3090 -2",
        job("a", "1:3090", 1, group="vision"),
        running=(mine,),
    )
    for quota in (Quota(gpus=2000), Quota(models={"3090": 2000}), Quota(cpus=1.5)):
        eta = told(replace(snapshot, quotas=Quotas(groups={"vision": quota})), "a")
        assert (eta.p50, eta.after) == (500.0, "bob/r")


def test_a_quota_held_by_a_job_without_a_limit_has_no_estimate_and_names_it() -> None:
    snapshot = cluster(
        "n1 4x3090 -2",
        job("a", "1", 1),
        running=(holds("r", 2, None, "u"),),
        quotas=Quotas(users={"u": Quota(gpus=2000)}),
    )
    eta = told(snapshot, "a")
    assert (eta.p50, eta.why, eta.after) == (None, "no_limit", "u/r")


def test_more_than_the_quota_ever_allows_has_no_estimate() -> None:
    quotas = Quotas(users={"u": Quota(gpus=2000)})
    eta = told(cluster("n1 4x3090", job("a", "3", 1), quotas=quotas), "a")
    assert (eta.p50, eta.why) == (None, "quota")


def test_who_stays_back_for_others_is_not_told_that_he_starts_now() -> None:
    """The first needs all GPUs; the second would fit, but nobody knows how long it runs."""
    snapshot = cluster(
        "n1 4x3090 -3",
        job("first", "4", 1, time_limit=100.0),
        job("a", "1", 2),
        running=(holds("r", 3, 500.0),),
    )
    assert told(snapshot, "first").p50 == 500.0
    assert told(snapshot, "a").p50 == 600.0
    assert told(snapshot, "a", Policy(backfill=False)).p50 == 600.0


def test_an_element_over_its_array_s_limit_starts_when_others_have_ended() -> None:
    elements = [
        replace(job(name, "1", number, time_limit=50.0), array="x", array_limit=2, name="sweep")
        for number, name in enumerate("abc", 1)
    ]
    running = [
        replace(holds(f"r{end}", 1, float(end), "u"), name="sweep", ref=f"u/sweep[{end}]")
        for end in (100, 200)
    ]
    snapshot = cluster("n1 8x3090 -2", *elements, running=tuple(running), array_active={"x": 2})
    assert [told(snapshot, name).p50 for name in "abc"] == [100.0, 150.0, 200.0]
    assert told(snapshot, "a").after == "u/sweep[100]"


def test_who_may_not_use_gpus_that_are_others_by_right_is_told_when_something_changes() -> None:
    snapshot = cluster(
        "n1 4x3090 -2",
        job("a", "1", 1),
        running=(holds("r", 2, 500.0),),
        quotas=Quotas(groups={"vision": Quota(guaranteed=2000)}),
    )
    eta = told(snapshot, "a", Policy(queues={"default": QueuePolicy(lend=False)}))
    assert (eta.p50, eta.after) == (500.0, "bob/r")
