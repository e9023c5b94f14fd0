"""Live events of jobs, nodes and GPUs, for users who may see them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.control.feed import Feed
from danlu.services.cluster import Cluster, Node
from danlu.services.gpu_usage import Wave
from danlu.services.names import Names, told
from danlu.services.slots import Slot, Slots
from danlu.spec.text import Text
from danlu.store.errors import StoreError
from danlu.store.feed import Happening

_FRESH = 1.0  # seconds
Still = Callable[[], Awaitable[Principal | None]]
"""Looks up the listener again, since a stream may outlive a token. None: access has ended."""


@dataclass(frozen=True, slots=True)
class Wanted:
    job_ids: frozenset[str] | None = None  # None: all visible jobs
    owner: str | None = None
    kinds: frozenset[str] = frozenset()  # empty: all
    nodes: bool = False
    beat: float = 15.0  # seconds without events before a heartbeat

    def takes(self, happening: Happening) -> bool:
        event, job = happening.event, happening.job
        if self.job_ids is not None and event.job_id not in self.job_ids:
            return False
        if self.owner is not None and (job is None or job.owner != self.owner):
            return False
        return not self.kinds or event.kind in self.kinds


@dataclass(frozen=True, slots=True)
class NodeNews:
    changed: list[Node]
    gone: list[str]


@dataclass(frozen=True, slots=True)
class News:
    """A heartbeat, if it has nothing else."""

    seq: int  # everything up to this event was sent
    happenings: list[Happening]
    nodes: NodeNews | None
    usage: Wave | None = None


class Stream:
    def __init__(self, feed: Feed, cluster: Cluster, most: int, names: Names) -> None:
        self._feed = feed
        self._cluster = cluster
        self._names = names
        self._board: dict[str, Node] = {}
        self._board_of = (-1, 0.0)
        self._slots = Slots(most, Text("open event streams", "打开的事件流"))

    async def begin(self, after: int | None) -> tuple[int, bool]:
        """The event to start after. True: `after` is unknown here, so it starts from now."""
        last = await self._feed.now()
        # Numbers start lower after an older backup was restored.
        known = after is not None and after <= last
        return (after if after is not None and known else last), after is not None and not known

    def listen(
        self, who: Principal, wanted: Wanted, seq: int, still: Still
    ) -> AsyncGenerator[News]:
        """Ends when the listener loses access. Raises Crowded."""
        return self._listen(who, wanted, seq, still, self._slots.take(who.name))

    async def _listen(
        self, who: Principal, wanted: Wanted, seq: int, still: Still, slot: Slot
    ) -> AsyncGenerator[News]:
        try:
            shown: dict[str, Node] = {}
            usage: Wave | None = None
            person: Principal | None = who
            with self._feed.listening():
                while person is not None:
                    waiter = self._feed.waiter()
                    try:
                        happenings, upto = await self._next(wanted, person, seq)
                    except StoreError:
                        await self._feed.wait(waiter, 1.0)
                        yield News(seq, [], None)
                        continue
                    nodes = self._node_news(person, shown) if wanted.nodes else None
                    wave = self._cluster.usage.now() if wanted.nodes else None
                    fresh = wave if wave is not usage and wave is not None and wave.at else None
                    moved, seq = upto > seq, upto
                    if happenings or nodes is not None or fresh is not None:
                        yield News(seq, happenings, nodes, fresh)
                        del happenings, nodes  # do not keep it alive for a slow reader
                    usage = wave
                    if moved:
                        self._feed.forget(waiter)
                    elif not await self._feed.wait(waiter, wanted.beat):
                        yield News(seq, [], None)
                    # Checked every time, so that revoked access takes effect at once.
                    with contextlib.suppress(StoreError):
                        person = await still()
        finally:
            slot.free()

    async def _next(self, wanted: Wanted, who: Principal, seq: int) -> tuple[list[Happening], int]:
        news = await self._feed.after(seq, tuple(wanted.job_ids or ()))
        hide = self._names.hidden_from(who)
        found = [each for each in news.happenings if _goes(each, wanted, who)]
        return [replace(each, event=told(each.event, hide)) for each in found], news.upto

    def _node_news(self, who: Principal, shown: dict[str, Node]) -> NodeNews | None:
        """Changed nodes, and the names of removed ones."""
        nodes = self._nodes(who)
        changed = [
            node
            for name, node in nodes.items()
            if (was := shown.get(name)) is not node and was != node
        ]
        gone = sorted(shown.keys() - nodes.keys())
        if not changed and not gone and shown:
            return None
        shown.clear()
        shown.update(nodes)
        return NodeNews(changed, gone)

    def _nodes(self, who: Principal) -> dict[str, Node]:
        """Computed once for all whom the same event woke; unchanged nodes stay the same object."""
        if self._cluster.hides(who):
            return {node.name: node for node in self._cluster.nodes(who)}
        told, at = self._board_of
        now = time.monotonic()
        if told != self._feed.told or now - at > _FRESH:
            before = self._board
            self._board = {
                node.name: was if (was := before.get(node.name)) == node else node
                for node in self._cluster.nodes(who)
            }
            self._board_of = (self._feed.told, now)
        return self._board


def _goes(happening: Happening, wanted: Wanted, who: Principal) -> bool:
    job = happening.job
    if job is None:
        return who.admin and wanted.takes(happening)
    return wanted.takes(happening) and rules.sees_job(who, job.owner, job.group)
