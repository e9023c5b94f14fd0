"""Fragments collected: the fewest moves of movable jobs after which a waiting job fits."""

from __future__ import annotations

from math import inf

from danlu.sched.api import WHOLE, Move, Running, TaskPlace, TaskShape, Waiting
from danlu.sched.backfill_reserve import Reserve
from danlu.sched.backfill_view import View
from danlu.sched.free import Free, Need
from danlu.sched.timeline import end_of

MOST = 8  # moves for one start
WORTH = 1800.0  # seconds of waiting that one move must save
SOON = 600.0  # what ends within this time is not moved


def plan(view: View, head: Waiting) -> tuple[Move, ...]:
    """Nothing where waiting costs less than moving, or where no moves would do."""
    shapes = view.shapes(head)
    asked = sum(shape.amount for shape in shapes)
    if not asked or any(shape.share for shape in shapes):
        return ()
    rooms = {at: view.room.room_of(at) for at in range(len(view.room.nodes))}
    usable = {at: free for at, free in rooms.items() if free.usable}
    if sum(sum(free.cards) for free in usable.values()) < asked:
        return ()
    settings = view.rules.settings
    saved = Reserve(view, head).at - view.now
    worth = settings.get("worth", WORTH)
    limit = settings.get("moves", MOST)
    if saved != inf:
        limit = min(limit, saved / worth)
    return _Search(view, usable, int(limit)).find(head) if limit >= 1 else ()


class _Search:
    def __init__(self, view: View, rooms: dict[int, Free], limit: int) -> None:
        self._view, self._rooms, self._limit = view, dict(rooms), limit
        self._movable: dict[int, list[Running]] = {}
        self._kept: set[int] = set()  # nodes that are being emptied: nothing moves there
        self._moves: list[tuple[Running, int]] = []
        for job in view.snapshot.running:
            if job.movable and len(job.places) == 1 and end_of(job, view.now) - view.now > SOON:
                at = view.room.position(job.places[0].node)
                self._movable.setdefault(at, []).append(job)

    def find(self, head: Waiting) -> tuple[Move, ...]:
        shapes = sorted(self._view.shapes(head), key=lambda s: s.amount, reverse=True)
        for shape in shapes:
            if not self._clear(shape):
                return ()
        if len(self._moves) > self._limit:
            return ()
        nodes, places = self._view.room.nodes, {}
        rooms = {at: self._view.room.room_of(at).copy() for at in self._rooms}
        for job, to in self._moves:
            need = Need(job.shapes[0])
            positions = rooms[to].choose(need)
            if positions is None:
                return ()
            rooms[to].change(need, positions, 1)
            cards = tuple(sorted(rooms[to].indexes[position] for position in positions))
            places[job.job_id] = TaskPlace(nodes[to].name, cards, job.shapes[0].share)
        return tuple(Move(job_id, (place,), head.job_id) for job_id, place in places.items())

    def _clear(self, shape: TaskShape) -> bool:
        """Makes room for one task, on the node where that takes the fewest moves."""
        need, view = Need(shape), self._view
        suitable = view.room.suitable(shape, view.only)
        best: tuple[int, int, int] | None = None
        chosen: list[tuple[Running, int]] = []
        for at, free in self._rooms.items():
            if at in self._kept or (suitable is not None and not suitable[at]):
                continue
            if len(free.cards) < need.cards:
                continue
            left = self._limit - len(self._moves)
            most = left if best is None else min(left, best[0])
            moves = self._leaving(at, need, most)
            if moves is None:
                continue
            key = (len(moves), free.whole, at)
            if best is None or key < best:
                best, chosen = key, moves
        if best is None:
            return False
        at = best[2]
        self._kept.add(at)
        for job, to in chosen:
            self._shift(job, at, to)
        room = self._writable(at)
        room.change(need, room.choose(need) or (), 1)
        return True

    def _leaving(self, at: int, need: Need, most: int) -> list[tuple[Running, int]] | None:
        """Which jobs leave this node and where they go, at most so many."""
        free = self._rooms[at].copy()
        moved = {job.job_id for job, _ in self._moves}
        jobs = [job for job in self._movable.get(at, ()) if job.job_id not in moved]
        largest = max((job.shapes[0].amount for job in jobs), default=0)
        missing = (need.cards - free.idle(need)) * WHOLE
        if missing > most * largest:
            return None
        rooms: dict[int, Free] = {}
        moves: list[tuple[Running, int]] = []
        while not free.fits(need):
            missing = max(1, (need.cards - free.idle(need)) * WHOLE)
            job = _pick(jobs, missing)
            if job is None or len(moves) == most:
                return None
            jobs.remove(job)
            to = self._target(job, at, rooms)
            if to is None:
                continue
            taken = rooms[to] = rooms.get(to) or self._rooms[to].copy()
            shape = Need(job.shapes[0])
            taken.change(shape, taken.choose(shape) or (), 1)
            free.change(shape, free.positions(job.places[0].cards), -1)
            moves.append((job, to))
        return moves

    def _target(self, job: Running, leaving: int, rooms: dict[int, Free]) -> int | None:
        """The fullest other node that has room for it."""
        need, view = Need(job.shapes[0]), self._view
        suitable = view.room.suitable(job.shapes[0], view.only)
        best: tuple[int, int] | None = None
        for at, untouched in self._rooms.items():
            if at == leaving or at in self._kept or untouched.whole < need.cards:
                continue
            free = rooms.get(at) or untouched
            if best is not None and free.whole >= best[0]:
                continue
            if free.fits(need) and (suitable is None or suitable[at]):
                best = (free.whole, at)
        return None if best is None else best[1]

    def _shift(self, job: Running, source: int, to: int) -> None:
        need = Need(job.shapes[0])
        room = self._writable(to)
        room.change(need, room.choose(need) or (), 1)
        room = self._writable(source)
        room.change(need, room.positions(job.places[0].cards), -1)
        self._moves.append((job, to))

    def _writable(self, at: int) -> Free:
        self._rooms[at] = self._rooms[at].copy()
        return self._rooms[at]


def _pick(jobs: list[Running], missing: int) -> Running | None:
    """The smallest that is large enough alone, else the largest: that makes the fewest moves."""
    enough = [job for job in jobs if job.shapes[0].amount >= missing]
    if enough:
        return min(enough, key=lambda job: (job.shapes[0].amount, -job.since, job.job_id))
    return max(jobs, key=lambda job: (job.shapes[0].amount, job.since, job.job_id), default=None)
