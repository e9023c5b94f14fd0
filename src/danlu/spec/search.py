"""Hyperparameter search: a space of values, and the point each trial gets.

Pure and reproducible: the same space, seed and number give the same point, so only the space is
stored, however many trials there are.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from danlu.spec.errors import Path, Wrong, wrong
from danlu.spec.fields import choice, integer, read_number
from danlu.spec.forms import Collected
from danlu.spec.job import Sampling, Search
from danlu.spec.text import Text

MOST_POINTS = 100_000
MOST_PARAMETERS = 500
DEEPEST = 8
KINDS = ("const", "int", "double", "log", "categorical")

_seed = integer(0, 2**32 - 1)
_sampling = choice(Sampling)
_count = integer(1, MOST_POINTS)

Values = dict[str, Any]


def read_search(value: object) -> Search:
    """Raises `Wrong`."""
    if not isinstance(value, Mapping) or not isinstance(value.get("space"), Mapping):
        raise wrong(
            value,
            Text(
                "is not a search; write {space: {lr: {type: log, minval: -4, maxval: -1}},"
                " sampling: grid, seed: 0}",
                "不是搜索；请写 {space: {lr: {type: log, minval: -4, maxval: -1}},"
                " sampling: grid, seed: 0}",
            ),
        )
    found = Collected()
    found.keys(value, ("space", "sampling", "seed"))
    sampling, seed = value.get("sampling"), value.get("seed")
    method = Sampling.RANDOM if sampling is None else found.read(_sampling, sampling, "sampling")
    number = 0 if seed is None else found.read(_seed, seed, "seed")
    found.read(check_space, value["space"], "space")
    found.done()
    search = Search(value["space"], method or Sampling.RANDOM, number or 0)
    if search.sampling is Sampling.GRID:
        found.read(lambda _: grid_size(search), None, "space")
        found.done()
    return search


def check_space(space: Mapping[str, Any]) -> None:
    """Raises `Wrong` with all errors in it."""
    found = Collected()
    for number, (path, leaf) in enumerate(leaves(space)):
        if number >= MOST_PARAMETERS:
            found.add(space, Text(f"has more than {MOST_PARAMETERS} parameters", "参数过多"), path)
            break
        found.read(_check_leaf, leaf, *path)
    found.done()


def leaves(space: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every parameter of a nested space."""
    for name, value in space.items():
        place = (*path, name)
        if isinstance(value, Mapping) and not is_parameter(value) and len(place) < DEEPEST:
            yield from leaves(value, place)
        else:
            yield place, value


def is_parameter(value: object) -> bool:
    """A parameter such as {type: int, ...}; a mapping without a type is a group of parameters."""
    return isinstance(value, Mapping) and isinstance(value.get("type"), str)


def _check_leaf(leaf: object) -> None:
    if not is_parameter(leaf) or not isinstance(leaf, Mapping):
        return
    kind = leaf["type"]
    if kind not in KINDS:
        every = ", ".join(KINDS)
        raise wrong(kind, Text(f"is not one of: {every}", f"不是以下之一：{every}"), ("type",))
    if kind == "const":
        if "val" not in leaf:
            raise wrong(leaf, Text("lacks val", "缺少 val"))
    elif kind == "categorical":
        if not isinstance(leaf.get("vals"), list) or not leaf["vals"]:
            raise wrong(leaf, Text("lacks a list of vals", "缺少 vals 列表"), ("vals",))
    else:
        _check_range(leaf)


def _check_range(leaf: Mapping[str, Any]) -> None:
    low, high = read_number(leaf.get("minval")), read_number(leaf.get("maxval"))
    if low is None or high is None or low > high:
        raise wrong(
            leaf,
            Text(
                "needs minval and maxval, with minval not larger",
                "需要 minval 和 maxval，且前者不大",
            ),
        )
    base = leaf.get("base")
    if leaf["type"] == "log":
        number = 10.0 if base is None else read_number(base)
        if number is None or number <= 0 or max(abs(low), abs(high)) * math.log10(number + 1) > 300:
            raise wrong(
                base, Text("is not a valid base for these exponents", "不是可用的底数"), ("base",)
            )
    if leaf.get("count") is not None:
        try:
            _count(leaf["count"])
        except Wrong as error:
            raise Wrong(found.below(("count",)) for found in error.findings) from None


