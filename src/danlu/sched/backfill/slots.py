"""Backfill on several nodes in which no job starts later than it would without backfill.

The strict queue (see `World`) gives every waiting job a slot: when it would start there, and on
which GPUs. As long as no job runs in the slot of another, every job can start by its slot at the
latest. So a job may start now

- in its own place, if that stays free until its slot begins; or
- in any place that is not needed until the job ends, if that is before its own slot begins. Later
  jobs get their slots after that.
"""

from __future__ import annotations

from math import inf

from danlu.sched.api import (
    WHOLE,
    Basis,
    Cause,
    CauseKind,
    Kept,
    Reservation,
    TaskShape,
    Waiting,
)
from danlu.sched.backfill.apart import start_apart
from danlu.sched.backfill.timeline import end_of, run_of
from danlu.sched.backfill.view import NODES_TO_COMPARE, Filled, View, firsts, starts_of
from danlu.sched.backfill.world import World
from danlu.sched.memory import Entry, Memory
from danlu.sched.place.free import Free, Need, millicpus
from danlu.sched.place.place import Room
from danlu.sched.sharing import Order
from danlu.spec.placement import Placement

Places = tuple[Placement, ...]
BUDGET = 4000  # checks of a node's future per pass
_EXPLAINED = 20  # jobs that get an explanation of what they wait for
_BLAMED = 3  # slots tried as the reason
_NAMED = 5  # nodes
_NEAR = 1e-6


def follows_nodes(view: View) -> bool:
    """On very many nodes, totals are nearly as accurate and much faster."""
    reach = view.group.reach
    count = len(view.room.nodes) if reach is None else len(reach)
    return 1 < count <= NODES_TO_COMPARE and len(view.room.nodes) <= NODES_TO_COMPARE


def fill_slots(view: View, jobs: list[Waiting]) -> Filled:
    possible = [job for job in jobs if view.could(job)]
    return _Pass(view, possible).run()


