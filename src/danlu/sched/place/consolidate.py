"""Defragmentation: the fewest moves of movable jobs that make a waiting job fit.

A move is checked like a start: the nodes of the moved job's own queue, the models its kind of work
may use, its owner's quotas by model. A job goes to another node, a share of a GPU also to another
GPU of its node; a gang goes as a whole.
"""

from __future__ import annotations

from math import inf

from danlu.sched.api import WHOLE, Running, TaskShape, Waiting
from danlu.sched.backfill.reserve import Reserve
from danlu.sched.backfill.timeline import end_of
from danlu.sched.backfill.view import View
from danlu.sched.limits import Limits
from danlu.sched.place.free import Free, Need
from danlu.spec.placement import Placement

MOST = 8  # moves for one start
WORTH = 1800.0  # seconds of waiting that one move must save
SOON = 600.0  # what ends within this time is not moved
Places = tuple[Placement, ...]
Moves = list[tuple[Running, Places]]


def make_room(view: View, head: Waiting) -> bool:
    """Plans the moves and reserves the room for `head`. Returns whether anything moves."""
    moves = plan(view, head)
    if not moves:
        return False
    room = view.claims.after.copy()
    for job, to in moves:
        room.free(job.shapes, job.places)
        room.take(job.shapes, to)
    shapes = view.shapes(head)
    places = room.place(shapes, view.only_of(head), head.owner)
    if places is None or not _allowed(view.limits.copy(), moves):
        return False
    view.claims.moved(head, shapes, places, moves)
    view.promise(head, places)
    for job, to in moves:
        view.limits.moved(job, to)
    return True


def _allowed(limits: Limits, moves: Moves) -> bool:
    """Checks all moves together, since together they may exceed a quota."""
    for job, _ in moves:
        limits.left(job)
    for job, to in moves:
        if not limits.may_go(job, to):
            return False
        limits.arrived(job, to)
    return True


def plan(view: View, head: Waiting) -> Moves:
    """Empty if waiting costs less than moving, or if no moves would help."""
    shapes = view.shapes(head)
    asked = sum(shape.amount for shape in shapes)
    if not asked or any(shape.share for shape in shapes):
        return []
    context = {at: view.room.room_of(at) for at in range(len(view.room.nodes))}
    usable = {at: free for at, free in context.items() if free.usable}
    if sum(sum(free.gpus) for free in usable.values()) < asked:
        return []
    settings = view.rules_of(head).settings
    saved = Reserve(view, head).at - view.now
    worth = settings.get("worth", WORTH)
    limit = settings.get("moves", MOST)
    if saved != inf:
        limit = min(limit, saved / worth)
    return _Search(view, usable, int(limit)).find(head) if limit >= 1 else []


