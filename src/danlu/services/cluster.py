"""The current state of nodes and GPUs: capacity, free resources and holders."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from danlu.access import rules
from danlu.access.errors import NotAllowed
from danlu.access.principal import Asker, Principal
from danlu.control.controller import Controller
from danlu.control.disk_writers import Writer
from danlu.control.holders import Held
from danlu.control.live_job import LiveJob
from danlu.control.scheduling import Scheduling
from danlu.control.totals import ClusterTotals, Count
from danlu.sched.api import WHOLE, Policy, Snapshot, TaskShape
from danlu.sched.dump import dump
from danlu.services.gpu_usage import GpuUsage
from danlu.services.names import HIDDEN, Hide, Names
from danlu.spec.text import EMPTY, Text


@dataclass(frozen=True, slots=True)
class OutsideJob:
    """Work that no Danlu has started, such as a job of somebody who uses `sbatch`."""

    engine: str
    id: str  # the engine's name for it
    user: str
    name: str


@dataclass(frozen=True, slots=True)
class Gpu:
    node: str
    index: int
    model: str
    uuid: str
    memory: int
    state: str
    free: float
    jobs: tuple[str, ...]  # references of the jobs that hold it
    owner: str | None
    since: float | None
    ends: float | None  # by its job's time limit
    kept_for: str | None  # reference of the waiting job it is reserved for
    note: str = ""  # what is wrong with it
    outside: OutsideJob | None = None  # who holds it, if none of ours does


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    up: bool
    drained: bool
    drain_reason: str
    labels: tuple[str, ...]
    address: str
    cpus: float
    cpus_free: float
    memory: int
    memory_free: int
    gpus: tuple[Gpu, ...]
    note: str
    engine: str
    unknown_since: float | None  # its engine does not answer; the rest is its last known state
    words: Text = EMPTY  # `note` in both languages


@dataclass(frozen=True, slots=True)
class EngineInfo:
    name: str
    places: bool  # it chooses nodes itself
    nodes: int
    away_since: float | None
    problem: str
    unknown: int  # jobs whose state is unknown


@dataclass(frozen=True, slots=True)
class Totals:
    gpus: ClusterTotals
    running: int  # jobs that hold resources
    waiting: int  # in Danlu's queues and those of engines
    engines: list[EngineInfo]
    drained: list[str]  # nodes
    usual: Mapping[TaskShape, int]  # requests that jobs are packed for, with their number
    writers: list[Writer]  # while a disk is almost full, for admins


class Cluster:
    def __init__(self, controller: Controller, names: Names) -> None:
        self._controller = controller
        self._names = names
        self._context = controller.context
        self.usage = GpuUsage(controller.context)
        self._scheduling = Scheduling(controller.context, controller.rules_changed)

    def totals(self, who: Principal) -> Totals:
        """The GPU totals of the cluster, the same in every answer."""
        context = self._context
        totals = self._controller.planner.totals()
        pending = sum(job.pending for job in context.attempts.values())
        running, waiting = len(context.attempts) - pending, len(context.queue.waiting) + pending
        drained = [node.name for node in context.ledger.states() if node.drained]
        usual = self._controller.planner.usual()
        writers = self._controller.disk_writers.most() if rules.runs_server(who) else []
        return Totals(totals, running, waiting, self.engines(who), drained, usual, writers)

    def engines(self, who: Principal) -> list[EngineInfo]:
        context = self._context
        unknown: Counter[str] = Counter()
        for job in context.attempts.values():
            if job.attempt is not None and context.engines.unknown_since(job) is not None:
                unknown[job.attempt.engine or context.engines.first] += 1
        return [
            EngineInfo(
                each.name,
                each.places,
                len(context.ledger.nodes_of(each.name)),
                each.away_since,
                each.problem,
                unknown[each.name],
            )
            for each in context.engines
        ]

    def nodes(self, who: Principal) -> list[Node]:
        context = self._context
        states = {state.name: state for state in context.ledger.states()}
        gpus: dict[str, list[Gpu]] = {}
        for gpu in self.gpus(who):
            gpus.setdefault(gpu.node, []).append(gpu)
        found = []
        for node in context.ledger.nodes():
            state = states[node.name]
            engine = context.engines.status(context.ledger.engine_of(node.name))
            found.append(
                Node(
                    name=node.name,
                    up=state.up,
                    drained=state.drained,
                    drain_reason=state.drain_reason,
                    labels=tuple(sorted(node.labels)),
                    address=node.address,
                    cpus=node.cpus,
                    cpus_free=state.cpus_free,
                    memory=node.memory,
                    memory_free=state.memory_free,
                    gpus=tuple(gpus.get(node.name, ())),
                    note=node.note,
                    engine=engine.name,
                    unknown_since=engine.away_since,
                    words=node.words or Text(node.note, node.note),
                )
            )
        return found

    def hides(self, who: Principal) -> bool:
        """Whether some names are hidden from this user, so that others get a different answer."""
        return self._names.hidden_from(who) is not None

    def gpus(self, who: Principal) -> list[Gpu]:
        context = self._context
        holders, totals = context.ledger.gpu_holders(), self._controller.planner.totals()
        kept = self._controller.planner.kept()
        others = {
            (node, index): each
            for node, held in context.ledger.others().items()
            for each in held
            for index in each.gpus
        }
        hide = self._names.hidden_from(who)
        found = []
        for node, state in zip(context.ledger.nodes(), context.ledger.states(), strict=True):
            for gpu, info in zip(state.gpus, node.gpus, strict=True):
                jobs = [
                    context.jobs[h.job_id]
                    for h in holders.get((node.name, gpu.index), ())
                    if h.job_id in context.jobs
                ]
                first = jobs[0] if jobs else None
                since = first.attempt.started_at if first and first.attempt else None
                count = totals.gpus[node.name, gpu.index]
                other = others.get((node.name, gpu.index)) if first is None else None
                shown = Gpu(
                    node=node.name,
                    index=gpu.index,
                    model=gpu.model,
                    uuid=info.uuid,
                    memory=info.memory,
                    state=_gpu_state(count, node.up and gpu.healthy),
                    free=count.free / WHOLE,
                    jobs=tuple(job.row.ref for job in jobs),
                    owner=first.row.owner if first else None,
                    since=since if other is None else other.holder.started_at,
                    ends=_latest_end(first, since) if other is None else other.holder.ends_at,
                    kept_for=kept.get((node.name, gpu.index)) if count.reserved else None,
                    note=info.note,
                    outside=None if other is None else _outside(other),
                )
                found.append(
                    shown if hide is None else without_names_of_others(shown, jobs, who, hide)
                )
        return found

    async def drain(self, asks: Asker, name: str, out: bool, reason: str = "") -> list[Node]:
        """Drains or resumes a node; nothing new starts on a drained one."""
        await self._scheduling.drain(asks, name, out, reason)
        return [node for node in self.nodes(asks.who) if node.name == name]

    async def snapshot(self, who: Principal) -> bytes:
        """The scheduler's input as JSON, without commands and secrets."""
        if not rules.runs_server(who):
            raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
        planner = self._controller.planner
        # Serializing a long queue takes a while, so it does not run on the event loop.
        return await asyncio.to_thread(_written, planner.snapshot(), planner.policy)