class _Pass:
    def __init__(self, view: View, jobs: list[Waiting]) -> None:
        self.view, self.jobs = view, jobs
        self.world = World(view, jobs, view.memory or Memory())
        self.left = {job.job_id: self.world.slots[job.job_id] for job in jobs}
        self.future = Future(view, self.left)
        self.kept: dict[str, Kept] = {}

    def run(self) -> Filled:
        view = self.view
        while self._round() and self.future.steps < BUDGET:
            pass
        self._in_their_slots()
        if any(slot.at == inf for slot in self.left.values()):
            self._start_apart()
        left = [job for job in self.jobs if job.job_id in self.left]
        head = left[0] if left else None
        kept = tuple(one for one in self.kept.values() if one.job_id in self.left)
        passes = (view.memory or Memory()).passes + 1
        memory = Memory(self.world.after(view.begun), passes=passes)
        reservations = self._reservations(head, kept)
        return Filled(starts_of(view), firsts(view, left), reservations, kept, memory)

    def _reservations(
        self, head: Waiting | None, kept: tuple[Kept, ...]
    ) -> tuple[Reservation, ...]:
        slot = None if head is None or not kept else self.left[head.job_id]
        if slot is None or slot.at == inf:
            return ()
        return (Reservation(slot.job_id, slot.at, slot.places),)

    def _round(self) -> bool:
        """Short and small jobs first. Returns whether a slot was given up for others."""
        begun = False
        refused: dict[tuple[TaskShape, ...], tuple[float, Kept]] = {}
        for job in sorted(self._open(), key=self._area):
            if self.future.steps >= BUDGET:
                break
            if not self.view.fits(job):
                continue
            slot = self.left[job.job_id]
            anywhere = slot.run <= slot.at - self.view.now
            run, why = refused.get(slot.shapes, (inf, None))
            if anywhere and why is not None and slot.run >= run:
                # An equally large and not longer one was refused already.
                self.kept[job.job_id] = Kept(job.job_id, why.cause)
                continue
            places = self._places(job, slot)
            if places is not None and self._start(job, places):
                begun = True
                continue
            self.kept[job.job_id] = self._why_kept(job, slot)
            if anywhere:
                refused[slot.shapes] = (slot.run, self.kept[job.job_id])
        return begun

    def _open(self) -> list[Waiting]:
        """Up to the first job with an unknown start, which none may overtake."""
        found = []
        for job in self.jobs:
            if job.job_id in self.left:
                found.append(job)
                if self.left[job.job_id].at == inf:
                    break
        return found

    def _area(self, job: Waiting) -> tuple[float, Order]:
        run = max(10.0, run_of(job) or inf)
        return run * run * sum(s.amount or s.cpus for s in job.shapes), self.view.order(job)

    def _places(self, job: Waiting, slot: Entry, without: str = "") -> Places | None:
        """Where it may start now."""
        view, until = self.view, self.view.now + slot.run
        if until > slot.at + _NEAR and slot.at > view.now:
            own = self.future.stays_free(slot, slot.at, without)
            return slot.places if own else None
        if slot.at <= view.now and self.future.stays_free(slot, view.now, without):
            return slot.places
        room = self.future.room(slot, until, without)
        owner, prefer = slot.owner, None
        if slot.run != inf and view.compares_nodes(job.queue):
            prefer = view.longest_busy(self.future.busy, view.now, slot.run)
        room.fill_by(view.rules_of(job).place)
        return room.place(view.shapes(job), view.only_of(job), owner, prefer)

    def _start(self, job: Waiting, places: Places) -> bool:
        view = self.view
        if not view.permits(job) or not view.limits.has_models(job, places):
            return False
        view.room.take(view.shapes(job), places)
        view.commit(job, places)
        self.future.begins(self.left.pop(job.job_id), places)
        return True

    def _in_their_slots(self) -> None:
        """Starts jobs whose own slot is free, which the promises rely on."""
        for job in self._open():
            slot = self.left[job.job_id]
            own = slot.at != inf and self.future.stays_free(slot, slot.at)
            if own and self._start(job, slot.places):
                continue
            if slot.at <= self.view.now and self.view.start(job):
                # Something did not go as planned, but it is its turn.
                self.future.begins(self.left.pop(job.job_id), self.view.begun[-1].places)

    def _start_apart(self) -> None:
        view = self.view
        start_apart(view, self.jobs)
        for one in view.begun:
            if one.job.job_id in self.left:
                self.future.begins(self.left.pop(one.job.job_id), one.places)

    def _why_kept(self, job: Waiting, slot: Entry) -> Kept:
        """What it waits for: a slot without which it could start."""
        own = self.view.order(job)
        earlier = [one for one in self._open() if self.view.order(one) < own]
        for other in earlier[:_BLAMED] if len(self.kept) < _EXPLAINED else ():
            if self._places(job, slot, other.job_id) is not None:
                return Kept(job.job_id, self._kept_for(other, Basis.VERIFIED))
        if earlier:
            return Kept(job.job_id, self._kept_for(earlier[0], Basis.ESTIMATE))
        numbers: dict[str, int | float | str] = {} if slot.at == inf else {"at": slot.at}
        return Kept(job.job_id, Cause(CauseKind.RESERVED, Basis.ESTIMATE, numbers))

    def _kept_for(self, other: Waiting, basis: Basis) -> Cause:
        slot = self.left[other.job_id]
        numbers: dict[str, int | float | str] = {"ref": other.ref}
        if slot.at != inf:
            nodes = list(dict.fromkeys(place.node for place in slot.places))
            more = f" +{len(nodes) - _NAMED}" if len(nodes) > _NAMED else ""
            numbers |= {"at": slot.at, "nodes": ", ".join(nodes[:_NAMED]) + more}
        return Cause(CauseKind.RESERVED, basis, numbers)