class _Search:
    def __init__(self, view: View, context: dict[int, Free], limit: int) -> None:
        self._view, self._context, self._limit = view, dict(context), limit
        self._movable: dict[int, list[Running]] = {}
        self._kept: set[int] = set()  # nodes being emptied, which are no targets
        self._moves: Moves = []
        self._shapes: dict[str, tuple[TaskShape, ...] | None] = {}
        # Resources that moving gangs free on other nodes, available only later.
        self._freed: dict[int, list[tuple[TaskShape, Placement]]] = {}
        for job in view.snapshot.running:
            lasts = end_of(job, view.now) - view.now > SOON
            if job.movable and lasts and view.claims.stays(job) and view.claims.is_here(job):
                for at in {view.room.position(place.node) for place in job.places}:
                    self._movable.setdefault(at, []).append(job)

    def find(self, head: Waiting) -> Moves:
        shapes = sorted(self._view.shapes(head), key=lambda s: s.amount, reverse=True)
        for shape in shapes:
            if not self._clear(shape, self._view.only_of(head)):
                return []
        return self._moves if len(self._moves) <= self._limit else []

    def _clear(self, shape: TaskShape, only: frozenset[str] | None) -> bool:
        """Makes room for one task on the node that needs the fewest moves."""
        need, view = Need(shape), self._view
        suitable = view.room.suitable(shape, only)
        best: tuple[int, int, int] | None = None
        chosen: Moves = []
        for at, free in self._context.items():
            if at in self._kept or (suitable is not None and not suitable[at]):
                continue
            if len(free.gpus) < need.gpus:
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
        self._context[at] = self._later(at)
        self._freed.pop(at, None)
        for job, to in chosen:
            self._shift(job, to)
        room = self._writable(at)
        room.change(need, room.choose(need) or (), 1)
        return True

    def _later(self, at: int) -> Free:
        free = self._context[at].copy()
        for shape, place in self._freed.get(at, ()):
            free.change(Need(shape), free.positions(place.gpus), -1)
        return free

    def _leaving(self, at: int, need: Need, most: int) -> Moves | None:
        """Jobs to move off this node's GPUs and their targets, up to a limit."""
        free = self._later(at)
        if free.fits(need):
            return []
        moved = {job.job_id for job, _ in self._moves}
        jobs = [job for job in self._movable.get(at, ()) if job.job_id not in moved]
        missing = need.gpus - free.idle(need)
        if missing > most * max((self._gpus_at(job, at) for job in jobs), default=0):
            return None
        context: dict[int, Free] = {at: free}
        moves: Moves = []
        while not context[at].fits(need):
            missing = max(1, need.gpus - context[at].idle(need))
            job = self._pick(jobs, at, context[at], missing)
            if job is None or len(moves) == most:
                return None
            jobs.remove(job)
            to = self._target(job, at, context, moves)
            if to is None:
                continue
            for shape, place in self._at(job, at):
                free.change(Need(shape), free.positions(place.gpus), -1)
            moves.append((job, to))
        return moves

    def _gpus_at(self, job: Running, at: int) -> int:
        """GPUs of this node that moving it could free."""
        return sum(len(place.gpus) for _, place in self._at(job, at))

    def _at(self, job: Running, at: int) -> list[tuple[TaskShape, Placement]]:
        """Its tasks on this node."""
        name = self._view.room.nodes[at].name
        both = zip(job.shapes, job.places, strict=True)
        return [(shape, place) for shape, place in both if place.node == name]

    def _pick(self, jobs: list[Running], at: int, free: Free, missing: int) -> Running | None:
        """The smallest that is large enough alone, else the largest: that makes the fewest
        moves. A share counts as the GPU that nobody else has a part of."""

        def gain(job: Running) -> tuple[int, int]:
            parts = [
                free.gpus[position] + (shape.share or WHOLE)
                for shape, place in self._at(job, at)
                for position in free.positions(place.gpus)
            ]
            return sum(part == WHOLE for part in parts), sum(parts)

        gains = {job.job_id: gain(job) for job in jobs}
        enough = [job for job in jobs if gains[job.job_id][0] >= missing]
        if enough:
            return min(enough, key=lambda job: (_size(job), -job.since, job.job_id))
        return max(jobs, key=lambda job: (gains[job.job_id], job.since, job.job_id), default=None)

    def _target(
        self, job: Running, leaving: int, context: dict[int, Free], moves: Moves
    ) -> Places | None:
        """The fullest other places with room for it; takes them in `context`."""
        shapes = self._allowed_shapes(job)
        if shapes is None:
            return None
        taken: list[tuple[Free, Need, tuple[int, ...]]] = []
        found: list[Placement] = []
        for shape, place in zip(shapes, job.places, strict=True):
            where = self._one_target(job, shape, place, leaving, context, moves)
            if where is None:
                for free, need, positions in taken:
                    free.change(need, positions, -1)
                return None
            at, positions = where
            free = context[at] = context.get(at) or self._context[at].copy()
            free.change(Need(shape), positions, 1)
            taken.append((free, Need(shape), positions))
            gpus = tuple(sorted(free.indexes[position] for position in positions))
            found.append(Placement(self._view.room.nodes[at].name, gpus, shape.share))
        return tuple(found)

    def _one_target(
        self,
        job: Running,
        shape: TaskShape,
        place: Placement,
        leaving: int,
        context: dict[int, Free],
        moves: Moves,
    ) -> tuple[int, tuple[int, ...]] | None:
        need, view = Need(shape), self._view
        suitable = view.room.suitable(shape, view.only_of(job))
        best: tuple[int, int] | None = None
        for at, untouched in self._context.items():
            if at == leaving or at in self._kept or untouched.whole < need.gpus:
                continue
            free = context.get(at) or untouched
            if best is not None and free.whole >= best[0]:
                continue
            if free.fits(need) and (suitable is None or suitable[at]):
                best = (free.whole, at)
        beside = self._beside(need, place, leaving, moves)
        if beside is not None and (best is None or best[0] > 0):
            return leaving, beside  # part of a GPU that is in use anyway
        if best is None:
            return None
        free = context.get(best[1]) or self._context[best[1]]
        return best[1], free.choose(need) or ()

    def _beside(
        self, need: Need, place: Placement, leaving: int, moves: Moves
    ) -> tuple[int, ...] | None:
        """A part of another GPU of the same node, which somebody has a part of and goes on having.

        It has to be free now: nobody is asked to start where somebody else has not ended yet.
        """
        if not need.share or need.indexes or place.node != self._view.room.nodes[leaving].name:
            return None
        now = self._view.room.room_of(leaving).copy()
        parted = [place, *(one for job, _ in moves for _, one in self._at(job, leaving))]
        leaves = {index for one in parted for index in one.gpus}
        for job, to in moves:
            for shape, one in zip(job.shapes, to, strict=True):
                if one.node == place.node:
                    now.change(Need(shape), now.positions(one.gpus), 1)
        if now.millicpus < need.millicpus or now.memory < need.memory:
            return None
        parts = [
            (part, at)
            for at, part in enumerate(now.gpus)
            if need.share <= part < WHOLE
            and now.indexes[at] not in leaves
            and need.accepts(now.models[at])
        ]
        return (min(parts)[1],) if parts else None

    def _allowed_shapes(self, job: Running) -> tuple[TaskShape, ...] | None:
        if job.job_id not in self._shapes:
            self._shapes[job.job_id] = self._view.limits.shapes_to_move(job)
        return self._shapes[job.job_id]

    def _shift(self, job: Running, to: Places) -> None:
        room = self._view.room
        for shape, place in zip(job.shapes, to, strict=True):
            free = self._writable(room.position(place.node))
            free.change(Need(shape), free.positions(place.gpus), 1)
        for shape, place in zip(job.shapes, job.places, strict=True):
            at = room.position(place.node)
            if at in self._kept:
                free = self._writable(at)
                free.change(Need(shape), free.positions(place.gpus), -1)
            else:
                self._freed.setdefault(at, []).append((shape, place))
        self._moves.append((job, to))

    def _writable(self, at: int) -> Free:
        self._context[at] = self._context[at].copy()
        return self._context[at]


def _size(job: Running) -> int:
    return sum(shape.amount for shape in job.shapes)