def grid_size(search: Search) -> int:
    """How many points a grid has. Raises `Wrong` if a parameter has no finite axis."""
    size = 1
    for path, leaf in leaves(search.space):
        size *= len(_axis(leaf, path))
        if size > MOST_POINTS:
            raise wrong(
                size,
                Text(f"points exceed the limit of {MOST_POINTS}", f"个点，超过 {MOST_POINTS}"),
                path,
            )
    return size


def point(search: Search, number: int) -> Values:
    """The values of one trial, nested like the space."""
    found = list(leaves(search.space))
    if search.sampling is Sampling.GRID:
        axes = [_axis(leaf, path) for path, leaf in found]
        chosen = _nth(axes, number)
    else:
        # A string seed gives the same result on every machine and version.
        dice = random.Random(f"{search.seed}/{number}")
        chosen = [_sample(leaf, dice) for _, leaf in found]
    values: Values = {}
    for (path, _), value in zip(found, chosen, strict=True):
        place = values
        for part in path[:-1]:
            place = place.setdefault(str(part), {})
        place[str(path[-1])] = value
    return values


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """{optimizer: {lr: 1}} as {optimizer.lr: 1}."""
    return {".".join(map(str, path)): value for path, value in leaves(values)}


def _nth(axes: list[list[Any]], number: int) -> list[Any]:
    """The last axis varies fastest, as in `itertools.product`."""
    chosen: list[Any] = []
    for axis in reversed(axes):
        number, index = divmod(number, len(axis))
        chosen.append(axis[index])
    return chosen[::-1]


def _axis(leaf: Any, path: Path) -> list[Any]:
    if not is_parameter(leaf):
        return [leaf]
    match leaf["type"]:
        case "const":
            return [leaf["val"]]
        case "categorical":
            return list(leaf["vals"])
        case "int":
            return _integers(leaf)
    count = leaf.get("count")
    if count is None:
        raise wrong(
            leaf,
            Text(
                "needs a count for a grid: how many values of the range to try",
                "网格搜索需要 count：在范围内取多少个值",
            ),
            path,
        )
    low, high, steps = float(leaf["minval"]), float(leaf["maxval"]), int(count)
    spots = [low + (high - low) * step / max(1, steps - 1) for step in range(steps)]
    return [_scaled(leaf, spot) for spot in spots]


def _integers(leaf: Mapping[str, Any]) -> list[Any]:
    low, high = int(float(leaf["minval"])), int(float(leaf["maxval"]))
    every = high - low + 1
    count = int(leaf["count"]) if leaf.get("count") is not None else every
    if count > MOST_POINTS:
        raise wrong(count, Text("values are too many for a grid", "个值，超出网格搜索的上限"))
    if count >= every:
        return list(range(low, high + 1))
    spots = (low + (high - low) * step / max(1, count - 1) for step in range(count))
    return list(dict.fromkeys(round(spot) for spot in spots))


def _sample(leaf: Any, dice: random.Random) -> Any:
    if not is_parameter(leaf):
        return leaf
    match leaf["type"]:
        case "const":
            return leaf["val"]
        case "categorical":
            return dice.choice(leaf["vals"])
        case "int":
            return dice.randint(int(float(leaf["minval"])), int(float(leaf["maxval"])))
    return _scaled(leaf, dice.uniform(float(leaf["minval"]), float(leaf["maxval"])))


def _scaled(leaf: Mapping[str, Any], spot: float) -> float:
    if leaf["type"] != "log":
        return spot
    base: float = float(leaf["base"]) if leaf.get("base") is not None else 10.0
    return float(base**spot)
