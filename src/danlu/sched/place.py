"""Where a gang goes: best fit, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from danlu.sched.api import WHOLE, NodeState, TaskPlace, TaskShape


class Room:
    """The free room of all nodes, to try placements on. A node is copied when first touched."""

    def __init__(self, nodes: Sequence[NodeState]) -> None:
        self._nodes = nodes
        self._touched: dict[int, _Free] = {}

    def place(self, shapes: Sequence[TaskShape]) -> tuple[TaskPlace, ...] | None:
        """Takes room for all of them, or for none."""
        before = {i: free.copy() for i, free in self._touched.items()} if len(shapes) > 1 else None
        places: list[TaskPlace | None] = [None] * len(shapes)
        # The largest first: a small task must not take the only hole a large one fits in.
        for task in sorted(range(len(shapes)), key=lambda t: _size(shapes[t]), reverse=True):
            place = self._place_one(shapes[task])
            if place is None:
                if before is not None:
                    self._touched = before
                return None
            places[task] = place
        return tuple(place for place in places if place is not None)

    def fits(self, index: int, shape: TaskShape) -> bool:
        return self._free(index).leftover(shape) is not None

    def _place_one(self, shape: TaskShape) -> TaskPlace | None:
        best: tuple[tuple[float, ...], int] | None = None
        for index, node in enumerate(self._nodes):
            if not node.up:
                continue
            leftover = self._free(index).leftover(shape)
            if leftover is not None and (best is None or leftover < best[0]):
                best = (leftover, index)
        if best is None:
            return None
        index = best[1]
        if index not in self._touched:
            self._touched[index] = _Free.of(self._nodes[index])
        cards = self._touched[index].take(shape)
        return TaskPlace(self._nodes[index].name, cards, shape.share)

    def _free(self, index: int) -> _Free:
        touched = self._touched.get(index)
        return touched if touched is not None else _Free.of(self._nodes[index])


def _size(shape: TaskShape) -> tuple[int, float, int]:
    return (shape.cards * WHOLE + shape.share, shape.cpus, shape.memory)


class _Free:
    __slots__ = ("cards", "cpus", "memory")

    def __init__(self, cpus: float, memory: int, cards: list[tuple[int, str, int]]) -> None:
        self.cpus = cpus
        self.memory = memory
        self.cards = cards  # (index, model, free thousandths), healthy ones only

    @classmethod
    def of(cls, node: NodeState) -> _Free:
        cards = [(c.index, c.model, c.free) for c in node.cards if c.healthy]
        return cls(node.cpus_free, node.memory_free, cards)

    def copy(self) -> _Free:
        return _Free(self.cpus, self.memory, list(self.cards))

    def leftover(self, shape: TaskShape) -> tuple[float, ...] | None:
        """What would stay free, smallest is best; None where it does not fit."""
        cpus, memory = self.cpus - shape.cpus, self.memory - shape.memory
        if cpus < -1e-9 or memory < 0:
            return None
        if shape.share:
            fitting = [c for c in self.cards if _model(c, shape) and c[2] >= shape.share]
            if not fitting:
                return None
            return (min(c[2] for c in fitting) - shape.share, self._whole(None), cpus, memory)
        if shape.cards and self._whole(shape.model) < shape.cards:
            return None
        return (self._whole(None) - shape.cards, 0, cpus, memory)

    def take(self, shape: TaskShape) -> tuple[int, ...]:
        self.cpus -= shape.cpus
        self.memory -= shape.memory
        if shape.share:
            fitting = [c for c in self.cards if _model(c, shape) and c[2] >= shape.share]
            chosen = [min(fitting, key=lambda c: (c[2], c[0]))]
        else:
            whole = [c for c in self.cards if _model(c, shape) and c[2] == WHOLE]
            chosen = whole[: shape.cards]
        amount = shape.share or WHOLE
        taken = {c[0] for c in chosen}
        self.cards = [(i, m, f - amount) if i in taken else (i, m, f) for i, m, f in self.cards]
        return tuple(sorted(taken))

    def _whole(self, model: str | None) -> int:
        return sum(1 for c in self.cards if c[2] == WHOLE and (model is None or same(model, c[1])))


def _model(card: tuple[int, str, int], shape: TaskShape) -> bool:
    return shape.model is None or same(shape.model, card[1])


def same(asked: str, model: str) -> bool:
    """`rtx 3090`, `RTX3090` and `NVIDIA GeForce RTX 3090` name one model."""
    if asked == model:
        return True
    a, m = _plain(asked), _plain(model)
    return a == m or m.endswith(a)


def _plain(model: str) -> str:
    return "".join(ch for ch in model.lower() if ch.isalnum())
