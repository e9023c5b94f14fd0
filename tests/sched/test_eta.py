"""When it should start: from limits, from history, or why nobody can say."""

from __future__ import annotations

from dataclasses import replace

from danlu.sched.api import Cause, CauseKind, EtaBasis, Policy, Running, TaskPlace, TaskShape
from danlu.sched.eta import estimate
from danlu.sched.history import Book, History
from tests.sched.cluster import cluster, job


def holds(name: str, cards: int, end: float | None, owner: str = "bob") -> Running:
    indexes = tuple(range(cards))
    shapes, places = (TaskShape(1, 1, cards),), (TaskPlace("n1", indexes),)
    return Running(name, f"{owner}/{name}", owner, 0.0, end, {"n1": indexes}, shapes, places)


def test_a_job_that_fits_starts_now() -> None:
    eta = estimate(cluster("n1 4x3090", job("a", "2", 1)), Policy(), "a")
    assert (eta.p50, eta.p90, eta.basis) == (0.0, 0.0, EtaBasis.NOW)


def test_with_limits_only_it_starts_when_the_limit_of_the_holder_is_reached() -> None:
    snapshot = cluster("n1 4x3090 -3", job("a", "2", 1), running=(holds("r", 3, 500.0),))
    eta = estimate(snapshot, Policy(), "a")
    assert eta.p50 == 500.0
    assert eta.p90 is not None and eta.p90 > 500.0
    assert eta.basis is EtaBasis.LIMITS
    assert (eta.after, eta.after_owner) == ("bob/r", "bob")


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
    snapshot = cluster("n1 4x3090 -3", job("a", "2", 1), running=(holds("r", 3, 540.0),))
    eta = estimate(replace(snapshot, history=History(errors=errors)), Policy(), "a")
    assert eta.p90 == 4 * 600.0 - 60.0


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
