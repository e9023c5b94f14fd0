"""Places gangs, all tasks or none, by the placement order of the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Protocol

from danlu.sched.api import Mix, NodeState, TaskShape
from danlu.sched.place.free import Free, Need, Static, same, suits
from danlu.sched.place.node_order import Key, key_of
from danlu.sched.place.tight import TightIndex
from danlu.spec.placement import Placement

__all__ = ["Room", "same"]

Prefer = Callable[[int], float | tuple[float, ...]]
# For a few lookups, scanning all nodes is faster than building an index.
_ASK_BEFORE_SORTING = 2
_ASK_IF_BEFORE = 12
_UNLIKE = 3  # up to this many kinds of tasks, every order is tried


class Index(Protocol):
    """Finds the best node quickly, for many nodes and many lookups."""

    def find(self, need: Need, suitable: bytearray | None) -> tuple[int, tuple[int, ...]] | None:
        """The position of a node and of its GPUs; empty: any GPUs."""

    def changed(self, at: int) -> None: ...


class Room:
    """Free capacity of all nodes, to try placements on. Nodes are copied on write."""

    def __init__(
        self,
        nodes: Sequence[NodeState],
        order: str = "tight",
        mix: Mix | None = None,
        empty: bool = False,
    ) -> None:
        """`empty`: as if nothing were running and every node and GPU worked."""
        self.nodes = nodes
        self._order = order
        self._mix = mix
        self._base = Free.of_all(nodes, empty)
        self._own: dict[int, Free] = {}
        self._needs: dict[int, Need] = {}
        self._masks: dict[tuple[Static | None, frozenset[str] | None], bytearray | None] = {}
        self._owners: dict[int, set[str]] = {}  # users with jobs on a node, if needed
        self._index: Index | None = None
        self._learned: bool | None = None
        self.notes: dict[object, object] = {}  # caches of callers; cleared by any change
        self._asked = self._asked_if = 0
        self._positions: dict[str, int] | None = None

    def copy(self) -> Room:
        twin = Room.__new__(Room)
        twin.nodes, twin._order, twin._mix, twin._base = (
            self.nodes,
            self._order,
            self._mix,
            self._base,
        )
        twin._own = {at: free.copy() for at, free in self._own.items()}
        twin._needs, twin._masks = self._needs, self._masks
        twin._owners = {at: set(owners) for at, owners in self._owners.items()}
        twin._index, twin._asked, twin._positions = None, 0, self._positions
        twin.notes, twin._asked_if, twin._learned = {}, 0, self._learned
        return twin

    def with_less(self, context: Mapping[int, Free]) -> Room:
        """A copy with these nodes replaced."""
        twin = self.copy()
        twin._own.update(context)
        return twin

    def fill_by(self, order: str) -> None:
        if order != self._order:
            self._order = order
            self._index, self._asked = None, 0

    def learn(self, mix: Mix) -> None:
        """Packs for this mix from now on."""
        self._mix = mix
        self._index = self._learned = None

    @property
    def learned(self) -> bool:
        """Whether there is anything to learn from: requests for GPUs, and nodes that have some."""
        if self._mix is None:
            return False
        if self._learned is None:
            asked = any(shape.amount for shape in self._mix.counts)
            self._learned = asked and any(free.models for free in self._base)
        return self._learned

    def occupied_by(self, node: str, owner: str) -> None:
        self._owners.setdefault(self._at(node), set()).add(owner)

    def place(
        self,
        shapes: Sequence[TaskShape],
        only: frozenset[str] | None = None,
        owner: str = "",
        prefer: Prefer | None = None,
    ) -> tuple[Placement, ...] | None:
        """Takes room for all tasks or none. `only`: the nodes of its queue."""
        near = shapes[0].near
        if near:
            places = self._place(shapes, near if only is None else only & near, owner, prefer)
            if places is not None:
                return places
        return self._place(shapes, only, owner, prefer)

    def _place(
        self,
        shapes: Sequence[TaskShape],
        only: frozenset[str] | None,
        owner: str,
        prefer: Prefer | None,
    ) -> tuple[Placement, ...] | None:
        if len(shapes) == 1:
            place = self._place_one(shapes[0], only, owner, prefer)
            return None if place is None else (place,)
        orders = _gang_orders(shapes)
        for order in orders:
            places = self._place_gang(shapes, order, only, owner, prefer)
            if places is not None:
                return places
        if len(orders) > 1 and (self._order != "tight" or prefer is not None):
            return self._place_tightly(shapes, orders, only)
        return None

    def fits(self, shape: TaskShape, only: frozenset[str] | None = None) -> bool:
        need = self._need(shape)
        mask, own = self._mask(need, only), self._own
        self._asked_if += 1
        # A scan stops at the first match, so an index pays off only after more lookups.
        if not need.indexes and (self._index is not None or self._asked_if > _ASK_IF_BEFORE):
            index = self._indexed()
            if index is not None:
                return index.find(need, mask) is not None
        return any(
            (mask is None or mask[at]) and (own.get(at) or base).fits(need)
            for at, base in enumerate(self._base)
        )

    def fits_gang(self, shapes: Sequence[TaskShape], only: frozenset[str] | None = None) -> bool:
        if len(shapes) == 1:
            return self.fits(shapes[0], only)
        places = self.place(shapes, only)
        if places is None:
            return False
        self.free(shapes, places)
        return True

    def take(self, shapes: Sequence[TaskShape], places: Sequence[Placement]) -> None:
        self._change(shapes, places, 1)

    def free(self, shapes: Sequence[TaskShape], places: Sequence[Placement]) -> None:
        """Undoes a placement, or frees the resources of a running job."""
        self._change(shapes, places, -1)

    def room_of(self, at: int) -> Free:
        """The free capacity of one node; do not modify."""
        return self._own.get(at) or self._base[at]

    def has(self, name: str) -> bool:
        if self._positions is None:
            self._positions = {node.name: at for at, node in enumerate(self.nodes)}
        return name in self._positions

    def holds(self, shapes: Sequence[TaskShape], places: Sequence[Placement]) -> bool:
        """Whether all tasks fit at exactly these places."""
        trial: dict[int, Free] = {}
        if len(shapes) != len(places) or not all(self.has(place.node) for place in places):
            return False
        for shape, place in zip(shapes, places, strict=True):
            at, need = self._at(place.node), self._need(shape)
            free = trial[at] = trial.get(at) or self.room_of(at).copy()
            if not free.has(need, place.gpus):
                return False
            free.change(need, free.positions(place.gpus), 1)
        return True

    def at_most(self, other: Room, names: Iterable[str]) -> None:
        """Reduces these nodes to what they have free in the other room."""
        for name in names:
            at = self._at(name)
            self._own[at] = self.room_of(at).least(other.room_of(at))
            self.notes.clear()
            if self._index is not None:
                self._index.changed(at)

    def position(self, name: str) -> int:
        """The position of a node in `nodes`."""
        return self._at(name)

    def context(self) -> list[Free]:
        """The free capacity of all nodes, in order."""
        context = self._base[:]
        for at, free in self._own.items():
            context[at] = free
        return context

    def suitable(self, shape: TaskShape, only: frozenset[str] | None) -> bytearray | None:
        """Nodes with the required labels and volumes; None: all."""
        return self._mask(self._need(shape), only)

    def _change(self, shapes: Sequence[TaskShape], places: Sequence[Placement], sign: int) -> None:
        for shape, place in zip(shapes, places, strict=True):
            at = self._at(place.node)
            free = self._writable(at)
            free.change(self._need(shape), free.positions(place.gpus), sign)
            self.notes.clear()
            if self._index is not None:
                self._index.changed(at)

    def _place_tightly(
        self, shapes: Sequence[TaskShape], orders: list[list[int]], only: frozenset[str] | None
    ) -> tuple[Placement, ...] | None:
        """Falls back to tight packing, so that a gang of different tasks is not refused."""
        wanted, index = self._order, self._index
        if wanted != "tight":
            self._order, self._index = "tight", None
        places = None
        for order in orders:
            places = self._place_gang(shapes, order, only, "", None)
            if places is not None:
                break
        if wanted != "tight":
            self._order = wanted
            self._index = index if places is None else None
        return places

    def _place_gang(
        self,
        shapes: Sequence[TaskShape],
        order: Sequence[int],
        only: frozenset[str] | None,
        owner: str,
        prefer: Prefer | None,
    ) -> tuple[Placement, ...] | None:
        found: dict[int, Placement] = {}
        for task in order:
            place = self._place_one(shapes[task], only, owner, prefer)
            if place is None:
                for undo, taken in found.items():
                    self._change((shapes[undo],), (taken,), -1)
                return None
            found[task] = place
        return tuple(found[task] for task in range(len(shapes)))

    def _place_one(
        self, shape: TaskShape, only: frozenset[str] | None, owner: str, prefer: Prefer | None
    ) -> Placement | None:
        need = self._need(shape)
        found = self._find(need, only, owner, prefer)
        if found is None:
            return None
        at, positions = found
        free = self._writable(at)
        if not positions and (need.gpus or need.share):
            positions = free.choose(need) or ()
        free.change(need, positions, 1)
        self.notes.clear()
        if self._index is not None:
            self._index.changed(at)
        if owner and self._order == "person":
            self._owners.setdefault(at, set()).add(owner)
        gpus = tuple(sorted(free.indexes[position] for position in positions))
        return Placement(self.nodes[at].name, gpus, shape.share)

    def _find(
        self, need: Need, only: frozenset[str] | None, owner: str, prefer: Prefer | None
    ) -> tuple[int, tuple[int, ...]] | None:
        mask = self._mask(need, only)
        if prefer is None and not need.indexes:
            index = self._indexed()
            if index is not None:
                return index.find(need, mask)
            if self._packs(need):
                from danlu.sched.place.node_waste import best_node  # numpy only if needed

                assert self._mix is not None
                return best_node(self.context(), self._mix, need, mask)
        return self._look(need, mask, key_of(self._order, owner, self._owners, self), prefer)

    def _packs(self, need: Need) -> bool:
        """Whether there is a choice that the usual mix of requests can improve."""
        return (
            self._order == "learned" and (len(self.nodes) > 1 or bool(need.share)) and self.learned
        )

    def _indexed(self) -> Index | None:
        if self._index is None:
            self._asked += 1
            if self._asked <= _ASK_BEFORE_SORTING:
                return None
            if self._order == "learned" and self.learned:
                if len(self.nodes) == 1:
                    return None  # no choice of nodes, and numpy is large
                from danlu.sched.place.learned import LearnedIndex  # numpy only if needed

                assert self._mix is not None
                self._index = LearnedIndex(self, self._mix)
            elif self._order in ("tight", "learned"):
                self._index = TightIndex(self)
        return self._index

    def _look(
        self, need: Need, mask: bytearray | None, key: Key, prefer: Prefer | None
    ) -> tuple[int, tuple[int, ...]] | None:
        best: tuple[object, ...] | None = None
        best_at = -1
        own = self._own
        for at, untouched in enumerate(self._base):
            free = own.get(at) or untouched
            if (mask is not None and not mask[at]) or not free.fits(need):
                continue
            here: tuple[object, ...] = key(at, free, need)
            if prefer is not None:
                here = (prefer(at), *here)
            if best is None or here < best:
                best, best_at = here, at
        return None if best is None else (best_at, ())

    def _need(self, shape: TaskShape) -> Need:
        # Keyed by identity, since hashing a shape is expensive. The need keeps the shape alive.
        need = self._needs.get(id(shape))
        if need is None:
            need = self._needs[id(shape)] = Need(shape)
        return need

    def _mask(self, need: Need, only: frozenset[str] | None) -> bytearray | None:
        static = need.static
        if static is None and only is None:
            return None
        key = (static, only)
        if key not in self._masks:
            self._masks[key] = bytearray(
                (only is None or node.name in only) and (static is None or suits(node, static))
                for node in self.nodes
            )
        return self._masks[key]

    def _writable(self, at: int) -> Free:
        free = self._own.get(at)
        if free is None:
            free = self._own[at] = self._base[at].copy()
        return free

    def _at(self, name: str) -> int:
        if self._positions is None:
            self._positions = {node.name: at for at, node in enumerate(self.nodes)}
        return self._positions[name]


def _gang_orders(shapes: Sequence[TaskShape]) -> list[list[int]]:
    """Orders in which to try placing the tasks of a gang."""
    tasks = range(len(shapes))
    # Largest first: a small task must not take the only gap that fits a large one.
    by_size = sorted(tasks, key=lambda t: (_size(shapes[t]), _choosy(shapes[t])), reverse=True)
    if all(shape == shapes[0] for shape in shapes):
        return [by_size]
    by_choice = sorted(tasks, key=lambda t: (_choosy(shapes[t]), _size(shapes[t])), reverse=True)
    by_cpus = sorted(tasks, key=lambda t: (shapes[t].cpus, shapes[t].memory), reverse=True)
    orders: list[list[int]] = []
    for order in (by_size, by_choice, by_cpus, *_every_way(shapes)):
        if order not in orders:
            orders.append(order)
    return orders


def _every_way(shapes: Sequence[TaskShape]) -> Iterator[list[int]]:
    """Every order, if there are only a few kinds of tasks."""
    alike: dict[TaskShape, list[int]] = {}
    for task, shape in enumerate(shapes):
        alike.setdefault(shape, []).append(task)
    if len(alike) <= _UNLIKE:
        for groups in permutations(alike.values()):
            yield [task for group in groups for task in group]


def _size(shape: TaskShape) -> tuple[int, float, int]:
    return (shape.amount, shape.cpus, shape.memory)


def _choosy(shape: TaskShape) -> int:
    return sum(
        bool(asked)
        for asked in (
            shape.model,
            shape.models,
            shape.indexes,
            shape.labels,
            shape.volumes,
            shape.include,
            shape.exclude,
        )
    )