def _latest_end(job: LiveJob | None, since: float | None) -> float | None:
    limit = job.spec.time_limit if job is not None else None
    return since + limit if since is not None and limit is not None else None


def _outside(held: Held) -> OutsideJob:
    return OutsideJob(held.engine, held.holder.id, held.holder.user, held.holder.name)


def without_names_of_others(gpu: Gpu, holders: list[LiveJob], who: Principal, hide: Hide) -> Gpu:
    rows = [job.row for job in holders]
    jobs = tuple(row.ref if rules.sees_name(who, row.owner, row.group) else HIDDEN for row in rows)
    kept_for = HIDDEN if gpu.kept_for and hide(gpu.kept_for) else gpu.kept_for
    owner = HIDDEN if jobs and jobs[0] == HIDDEN else gpu.owner
    outside = gpu.outside
    if outside is not None and outside.user != who.name:
        outside = replace(outside, user=HIDDEN, name=HIDDEN)
    return replace(gpu, jobs=jobs, owner=owner, kept_for=kept_for, outside=outside)


def _gpu_state(count: Count, well: bool) -> str:
    if not well:
        return "down"
    if count.used:
        return "used"
    if count.outside:
        return "outside"
    if count.unknown:
        return "unknown"
    if count.out:
        return "drained"
    return "reserved" if count.reserved else "free"


def _written(snapshot: Snapshot, policy: Policy) -> bytes:
    return json.dumps(dump(snapshot, policy), ensure_ascii=False, separators=(",", ":")).encode()
