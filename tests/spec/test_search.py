"""Spaces of values: every trial gets its point, the same one every time."""

from __future__ import annotations

import pytest

from danlu.spec.errors import Wrong
from danlu.spec.job import Sampling, Search
from danlu.spec.search import flat, grid_size, point, read_search

SPACE = {
    "lr": {"type": "log", "minval": -3, "maxval": -1, "count": 3},
    "model": {"layers": {"type": "int", "minval": 1, "maxval": 4, "count": 2}, "name": "vit"},
    "opt": {"type": "categorical", "vals": ["sgd", "adam"]},
    "drop": {"type": "double", "minval": 0.0, "maxval": 0.5, "count": 2},
    "seed": {"type": "const", "val": 7},
}


def test_a_grid_holds_every_combination_once() -> None:
    search = Search(SPACE, Sampling.GRID)
    size = grid_size(search)
    points = [point(search, number) for number in range(size)]
    assert size == 3 * 2 * 2 * 2
    assert len({str(flat(each)) for each in points}) == size
    assert points[0] == {
        "lr": pytest.approx(0.001),
        "model": {"layers": 1, "name": "vit"},
        "opt": "sgd",
        "drop": 0.0,
        "seed": 7,
    }
    assert {each["lr"] for each in points} == {0.001, 0.01, 0.1}
    assert {each["model"]["layers"] for each in points} == {1, 4}


def test_a_random_search_repeats_itself_and_stays_within_its_bounds() -> None:
    search = Search(SPACE, Sampling.RANDOM, seed=3)
    points = [point(search, number) for number in range(50)]
    assert points == [point(search, number) for number in range(50)]
    assert points != [point(Search(SPACE, Sampling.RANDOM, seed=4), n) for n in range(50)]
    assert all(0.001 <= each["lr"] <= 0.1 for each in points)
    assert all(1 <= each["model"]["layers"] <= 4 for each in points)
    assert len({each["lr"] for each in points}) > 40


def test_flat_names_say_the_way() -> None:
    assert flat({"a": {"b": {"c": 1}}, "d": [2]}) == {"a.b.c": 1, "d": [2]}


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"x": {"type": "double", "minval": 2, "maxval": 1}}, "minval not larger"),
        ({"x": {"type": "int", "minval": "a", "maxval": 1}}, "minval"),
        ({"x": {"type": "categorical", "vals": []}}, "vals"),
        ({"x": {"type": "gauss"}}, "const, int, double, log, categorical"),
        ({"x": {"type": "log", "minval": 0, "maxval": 10**6}}, "exponents"),
        ({"x": {"type": "const"}}, "val"),
    ],
)
def test_what_is_wrong_with_a_space_is_told(space: dict[str, object], said: str) -> None:
    with pytest.raises(Wrong) as caught:
        read_search({"space": space})
    assert said in str(caught.value)


def test_a_grid_without_a_count_is_refused() -> None:
    with pytest.raises(Wrong) as caught:
        read_search(
            {"space": {"x": {"type": "double", "minval": 0, "maxval": 1}}, "sampling": "grid"}
        )
    assert "count" in str(caught.value)
