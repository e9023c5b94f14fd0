"""The nodes of a queue taken as one: what is free, what comes free when, what a gang takes.

A plan for hundreds of jobs cannot look at every node; it looks at the sum. Only what is scarce is
counted: where everything that waits would fit at once, an amount keeps nobody waiting.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from danlu.sched.api import WHOLE, Running, Snapshot, TaskShape
from danlu.sched.free import millicpus, same
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
        self._known: dict[int, tuple[Shapes, Amounts]] = {}
        self._models = sorted({s.model for shapes in gangs for s in shapes if s.model and s.amount})
        self._nodes = {
            node.name: at
            for at, node in enumerate(room.nodes)
            if (only is None or node.name in only) and room.room_of(at).usable
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
        cpus, memory, cards = 0.0, 0, 0
        of_model = [0] * len(self._models)
        for at in self._nodes.values():
            node = self._room.nodes[at]
            cpus += node.cpus
            memory += node.memory
            cards += len(node.cards)
            if self._models:
                models = self._room.room_of(at).models
                for place, suiting in self._suiting(models):
                    of_model[place] += len(models if suiting is None else suiting)
        return (millicpus(cpus), memory, cards * WHOLE, *(count * WHOLE for count in of_model))

    def amounts(self, shapes: Shapes) -> Amounts:
        found = self._known.get(id(shapes))
        if found is None:
            found = self._known[id(shapes)] = (shapes, self._add_up(shapes))
        return found[1]

    def scarce(self, demands: Iterable[Amounts]) -> list[int]:
        """Which amounts do not suffice for all of these at once, beside what runs."""
        left = list(self.free)
        for amounts in demands:
            for place, amount in enumerate(amounts):
                left[place] -= amount
        return [place for place, amount in enumerate(left) if amount < 0]

    def _count(self) -> Amounts:
        room_of = self._room.room_of
        cpus = memory = cards = 0
        of_model = [0] * len(self._models)
        for at in self._nodes.values():
            free = room_of(at)
            cpus += free.millicpus
            memory += free.memory
            whole = sum(free.cards)
            cards += whole
            for place, suiting in self._suiting(free.models):
                of_model[place] += (
                    whole if suiting is None else sum(free.cards[card] for card in suiting)
                )
        return (cpus, memory, cards, *of_model)

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
        if len(job.places) == 1 and not self._models:
            here = job.places[0].node in self._nodes
            return self.amounts(job.shapes) if here else _NOTHING
        held = [0] * (_PLAIN + len(self._models))
        for shape, place in zip(job.shapes, job.places, strict=False):
            at = self._nodes.get(place.node)
            if at is None:
                continue
            held[0] += millicpus(shape.cpus)
            held[1] += shape.memory
            held[2] += shape.amount
            if self._models and place.cards:
                free = self._room.room_of(at)
                model = free.models[free.positions(place.cards[:1])[0]]
                for number, asked in enumerate(self._models, _PLAIN):
                    if same(asked, model):
                        held[number] += shape.amount
        return tuple(held)