class Future:
    """Free capacity of the nodes over time, if all jobs use their slots."""

    def __init__(self, view: View, slots: dict[str, Entry]) -> None:
        self._view, self._slots = view, slots  # `slots` shrinks as jobs begin
        self.steps = 0
        self.busy: dict[str, float] = {}
        self._ends: dict[str, list[tuple[float, TaskShape, Placement]]] = {}
        self._taken: dict[str, list[tuple[Entry, TaskShape, Placement]]] = {}
        for job in view.snapshot.running:
            self._ending(end_of(job, view.now), job.shapes, job.places)
        for slot in slots.values():
            for shape, place in zip(slot.shapes, slot.places, strict=False):
                self._taken.setdefault(place.node, []).append((slot, shape, place))

    def begins(self, slot: Entry, places: Places) -> None:
        self._ending(self._view.now + slot.run, slot.shapes, places)

    def stays_free(self, slot: Entry, until: float, without: str = "") -> bool:
        """Whether its own place is free from now on until then."""
        room = self._view.room
        tasks = [
            (room.position(place.node), Need(shape), place.gpus)
            for shape, place in zip(slot.shapes, slot.places, strict=False)
        ]
        if not tasks or not all(_holds(room.room_of(at), n, c) for at, n, c in tasks):
            return False  # the common case: it is not even free now
        frees: dict[int, Free] = {}
        for at, need, gpus in tasks:
            if at not in frees:
                frees[at] = self.least(at, slot, until, without).copy()
            if not _holds(frees[at], need, gpus):
                return False
            frees[at].change(need, frees[at].positions(gpus), 1)
        return True

    def room(self, slot: Entry, until: float, without: str = "") -> Room:
        """The room that stays free until then, on nodes where it would fit now."""
        view = self._view
        needs = [Need(shape) for shape in set(slot.shapes)]
        less: dict[int, Free] = {}
        for at, free in enumerate(view.room.context()):
            if view.room.nodes[at].name in self._taken and any(free.fits(need) for need in needs):
                less[at] = self.least(at, slot, until, without)
        return view.room.with_less(less)

    def least(self, at: int, slot: Entry, until: float, without: str) -> Free:
        """What a node has free all the time until then, besides the slots of others."""
        self.steps += 1
        name, free = self._view.room.nodes[at].name, self._view.room.room_of(at)
        taken = [
            one
            for one in self._taken.get(name, ())
            if one[0].at < until and one[0].job_id != slot.job_id and one[0].job_id != without
        ]
        taken = [one for one in taken if one[0].job_id in self._slots]
        if not taken:
            return free.copy()
        changes = [(end, 0, 1, s, p) for end, s, p in self._ends.get(name, ()) if end < until]
        changes += [(one.at, 1, -1, s, p) for one, s, p in taken]
        changes += [(one.end, 0, 1, s, p) for one, s, p in taken if one.end < until]
        changes.sort(key=lambda change: change[:2])
        return _lowest(free, [(sign, s, p) for _, _, sign, s, p in changes])

    def _ending(self, end: float, shapes: tuple[TaskShape, ...], places: Places) -> None:
        for shape, place in zip(shapes, places, strict=False):
            self._ends.setdefault(place.node, []).append((end, shape, place))
            self.busy[place.node] = max(self.busy.get(place.node, 0.0), end)


def _holds(free: Free, need: Need, gpus: tuple[int, ...]) -> bool:
    if not free.usable or need.millicpus > free.millicpus or need.memory > free.memory:
        return False
    amount = need.share or WHOLE
    return all(free.gpus[position] >= amount for position in free.positions(gpus))


def _lowest(free: Free, changes: list[tuple[int, TaskShape, Placement]]) -> Free:
    cpus, memory, gpus = free.millicpus, free.memory, free.gpus[:]
    least_cpus, least_memory, least = cpus, memory, gpus[:]
    for sign, shape, place in changes:
        cpus += sign * millicpus(shape.cpus)
        memory += sign * shape.memory
        least_cpus, least_memory = min(least_cpus, cpus), min(least_memory, memory)
        for position in free.positions(gpu for gpu in place.gpus if gpu in free.indexes):
            gpus[position] += sign * (shape.share or WHOLE)
            least[position] = min(least[position], gpus[position])
    lowest = [max(0, part) for part in least]
    return Free(least_cpus, least_memory, lowest, free.indexes, free.models, free.usable)
