"""The nodes of a queue as one pool: free capacity, future releases, and needs of gangs.

A plan for hundreds of jobs cannot look at every node; it looks at the sum. Only what is scarce is
counted: where everything that waits would fit at once, an amount keeps nobody waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from danlu.sched.api import WHOLE, Running, Snapshot, TaskShape
from danlu.sched.backfill.timeline import Amounts, end_of
from danlu.sched.place.free import Free, millicpus, same
from danlu.sched.place.place import Room
from danlu.spec.placement import Placement

Shapes = tuple[TaskShape, ...]
_PLAIN = 3  # CPUs, memory, GPUs; then one amount for each model that is asked for
_NOTHING: Amounts = (0, 0, 0)


class Pool:
    """Totals over the nodes of a queue."""

    def __init__(
        self,
        snapshot: Snapshot,
        room: Room,
        only: frozenset[str] | None,
        gangs: Iterable[Shapes],
    ) -> None:
        """Counts the resources that these gangs ask for."""
        self.now = snapshot.now
        self._room = room
        self._known: dict[int, tuple[object, Amounts]] = {}
        self._held: dict[tuple[TaskShape, str | None], Amounts] = {}
        distinct = {id(shapes): shapes for shapes in gangs}.values()
        self._models = sorted(
            {s.model for shapes in distinct for s in shapes if s.model and s.amount}
        )
        self._context = room.context()
        self._nodes = {
            node.name: at
            for at, (node, free) in enumerate(zip(room.nodes, self._context, strict=True))
            if free.usable and (only is None or node.name in only)
        }
        self._of_models: dict[tuple[str, ...], list[tuple[int, list[int] | None]]] = {}
        self._running = snapshot.running
        self.free: Amounts = self._count()

    @cached_property
    def releases(self) -> list[tuple[float, Amounts]]:
        """Resources released by running jobs, with their end times."""
        found = []
        for job in self._running:
            amounts = self.held(job)
            if any(amounts):
                found.append((end_of(job, self.now), amounts))
        return found

    @cached_property
    def total(self) -> Amounts:
        """Free plus held resources."""
        amounts = (self.free, *(amounts for _, amounts in self.releases))
        return tuple(map(sum, zip(*amounts, strict=True)))

    @cached_property
    def capacity(self) -> Amounts:
        """The capacity of all nodes, regardless of running jobs."""
        nodes = [self._room.nodes[at] for at in self._nodes.values()]
        gpus = [len(node.gpus) for node in nodes]
        of_model = [0] * len(self._models)
        if self._models:
            for models, count in Counter(free.models for free in self._usable()).items():
                for place, suiting in self._suiting(models):
                    of_model[place] += count * len(models if suiting is None else suiting)
        plain = (
            millicpus(sum([node.cpus for node in nodes])),
            sum([node.memory for node in nodes]),
            sum(gpus) * WHOLE,
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
        """Resources that do not suffice for all of these at once."""
        left = list(self.free)
        for amounts in demands:
            for place, amount in enumerate(amounts):
                left[place] -= amount
        return [place for place, amount in enumerate(left) if amount < 0]

    def _count(self) -> Amounts:
        context = self._usable()
        of_model = [0] * len(self._models)
        for free in context if self._models else ():
            if any(free.gpus):
                for place, suiting in self._suiting(free.models):
                    gpus = free.gpus
                    of_model[place] += (
                        sum(gpus) if suiting is None else sum([gpus[gpu] for gpu in suiting])
                    )
        plain = (
            sum([free.millicpus for free in context]),
            sum([free.memory for free in context]),
            sum([sum(free.gpus) for free in context]),
        )
        return (*plain, *of_model)

    def _usable(self) -> list[Free]:
        context = self._context
        if len(self._nodes) == len(context):
            return context
        return [context[at] for at in self._nodes.values()]

    def _suiting(self, models: tuple[str, ...]) -> list[tuple[int, list[int] | None]]:
        """GPUs of such a node with a requested model; None: all of them."""
        if not self._models:
            return []
        found = self._of_models.get(models)
        if found is None:
            found = []
            for place, asked in enumerate(self._models):
                gpus = [gpu for gpu, model in enumerate(models) if same(asked, model)]
                if gpus:
                    found.append((place, gpus if len(gpus) < len(models) else None))
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
        """What it holds on the nodes of this pool."""
        if len(job.places) == 1:
            return self._held_at(job.shapes, job.places[0])
        held = [0] * (_PLAIN + len(self._models))
        for shape, place in zip(job.shapes, job.places, strict=False):
            for number, amount in enumerate(self._held_at((shape,), place)):
                held[number] += amount
        return tuple(held)

    def _held_at(self, shapes: Shapes, place: Placement) -> Amounts:
        """For one task. Models are counted by the GPUs it has, not by its request."""
        at = self._nodes.get(place.node)
        if at is None:
            return _NOTHING + (0,) * len(self._models)
        if not self._models:
            return self.amounts(shapes)
        free, model = self._context[at], None
        if place.gpus:
            model = free.models[free.positions(place.gpus[:1])[0]]
        key = (shapes[0], model)
        held = self._held.get(key)
        if held is None:
            (shape,) = shapes
            plain = (millicpus(shape.cpus), shape.memory, shape.amount)
            suits = [model is not None and same(asked, model) for asked in self._models]
            held = (*plain, *(shape.amount if suit else 0 for suit in suits))
            self._held[key] = held
        return held
