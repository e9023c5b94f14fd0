"""Preemptions and moves of a pass, tracked for all queues together.

No job is preempted twice, and no resources are promised twice. Resources being freed belong to
their claimant: no other job may use them until the claimant has started.
"""

from __future__ import annotations

from collections.abc import Sequence

from danlu.sched.api import Claim, Move, Preempt, Running, Snapshot, TaskShape, Waiting
from danlu.sched.place.place import Room
from danlu.spec.placement import Placement

Shapes = Sequence[TaskShape]
Places = tuple[Placement, ...]


class Claims:
    def __init__(self, snapshot: Snapshot, room: Room) -> None:
        self._snapshot = snapshot
        self._room = room  # what is free now; it is never more than what is free then
        self._after: Room | None = None  # what is free once everything has ended or moved
        self._shown: Room | None = None  # what is free now, kept for somebody or not
        self._gone: set[str] = set()
        self.claims: list[Claim] = []
        self.preempts: list[Preempt] = []
        self.moves: list[Move] = []

    @property
    def after(self) -> Room:
        """Not to be changed by whoever looks."""
        if self._after is None:
            self._after = self._room.copy()
            for job in self._snapshot.running:
                if job.ending and self.is_here(job):
                    self._after.free(job.shapes, job.places)
        return self._after

    @property
    def claimants(self) -> list[str]:
        return [claim.job_id for claim in self.claims]

    @property
    def shown(self) -> Room:
        """Free resources as shown to users, including those reserved for claimants."""
        return self._shown or self._room

    def leaves(self, shapes: Shapes, only: frozenset[str] | None) -> bool:
        """Whether it would fit without reservations."""
        return self.shown.fits_gang(shapes, only)

    def is_here(self, job: Running) -> bool:
        """Whether all its nodes are still there."""
        return all(self._room.has(place.node) for place in job.places)

    def stays(self, job: Running) -> bool:
        """Nobody has ended or moved it yet."""
        return not job.ending and job.job_id not in self._gone

    def started(self, shapes: Shapes, places: Places) -> None:
        for room in (self._after, self._shown):
            if room is not None:
                room.take(shapes, places)

    def waits(self, job: Waiting, shapes: Shapes, places: Places) -> None:
        """Room that is coming free anyhow, kept for it."""
        self._shown = self._shown or self._room.copy()
        self.after.take(shapes, places)
        self._room.at_most(self.after, {place.node for place in places})
        self.claims.append(Claim(job.job_id, places))

    def ends(self, job: Waiting, shapes: Shapes, places: Places, victims: list[Running]) -> None:
        for victim in victims:
            self.after.free(victim.shapes, victim.places)
            self._gone.add(victim.job_id)
            self.preempts.append(Preempt(victim.job_id, job.job_id))
        self.waits(job, shapes, places)

    def moved(
        self, job: Waiting, shapes: Shapes, places: Places, moves: list[tuple[Running, Places]]
    ) -> None:
        self._shown = self._shown or self._room.copy()
        for moving, to in moves:
            self.after.free(moving.shapes, moving.places)
            self.after.take(moving.shapes, to)
            self._room.take(moving.shapes, to)
            self._gone.add(moving.job_id)
            self.moves.append(Move(moving.job_id, to, job.job_id))
        self.waits(job, shapes, places)
