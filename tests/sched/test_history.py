"""Run times learned from jobs that ended."""

from __future__ import annotations

from danlu.sched.api import TaskShape
from danlu.sched.estimate.history import Book, History, beyond, quantile

ONE = (TaskShape(1, 1, 1),)
FOUR = (TaskShape(1, 1, 4),)


def book(*runs: float, name: str = "train", limit: float | None = None) -> Book:
    found = Book()
    for run in runs:
        found.ended("alice", name, ONE, limit, run)
    return found


def test_the_same_person_name_and_size_says_most() -> None:
    learned = book(100, 110, 120)
    for _ in range(3):
        learned.ended("alice", "train", FOUR, None, 900)
    assert learned.expected("alice", "train", ONE, None) == 110
    assert learned.expected("alice", "train", FOUR, None) == 900


def test_another_size_of_the_same_name_is_better_than_nothing() -> None:
    assert book(100, 110, 120).expected("alice", "train", FOUR, None) == 110


def test_too_few_runs_or_another_person_say_nothing() -> None:
    assert book(100, 110).expected("alice", "train", ONE, None) is None
    assert book(100, 110, 120).expected("bob", "train", ONE, None) is None


def test_quantiles_and_the_limit_bound_what_is_expected() -> None:
    learned = book(*range(1, 101))
    assert learned.expected("alice", "train", ONE, None, 0.9) == 96
    assert learned.expected("alice", "train", ONE, 20.0) == 20.0


def test_a_job_that_ran_long_already_is_compared_with_those_that_ran_longer() -> None:
    assert beyond([1, 2, 3, 10, 20], 0.5, 3) == 20
    assert beyond([1, 2, 3], 0.5, 3) is None
    history = book(*(60, 70, 80, 200, 300) * 4, limit=400).history()
    assert history.likely((), 400.0, ran=100.0) == 300
    assert history.likely((), None) is None, "nothing is known of such jobs"
    assert book(10, 20, limit=400).history().likely((), 400.0) == 400.0, "two say little"


def test_nothing_learned_means_the_limit_or_nothing() -> None:
    assert History().likely((), 50.0) == 50.0
    assert History().likely((), None) is None


def test_few_values_make_a_careful_quantile() -> None:
    assert quantile([1.0, 2.0, 3.0], 0.9) == 3.0
    assert quantile([], 0.9) is None


def test_only_the_last_runs_of_a_kind_are_remembered() -> None:
    learned = book(*[1000.0] * 60, *[10.0] * 50)
    assert learned.expected("alice", "train", ONE, None) == 10
