"""Free capacity of a node, and whether a task fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from danlu.sched.api import ANY, WHOLE, GpuState, NodeState, TaskShape

Static = tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]


class Need:
    """A shape prepared for many comparisons. CPUs are in thousandths, which add up exactly."""

    __slots__ = ("gpus", "indexes", "memory", "millicpus", "model", "models", "shape", "share")

    def __init__(self, shape: TaskShape) -> None:
        self.shape = shape
        self.millicpus = millicpus(shape.cpus)
        self.memory = shape.memory
        self.gpus = shape.gpus
        self.share = shape.share
        self.indexes = shape.indexes
        self.model = shape.model
        self.models = shape.models

    @property
    def any_model(self) -> bool:
        return self.model is None and not self.models

    @property
    def static(self) -> Static | None:
        """Requirements on a node that never change; None if there are none."""
        s = self.shape
        if s.labels or s.volumes or s.include or s.exclude:
            return (s.labels, s.volumes, s.include, s.exclude)
        return None

    def accepts(self, model: str) -> bool:
        return _accepts(self.model, self.models, model)


class Free:
    """Mutable and cheap to copy. Unhealthy GPUs have nothing free."""

    __slots__ = ("gpus", "indexes", "memory", "millicpus", "models", "usable", "whole")

    def __init__(
        self,
        millicpus: int,
        memory: int,
        gpus: list[int],
        indexes: tuple[int, ...],
        models: tuple[str, ...],
        usable: bool,
    ) -> None:
        self.millicpus = millicpus
        self.memory = memory
        self.gpus = gpus  # free thousandths, in the order of `indexes` and `models`
        self.indexes = indexes
        self.models = models
        self.usable = usable
        self.whole = gpus.count(WHOLE)

    @classmethod
    def of(cls, node: NodeState) -> Free:
        """Cached and shared: copy before modifying."""
        memo = _memo(node)
        if memo.now is None:
            memo.now = cls._count(node)
        return memo.now

    @classmethod
    def when_empty(cls, node: NodeState) -> Free:
        """The node with nothing running and nothing broken. Shared, too."""
        memo = _memo(node)
        if memo.empty is None:
            memo.empty = cls._count(emptied(node))
        return memo.empty

    @classmethod
    def of_all(cls, nodes: Sequence[NodeState], empty: bool) -> list[Free]:
        """The same for thousands of nodes, without a call per cached node."""
        count = cls.when_empty if empty else cls.of
        return [
            (memo.empty if empty else memo.now) or count(node)
            if type(memo := node.memo) is _Memo
            else count(node)
            for node in nodes
        ]

    @classmethod
    def _count(cls, node: NodeState) -> Free:
        gpus = [gpu.free if gpu.healthy else 0 for gpu in node.gpus]
        return cls(
            millicpus(node.cpus_free),
            node.memory_free,
            gpus,
            tuple(gpu.index for gpu in node.gpus),
            tuple(gpu.model for gpu in node.gpus),
            node.up and not node.drained,
        )

    def copy(self) -> Free:
        twin = Free.__new__(Free)
        twin.millicpus, twin.memory, twin.usable = self.millicpus, self.memory, self.usable
        twin.gpus, twin.indexes, twin.models = self.gpus[:], self.indexes, self.models
        twin.whole = self.whole
        return twin

    def has(self, need: Need, indexes: Sequence[int]) -> bool:
        """Whether it fits on exactly these GPUs."""
        if not self.usable or need.millicpus > self.millicpus or need.memory > self.memory:
            return False
        amount = need.share or WHOLE
        known = all(index in self.indexes for index in indexes)
        return known and all(self.gpus[at] >= amount for at in self.positions(indexes))

    def least(self, other: Free) -> Free:
        """The minimum of both."""
        twin = self.copy()
        twin.millicpus = min(self.millicpus, other.millicpus)
        twin.memory = min(self.memory, other.memory)
        twin.gpus = list(map(min, self.gpus, other.gpus))
        twin.whole = twin.gpus.count(WHOLE)
        return twin

    def fits(self, need: Need) -> bool:
        if not self.usable or need.millicpus > self.millicpus or need.memory > self.memory:
            return False
        if need.indexes:
            return self._named(need) is not None
        if need.share:
            return self.smallest_part(need) is not None
        if not need.gpus:
            return True
        return self.whole >= need.gpus and self.idle(need) >= need.gpus

    def idle(self, need: Need) -> int:
        """The number of idle GPUs of an accepted model."""
        if need.any_model:
            return self.whole
        return sum(
            free == WHOLE and need.accepts(model)
            for free, model in zip(self.gpus, self.models, strict=True)
        )

    def smallest_part(self, need: Need) -> int | None:
        """The free part of the fullest GPU that has room for its share."""
        if need.any_model:
            return self._smallest(need.share)
        best: int | None = None
        for free, model in zip(self.gpus, self.models, strict=True):
            if free >= need.share and (best is None or free < best) and need.accepts(model):
                best = free
        return best

    def _smallest(self, share: int) -> int | None:
        best = WHOLE + 1
        for free in self.gpus:
            if share <= free < best:
                best = free
        return best if best <= WHOLE else None

    def choose(self, need: Need) -> tuple[int, ...] | None:
        """Positions of the GPUs it would get, lowest first."""
        if need.indexes:
            return self._named(need)
        if need.share:
            part = self.smallest_part(need)
            if part is None:
                return None
            pairs = zip(self.gpus, self.models, strict=True)
            at = next(i for i, (f, m) in enumerate(pairs) if f == part and need.accepts(m))
            return (at,)
        chosen: list[int] = []
        for at, free in enumerate(self.gpus):
            if len(chosen) == need.gpus:
                break
            if free == WHOLE and need.accepts(self.models[at]):
                chosen.append(at)
        return tuple(chosen) if len(chosen) == need.gpus else None

    def change(self, need: Need, positions: Iterable[int], sign: int) -> None:
        """Takes (1) or gives back (-1)."""
        self.millicpus -= sign * need.millicpus
        self.memory -= sign * need.memory
        amount = sign * (need.share or WHOLE)
        for at in positions:
            self.gpus[at] -= amount
        self.whole = self.gpus.count(WHOLE)

    def positions(self, indexes: Iterable[int]) -> list[int]:
        return [self.indexes.index(index) for index in indexes]

    def _named(self, need: Need) -> tuple[int, ...] | None:
        least = need.share or WHOLE
        chosen = []
        for index in need.indexes:
            if index not in self.indexes:
                return None
            at = self.indexes.index(index)
            if self.gpus[at] < least or not need.accepts(self.models[at]):
                return None
            chosen.append(at)
        return tuple(chosen)


class _Memo:
    __slots__ = ("empty", "now")

    def __init__(self) -> None:
        self.now: Free | None = None
        self.empty: Free | None = None


def _memo(node: NodeState) -> _Memo:
    memo = node.memo
    if memo is None:
        memo = _Memo()
        object.__setattr__(node, "memo", memo)
    assert isinstance(memo, _Memo)
    return memo


def millicpus(cpus: float) -> int:
    return round(cpus * 1000)


def suits(node: NodeState, static: Static) -> bool:
    """Whether labels, volumes and named nodes match."""
    labels, volumes, include, exclude = static
    return (
        labels <= node.labels
        and volumes <= node.volumes
        and (not include or node.name in include)
        and node.name not in exclude
    )


def emptied(node: NodeState) -> NodeState:
    """The node with nothing running and nothing broken."""
    gpus = tuple(GpuState(gpu.index, gpu.model) for gpu in node.gpus)
    return NodeState(
        node.name,
        node.cpus,
        node.memory,
        node.cpus,
        node.memory,
        gpus,
        labels=node.labels,
        volumes=node.volumes,
    )


@lru_cache(maxsize=4096)
def _accepts(model: str | None, models: frozenset[str], gpu: str) -> bool:
    if model is not None and not same(model, gpu):
        return False
    return models is ANY or not models or any(same(one, gpu) for one in models)


@lru_cache(maxsize=4096)
def same(asked: str, model: str) -> bool:
    """`rtx 3090`, `RTX3090` and `NVIDIA GeForce RTX 3090` name one model."""
    if asked == model:
        return True
    wanted, words = _words(asked), _words(model)
    if _named("".join(wanted), words):
        return True
    size = _MEMORY.fullmatch(wanted[-1]) if len(wanted) > 1 else None
    if size is None or not _named("".join(wanted[:-1]), words):
        return False
    # "a100_80g" is an "A100-SXM4-80GB"; "3090-24gb" is a "RTX 3090", which does not say it.
    sizes = [word for word in words if _SIZE.fullmatch(word)]
    return f"{size[1]}gb" in sizes or (not sizes and bool(size[2]))


def _named(wanted: str, words: list[str]) -> bool:
    for end in range(1, len(words) + 1 if wanted else 1):
        # "A100" names an "A100-SXM4-80GB"; "3090" does not name a "3090 Ti".
        if "".join(words[:end]).endswith(wanted) and (
            end == len(words) or words[end] not in _VARIANTS
        ):
            return True
    return False


_MEMORY = re.compile(r"(\d{1,4})(gb?)?", re.ASCII)
_SIZE = re.compile(r"\d{1,4}gb", re.ASCII)
_VARIANTS = frozenset({"ti", "super", "max", "mobile", "laptop", "ada", "d"})


def _words(model: str) -> list[str]:
    return "".join(ch if ch.isalnum() else " " for ch in model.lower()).split()
