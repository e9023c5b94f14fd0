"""The nodes of a queue taken as one: what is free, what comes free when, what a gang takes.

A plan for hundreds of jobs cannot look at every node; it looks at the sum. Only what is scarce is
counted: where everything that waits would fit at once, an amount keeps nobody waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from danlu.sched.api import WHOLE, Running, Snapshot, TaskPlace, TaskShape
from danlu.sched.free import Free, millicpus, same
from danlu.sched.place import Room
from danlu.sched.timeline import Amounts, end_of

Shapes = tuple[TaskShape, ...]
_PLAIN = 3  # CPUs, memory, cards; then one amount for each model that is asked for
_NOTHING: Amounts = (0, 0, 0)


class Pool:
    """The queue's nodes as one: what is free, what comes free when, what a gang takes."""

    def __init__(
        self,
        snapshot: Snapshot,
        room: Room,
        only: frozenset[str] | None,
        gangs: Iterable[Shapes],
    ) -> None:
        """In the amounts that these gangs ask for."""
        self.now = snapshot.now
        self._room = room
        self._known: dict[int, tuple[object, Amounts]] = {}
        self._held: dict[tuple[TaskShape, str | None], Amounts] = {}
        distinct = {id(shapes): shapes for shapes in gangs}.values()
        self._models = sorted(
            {s.model for shapes in distinct for s in shapes if s.model and s.amount}
        )
        self._rooms = room.rooms()
        self._nodes = {
            node.name: at
            for at, (node, free) in enumerate(zip(room.nodes, self._rooms, strict=True))
            if free.usable and (only is None or node.name in only)
        }
        self._of_models: dict[tuple[str, ...], list[tuple[int, list[int] | None]]] = {}
        self._running = snapshot.running
        self.free: Amounts = self._count()

    @cached_property
    def releases(self) -> list[tuple[float, Amounts]]:
        """What comes free when."""
        found = []
        for job in self._running:
            amounts = self.held(job)
            if any(amounts):
                found.append((end_of(job, self.now), amounts))
        return found

    @cached_property
    def total(self) -> Amounts:
        """What is free and what is held."""
        amounts = (self.free, *(amounts for _, amounts in self.releases))
        return tuple(map(sum, zip(*amounts, strict=True)))

    @cached_property
    def capacity(self) -> Amounts:
        """What the nodes have, with nothing broken. Does not look at what runs."""
        nodes = [self._room.nodes[at] for at in self._nodes.values()]
        cards = [len(node.cards) for node in nodes]
        of_model = [0] * len(self._models)
        if self._models:
            for models, count in Counter(free.models for free in self._usable()).items():
                for place, suiting in self._suiting(models):
                    of_model[place] += count * len(models if suiting is None else suiting)
        plain = (
            millicpus(sum([node.cpus for node in nodes])),
            sum([node.memory for node in nodes]),
            sum(cards) * WHOLE,
        )
        return (*plain, *(count * WHOLE for count in of_model))

    def amounts(self, shapes: Shapes) -> Amounts:
        # Jobs that are alike share their shapes, if not the tuple around them.
        what: object = shapes[0] if len(shapes) == 1 else shapes
        found = self._known.get(id(what))
        if found is None:
            found = self._known[id(what)] = (what, self._add_up(shapes))
        return found[1]

    def scarce(self, demands: Iterable[Amounts]) -> list[int]:
        """Which amounts do not suffice for all of these at once, beside what runs."""
        left = list(self.free)
        for amounts in demands:
            for place, amount in enumerate(amounts):
                left[place] -= amount
        return [place for place, amount in enumerate(left) if amount < 0]

    def _count(self) -> Amounts:
        rooms = self._usable()
        of_model = [0] * len(self._models)
        for free in rooms if self._models else ():
            if any(free.cards):
                for place, suiting in self._suiting(free.models):
                    cards = free.cards
                    of_model[place] += (
                        sum(cards) if suiting is None else sum([cards[card] for card in suiting])
                    )
        plain = (
            sum([free.millicpus for free in rooms]),
            sum([free.memory for free in rooms]),
            sum([sum(free.cards) for free in rooms]),
        )
        return (*plain, *of_model)

    def _usable(self) -> list[Free]:
        rooms = self._rooms
        if len(self._nodes) == len(rooms):
            return rooms
        return [rooms[at] for at in self._nodes.values()]

    def _suiting(self, models: tuple[str, ...]) -> list[tuple[int, list[int] | None]]:
        """Which cards of such a node are of a model that is asked for; None: all of them."""
        if not self._models:
            return []
        found = self._of_models.get(models)
        if found is None:
            found = []
            for place, asked in enumerate(self._models):
                cards = [card for card, model in enumerate(models) if same(asked, model)]
                if cards:
                    found.append((place, cards if len(cards) < len(models) else None))
            self._of_models[models] = found
        return found

    def _add_up(self, shapes: Shapes) -> Amounts:
        if len(shapes) == 1 and not self._models:
            (shape,) = shapes
            return (millicpus(shape.cpus), shape.memory, shape.amount)
        plain = (
            sum(millicpus(shape.cpus) for shape in shapes),
            sum(shape.memory for shape in shapes),
            sum(shape.amount for shape in shapes),
        )
        models = (
            sum(s.amount for s in shapes if s.model is not None and same(s.model, model))
            for model in self._models
        )
        return (*plain, *models)

    def held(self, job: Running) -> Amounts:
        """What it holds on the nodes that count here."""
        if len(job.places) == 1:
            return self._held_at(job.shapes, job.places[0])
        held = [0] * (_PLAIN + len(self._models))
        for shape, place in zip(job.shapes, job.places, strict=False):
            for number, amount in enumerate(self._held_at((shape,), place)):
                held[number] += amount
        return tuple(held)

    def _held_at(self, shapes: Shapes, place: TaskPlace) -> Amounts:
        """Of one task. What it holds of a model goes by its cards, not by what it asked for."""
        at = self._nodes.get(place.node)
        if at is None:
            return _NOTHING + (0,) * len(self._models)
        if not self._models:
            return self.amounts(shapes)
        free, model = self._rooms[at], None
        if place.cards:
            model = free.models[free.positions(place.cards[:1])[0]]
        key = (shapes[0], model)
        held = self._held.get(key)
        if held is None:
            (shape,) = shapes
            plain = (millicpus(shape.cpus), shape.memory, shape.amount)
            suits = [model is not None and same(asked, model) for asked in self._models]
            held = (*plain, *(shape.amount if suit else 0 for suit in suits))
            self._held[key] = held
        return held
