"""Best fit among thousands of nodes, kept sorted by free capacity as jobs start.

It finds exactly what `orders.tight` finds by looking at every node. Which node is fuller does not
depend on who asks, so one sorted table serves all shapes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from functools import lru_cache
from typing import TYPE_CHECKING

from danlu.sched.api import WHOLE
from danlu.sched.place.free import Free, Need

if TYPE_CHECKING:
    from danlu.sched.place.place import Room

_Entry = tuple[int, int, int]  # CPUs, memory, position: compared in this order
_PartEntry = tuple[int, int, int, int]  # idle GPUs before them
_Found = tuple[int, ...]


class _Group:
    """The nodes with the same models."""

    __slots__ = ("models", "parts", "sizes", "whole")

    def __init__(self, models: frozenset[str]) -> None:
        self.models = models
        self.whole: list[list[_Entry]] = []  # by number of idle GPUs
        self.parts: dict[int, list[_PartEntry]] = {}  # by the free part of a shared GPU
        self.sizes: list[int] = []  # the keys of `parts`, sorted

    def add(self, at: int, free: Free, sizes: set[int]) -> None:
        insort(self._of(free.whole), (free.millicpus, free.memory, at))
        for size in sizes:
            insort(self._part(size), (free.whole, free.millicpus, free.memory, at))

    def append(self, at: int, free: Free, sizes: set[int]) -> None:
        """Like `add`, for many at once; call `sort` afterwards."""
        self._of(free.whole).append((free.millicpus, free.memory, at))
        for size in sizes:
            self._part(size).append((free.whole, free.millicpus, free.memory, at))

    def sort(self) -> None:
        for entries in self.whole:
            entries.sort()
        for parts in self.parts.values():
            parts.sort()

    def _of(self, whole: int) -> list[_Entry]:
        while len(self.whole) <= whole:
            self.whole.append([])
        return self.whole[whole]

    def _part(self, size: int) -> list[_PartEntry]:
        entries = self.parts.get(size)
        if entries is None:
            entries = self.parts[size] = []
            insort(self.sizes, size)
        return entries

    def remove(self, at: int, whole: int, millicpus: int, memory: int, sizes: set[int]) -> None:
        entries = self.whole[whole]
        del entries[bisect_left(entries, (millicpus, memory, at))]
        for size in sizes:
            parts = self.parts[size]
            del parts[bisect_left(parts, (whole, millicpus, memory, at))]


class TightIndex:
    def __init__(self, room: Room) -> None:
        self._room = room
        self._groups: dict[frozenset[str], _Group] = {}
        self._known: list[tuple[_Group, int, int, int, set[int]] | None] = []
        for at in range(len(room.nodes)):
            free = room.room_of(at)
            if not free.usable:
                self._known.append(None)
                continue
            group, sizes = self._group(free), _part_sizes(free)
            group.append(at, free, sizes)
            self._known.append((group, free.whole, free.millicpus, free.memory, sizes))
        for group in self._groups.values():
            group.sort()

    def changed(self, at: int) -> None:
        known = self._known[at]
        if known is None:
            return
        group, whole, millicpus, memory, sizes = known
        group.remove(at, whole, millicpus, memory, sizes)
        free = self._room.room_of(at)
        sizes = _part_sizes(free)
        group.add(at, free, sizes)
        self._known[at] = (group, free.whole, free.millicpus, free.memory, sizes)

    def _group(self, free: Free) -> _Group:
        models = _set_of(free.models)
        group = self._groups.get(models)
        if group is None:
            group = self._groups[models] = _Group(models)
        return group

    def find(self, need: Need, suitable: bytearray | None) -> tuple[int, tuple[int, ...]] | None:
        found = self._find_part(need, suitable) if need.share else None
        if found is None:
            found = self._find_whole(need, suitable)
        return None if found is None else (found[-1], ())

    def _matching(self, need: Need) -> list[_Group]:
        if need.any_model or not (need.gpus or need.share):
            return list(self._groups.values())
        return [g for g in self._groups.values() if any(need.accepts(m) for m in g.models)]

    def _find_whole(self, need: Need, suitable: bytearray | None) -> _Found | None:
        groups = self._matching(need)
        least = 1 if need.share else need.gpus
        most = max((len(group.whole) for group in groups), default=0)
        for whole in range(least, most):
            best: _Found | None = None
            for group in groups:
                if whole < len(group.whole):
                    found = self._first(group, group.whole[whole], need, suitable, best)
                    if found is not None:
                        best = found
            if best is not None:
                return best
        return None

    def _first(
        self,
        group: _Group,
        entries: list[_Entry],
        need: Need,
        suitable: bytearray | None,
        best: _Found | None,
    ) -> _Found | None:
        """The first with room that is better than `best`."""
        mixed = len(group.models) > 1 and not need.any_model
        for i in range(bisect_left(entries, (need.millicpus, 0, -1)), len(entries)):
            entry = entries[i]
            if best is not None and entry > best:
                return None
            if entry[1] < need.memory or (suitable is not None and not suitable[entry[2]]):
                continue
            if mixed and not self._room.room_of(entry[2]).fits(need):
                continue
            return entry
        return None

    def _find_part(self, need: Need, suitable: bytearray | None) -> _Found | None:
        groups = self._matching(need)
        sizes = {size for group in groups for size in group.sizes if size >= need.share}
        for size in sorted(sizes):
            best: _Found | None = None
            for group in groups:
                mixed = len(group.models) > 1 and not need.any_model
                for entry in group.parts.get(size, ()):
                    if best is not None and entry > best:
                        break
                    _, millicpus, memory, at = entry
                    if millicpus < need.millicpus or memory < need.memory:
                        continue
                    if suitable is not None and not suitable[at]:
                        continue
                    if mixed and self._room.room_of(at).smallest_part(need) != size:
                        continue
                    best = entry
                    break
            if best is not None:
                return best
        return None


_NO_SIZES: set[int] = set()
_set_of = lru_cache(maxsize=1024)(frozenset[str])


def _part_sizes(free: Free) -> set[int]:
    if not any(free.gpus):
        return _NO_SIZES
    sizes = set(free.gpus)
    sizes.discard(0)
    sizes.discard(WHOLE)
    return sizes
