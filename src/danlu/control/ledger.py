"""Tracks which resources are free and which attempt holds what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from danlu.control.holders import Held, spread
from danlu.engines.api import Holder, Inventory, NodeInfo
from danlu.sched.api import ANY, WHOLE, GpuState, NodeState, TaskShape
from danlu.sched.place.place import Room
from danlu.spec.placement import Placement

ELSEWHERE = ">"
"""Suffix of an attempt's id for the place its job is being moved to."""


Outside = tuple[str, tuple[int, ...]]  # node, GPU indexes


class NodeClash(Exception):
    """Two engines have a node with the same name."""

    def __init__(self, node: str, engine: str) -> None:
        super().__init__(f"its node {node} has the name of a node of engine {engine}")


@dataclass(frozen=True, slots=True)
class Hold:
    """The resources one task of an attempt holds on a node."""

    attempt_id: str
    job_id: str
    shape: TaskShape
    place: Placement


class Ledger:
    def __init__(self) -> None:
        self._nodes: dict[str, NodeInfo] = {}
        self._engines: dict[str, dict[str, NodeInfo]] = {}  # engine -> its nodes
        self._away: frozenset[str] = ANY  # nodes of engines that do not answer
        self._outside: dict[str, dict[str, tuple[Outside, ...]]] = {}  # engine -> attempt -> GPUs
        self._holders: dict[str, tuple[Holder, ...]] = {}  # engine -> who is none of ours
        self._others: dict[str, list[Held]] | None = None  # the same by node
        self._holds: dict[str, list[Hold]] = {}  # by attempt
        self._used: dict[str, _Used] = {}
        self._states: dict[str, NodeState] = {}
        self._order: list[str] = []
        self._ranks: dict[str, int] = {}
        self._drained: Mapping[str, str] = {}
        self._volumes: Mapping[str, frozenset[str]] = {}

    def learn(self, inventory: Inventory, engine: str = "local") -> bool:
        """Stores what an engine reports; returns whether it changed. Raises NodeClash."""
        found = {node.name: node for node in inventory.nodes}
        same = inventory.holders == self._holders.get(engine, ())
        if found == self._engines.get(engine):
            if not same:
                self._put_holders(engine, inventory.holders)
            return not same
        for other, theirs in self._engines.items():
            for name in found:
                if other != engine and name in theirs:
                    raise NodeClash(name, other)
        self._engines[engine] = found
        self._put_holders(engine, inventory.holders)
        nodes = {name: node for each in self._engines.values() for name, node in each.items()}
        self._nodes = nodes
        self._order = sorted(nodes)
        self._ranks = {name: rank for rank, name in enumerate(nodes)}  # as the admin listed them
        self._states.clear()
        return True

    @property
    def known(self) -> Mapping[str, NodeInfo]:
        """All nodes, by name."""
        return self._nodes

    def nodes_of(self, engine: str) -> frozenset[str]:
        return frozenset(self._engines.get(engine, ()))

    def engine_of(self, node: str) -> str:
        return next((name for name, nodes in self._engines.items() if node in nodes), "")

    def put_away(self, engines: Iterable[str]) -> None:
        """Marks engines as away: nothing starts on their nodes, and what is free is unknown."""
        self._away = ANY.union(*(self.nodes_of(name) for name in engines))
        self._states.clear()

    @property
    def away(self) -> frozenset[str]:
        """Nodes of engines that do not answer."""
        return self._away

    def put_outside(self, engine: str, held: Mapping[str, tuple[Outside, ...]]) -> None:
        """Sets what attempts of other installations hold on an engine's nodes."""
        if held != self._outside.get(engine, {}):
            self._outside[engine] = dict(held)
            self._states.clear()

    def outside(self) -> dict[tuple[str, int], int]:
        """(node, GPU index) -> how much is held by processes that Danlu did not start."""
        gpus: dict[tuple[str, int], int] = {}
        for attempts in self._outside.values():
            for held in attempts.values():
                for node, indexes in held:
                    gpus.update({(node, index): WHOLE for index in indexes})
        for node, others in self.others().items():
            for each in others:
                gpus.update({(node, index): WHOLE for index in each.gpus})
        return gpus

    def _put_holders(self, engine: str, holders: tuple[Holder, ...]) -> None:
        self._holders[engine] = holders
        self._others = None
        self._states.clear()

    def others(self) -> dict[str, list[Held]]:
        """Node -> work on it that no Danlu has started."""
        if self._others is None:
            used = {
                name: frozenset(i for i, n in u.gpus.items() if n) for name, u in self._used.items()
            }
            self._others = {}
            for engine, holders in self._holders.items():
                self._others |= spread(engine, holders, self._engines[engine], used)
        return self._others

    def _forget_others(self) -> None:
        """Which GPUs a holder has that is only counted depends on which are ours."""
        if any(self._holders.values()):
            self._others = None
            self._states.clear()

    def put_volumes(self, volumes: Mapping[str, frozenset[str]]) -> None:
        """Node -> its volumes, of those that exist only on some nodes."""
        self._volumes = volumes
        self._states.clear()

    def drain(self, reasons: Mapping[str, str]) -> None:
        """Nodes drained by an admin, and why; running jobs continue."""
        self._drained = reasons
        self._states.clear()

    def has_room(self, shapes: Sequence[TaskShape], places: Sequence[Placement]) -> bool:
        """Whether all of these tasks could start at exactly these places now."""
        if len(shapes) != len(places) or any(p.node not in self._nodes for p in places):
            return False
        room = Room(self.states())
        for shape, place in zip(shapes, places, strict=True):
            there = replace(shape, indexes=place.gpus)
            if room.place((there,), frozenset({place.node})) is None:
                return False
        return True

    def hold(
        self,
        attempt_id: str,
        job_id: str,
        shapes: Sequence[TaskShape],
        places: Sequence[Placement],
    ) -> None:
        # An engine that places jobs itself reports the node later.
        holds = [
            Hold(attempt_id, job_id, shape, place)
            for shape, place in zip(shapes, places, strict=True)
            if place.node
        ]
        self._holds[attempt_id] = holds
        self._forget_others()
        for hold in holds:
            self._used.setdefault(hold.place.node, _Used()).add(hold, 1)
            self._states.pop(hold.place.node, None)

    def release(self, attempt_id: str) -> bool:
        holds = self._holds.pop(attempt_id, None)
        self._forget_others()
        for hold in holds or ():
            self._used[hold.place.node].add(hold, -1)
            self._states.pop(hold.place.node, None)
        return holds is not None

    def moving(self) -> dict[tuple[str, int], int]:
        """(node, GPU index) -> how much is reserved for jobs being moved there."""
        gpus: dict[tuple[str, int], int] = {}
        for name, holds in self._holds.items():
            if name.endswith(ELSEWHERE):
                for hold in holds:
                    for index in hold.place.gpus:
                        key = (hold.place.node, index)
                        gpus[key] = gpus.get(key, 0) + (hold.place.share or WHOLE)
        return gpus

    def nodes(self) -> list[NodeInfo]:
        return [self._nodes[name] for name in self._order]

    def states(self) -> list[NodeState]:
        return [self._state(name) for name in self._order]

    def gpu_holders(self) -> dict[tuple[str, int], list[Hold]]:
        """(node, GPU index) -> its holders."""
        gpus: dict[tuple[str, int], list[Hold]] = {}
        for holds in self._holds.values():
            for hold in holds:
                for index in hold.place.gpus:
                    gpus.setdefault((hold.place.node, index), []).append(hold)
        return gpus

    def _state(self, name: str) -> NodeState:
        state = self._states.get(name)
        if state is None:
            state = self._states[name] = self._add_up(self._nodes[name])
        return state

    def _add_up(self, node: NodeInfo) -> NodeState:
        used = self._used.get(node.name) or _Used()
        others = self.outside() if self._outside or any(self._holders.values()) else {}
        beside = self.others().get(node.name, ()) if self._holders else ()
        cpus = used.millicpus / 1000 + sum(each.holder.cpus for each in beside)
        memory = used.memory + sum(each.holder.memory for each in beside)
        gpus = tuple(
            GpuState(
                g.index,
                g.model,
                max(0, WHOLE - used.gpus.get(g.index, 0) - others.get((node.name, g.index), 0)),
                g.healthy,
            )
            for g in node.gpus
        )
        return NodeState(
            node.name,
            node.cpus,
            node.memory,
            max(0.0, node.cpus - cpus),
            max(0, node.memory - memory),
            gpus,
            node.up and node.name not in self._away,
            drained=node.name in self._drained,
            labels=frozenset(node.labels),
            volumes=self._volumes.get(node.name, ANY),
            rank=self._ranks[node.name],
            drain_reason=self._drained.get(node.name, ""),
        )


class _Used:
    """Integers, so that repeated additions and subtractions leave no rounding error."""

    __slots__ = ("gpus", "memory", "millicpus")

    def __init__(self) -> None:
        self.millicpus = 0
        self.memory = 0
        self.gpus: dict[int, int] = {}

    def add(self, hold: Hold, sign: int) -> None:
        self.millicpus += sign * round(hold.shape.cpus * 1000)
        self.memory += sign * hold.shape.memory
        for index in hold.place.gpus:
            amount = sign * (hold.place.share or WHOLE)
            self.gpus[index] = self.gpus.get(index, 0) + amount
