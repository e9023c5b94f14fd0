"""The one place that knows what is free and who holds what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from danlu.engines.api import Inventory, NodeInfo
from danlu.sched.api import ANY, WHOLE, CardState, NodeState, TaskPlace, TaskShape
from danlu.sched.place import Room

ELSEWHERE = ">"
"""Behind an attempt's id: the place where its job goes, while it is being moved."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What one task of an attempt takes on a node."""

    attempt_id: str
    job_id: str
    shape: TaskShape
    place: TaskPlace


class Ledger:
    def __init__(self) -> None:
        self._nodes: dict[str, NodeInfo] = {}
        self._holds: dict[str, list[Hold]] = {}  # by attempt
        self._used: dict[str, _Used] = {}
        self._states: dict[str, NodeState] = {}
        self._order: list[str] = []
        self._ranks: dict[str, int] = {}
        self._drained: frozenset[str] = ANY
        self._volumes: Mapping[str, frozenset[str]] = {}

    def learn(self, inventory: Inventory) -> bool:
        """Takes over what the engine reports; says whether anything changed."""
        nodes = {node.name: node for node in inventory.nodes}
        if nodes == self._nodes:
            return False
        self._nodes = nodes
        self._order = sorted(nodes)
        self._ranks = {name: rank for rank, name in enumerate(nodes)}  # as the admin listed them
        self._states.clear()
        return True

    def put_volumes(self, volumes: Mapping[str, frozenset[str]]) -> None:
        """Node -> those of the volumes that exist on some nodes only."""
        self._volumes = volumes
        self._states.clear()

    def drain(self, names: frozenset[str]) -> None:
        """Nodes that an admin took out: what runs there goes on."""
        self._drained = names
        self._states.clear()

    def has_room(self, shapes: Sequence[TaskShape], places: Sequence[TaskPlace]) -> bool:
        """Whether all of these tasks could start at just these places now."""
        if len(shapes) != len(places) or any(p.node not in self._nodes for p in places):
            return False
        room = Room(self.states())
        for shape, place in zip(shapes, places, strict=True):
            there = replace(shape, indexes=place.cards)
            if room.place((there,), frozenset({place.node})) is None:
                return False
        return True

    def hold(
        self,
        attempt_id: str,
        job_id: str,
        shapes: Sequence[TaskShape],
        places: Sequence[TaskPlace],
    ) -> None:
        holds = [
            Hold(attempt_id, job_id, shape, place)
            for shape, place in zip(shapes, places, strict=True)
        ]
        self._holds[attempt_id] = holds
        for hold in holds:
            self._used.setdefault(hold.place.node, _Used()).add(hold, 1)
            self._states.pop(hold.place.node, None)

    def release(self, attempt_id: str) -> bool:
        holds = self._holds.pop(attempt_id, None)
        for hold in holds or ():
            self._used[hold.place.node].add(hold, -1)
            self._states.pop(hold.place.node, None)
        return holds is not None

    def moving(self) -> dict[tuple[str, int], int]:
        """(node, card index) -> how much of it is kept for jobs that are being moved there."""
        cards: dict[tuple[str, int], int] = {}
        for name, holds in self._holds.items():
            if name.endswith(ELSEWHERE):
                for hold in holds:
                    for index in hold.place.cards:
                        key = (hold.place.node, index)
                        cards[key] = cards.get(key, 0) + (hold.place.share or WHOLE)
        return cards

    def nodes(self) -> list[NodeInfo]:
        return [self._nodes[name] for name in self._order]

    def states(self) -> list[NodeState]:
        return [self._state(name) for name in self._order]

    def card_holders(self) -> dict[tuple[str, int], list[Hold]]:
        """(node, card index) -> who holds it"""
        cards: dict[tuple[str, int], list[Hold]] = {}
        for holds in self._holds.values():
            for hold in holds:
                for index in hold.place.cards:
                    cards.setdefault((hold.place.node, index), []).append(hold)
        return cards

    def _state(self, name: str) -> NodeState:
        state = self._states.get(name)
        if state is None:
            state = self._states[name] = self._add_up(self._nodes[name])
        return state

    def _add_up(self, node: NodeInfo) -> NodeState:
        used = self._used.get(node.name) or _Used()
        cards = tuple(
            CardState(g.index, g.model, max(0, WHOLE - used.cards.get(g.index, 0)), g.healthy)
            for g in node.gpus
        )
        return NodeState(
            node.name,
            node.cpus,
            node.memory,
            max(0.0, node.cpus - used.millicpus / 1000),
            max(0, node.memory - used.memory),
            cards,
            node.up,
            drained=node.name in self._drained,
            labels=frozenset(node.labels),
            volumes=self._volumes.get(node.name, ANY),
            rank=self._ranks[node.name],
        )


class _Used:
    """Whole numbers, so that adding and taking away a thousand times leaves nothing over."""

    __slots__ = ("cards", "memory", "millicpus")

    def __init__(self) -> None:
        self.millicpus = 0
        self.memory = 0
        self.cards: dict[int, int] = {}

    def add(self, hold: Hold, sign: int) -> None:
        self.millicpus += sign * round(hold.shape.cpus * 1000)
        self.memory += sign * hold.shape.memory
        for index in hold.place.cards:
            amount = sign * (hold.place.share or WHOLE)
            self.cards[index] = self.cards.get(index, 0) + amount
