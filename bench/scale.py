"""The scheduler on 5,000 nodes, over 100,000 waiting jobs, and a live server with a long queue."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Sequence

from bench.measure import Options, median
from bench.server import Danlu
from bench.table import Goal, Row
from danlu.sched.api import (
    GpuState,
    Mix,
    NodeState,
    Policy,
    Running,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.decide import decide
from danlu.sched.explain.explain import explain
from danlu.sched.place.place import Room
from danlu.sdk import Client

SUMMARY = "5,000 nodes and 40,000 GPUs; 100,000 waiting jobs; a live queue of 10,000"
GIB = 2**30
NODES = 5000
GPUS = 8
LONG_QUEUE = 10_000
DAY = 86_400.0


def run(options: Options) -> Iterator[Row]:
    rounds = options.times(usual=5, quick=1)
    jobs = 4_000 if options.quick else 20_000
    tight = None
    for order, least in (("tight", 5_000), (Policy().place, 10_000)):
        rate = _placements(jobs, order, rounds)
        yield Row(
            f"{jobs:,} jobs into {NODES:,} empty nodes, {order} (placements/s)",
            rate,
            tight,
            "tight" if tight else "",
            Goal("at least", least, "placements/s"),
        )
        tight = rate
    waiting = 10_000 if options.quick else 100_000
    full = full_cluster(waiting)
    for policy in (Policy(backfill=False), Policy()):
        name = f"{policy.name}, with backfill" if policy.backfill else f"{policy.name}, strict"
        seconds = median([_seconds(lambda p=policy: decide(full, p)) for _ in range(rounds)])  # type: ignore[misc]
        goal = Goal("at most", 1, "s")
        yield Row(f"pass over {waiting:,} waiting jobs, {name} (s)", seconds, goal=goal)
    yield Row(
        "explain one of them (ms)", _explain(full, rounds) * 1000, goal=Goal("at most", 50, "ms")
    )
    yield from _live(1_000 if options.quick else LONG_QUEUE, options.times(usual=5, quick=2))


def _placements(count: int, order: str, rounds: int) -> float:
    """From a snapshot to a decision, with new nodes each time."""
    mix = Mix(dict(SHAPES))
    rates = []
    for number in range(rounds):
        snapshot = Snapshot(0.0, empty_nodes(), _queue(count, number), mix=mix)
        policy = Policy(place=order)
        begin = time.perf_counter()
        starts = decide(snapshot, policy).starts
        rates.append(len(starts) / (time.perf_counter() - begin))
    return median(rates)


def full_cluster(waiting: int) -> Snapshot:
    """Every GPU is in use by jobs with time limits, with a long queue."""
    nodes = empty_nodes()
    room = Room(nodes)
    running: list[Running] = []
    rng = random.Random(7)
    number = 0
    while True:
        shape = rng.choice(_FILLERS)
        places = room.place((shape,))
        if places is None and shape is _FILLERS[-1]:
            break
        if places is None:
            continue
        number += 1
        gpus = {place.node: place.gpus for place in places}
        end = rng.uniform(60, DAY)
        running.append(
            Running(
                f"r{number}", f"u/r-{number}", f"u{number % 97}", 0.0, end, gpus, (shape,), places
            )
        )
    states = [_now(room, at) for at in range(len(nodes))]
    return Snapshot(0.0, states, _queue(waiting, 1), running)


def _now(room: Room, at: int) -> NodeState:
    node, free = room.nodes[at], room.room_of(at)
    gpus = tuple(
        GpuState(gpu.index, gpu.model, left) for gpu, left in zip(node.gpus, free.gpus, strict=True)
    )
    cpus = free.millicpus / 1000
    return NodeState(node.name, node.cpus, node.memory, cpus, free.memory, gpus)


def _explain(snapshot: Snapshot, rounds: int) -> float:
    """As on a live server: after a pass that started nothing."""
    policy = Policy()
    decision = decide(snapshot, policy)
    asked = random.Random(3).sample(range(len(snapshot.waiting)), max(5, rounds))
    return median(
        [
            _seconds(
                lambda job=snapshot.waiting[at]: explain(  # type: ignore[misc]
                    snapshot, policy, job.job_id, decision=decision
                )
            )
            for at in asked
        ]
    )


def _live(queued: int, rounds: int) -> Iterator[Row]:
    """One client, one request per job, while the only slot is taken: every job queues."""
    with contextlib.ExitStack() as stack:
        danlu = stack.enter_context(Danlu(1))
        client = stack.enter_context(danlu.client())
        client.submit({"name": "blocker", "command": ["sleep", "86400"], "cpus": 1})
        _submissions(client, 50)
        empty = median([_submissions(client, 100) for _ in range(rounds)])
        for _ in range(queued // 500):
            client.submit([{"name": "wait", "command": ["true"], "cpus": 1}] * 500)
        time.sleep(2)
        long = median([_submissions(client, 100) for _ in range(rounds)])
    goal = Goal("at most", 1.2, "x")
    what = f"live: submit with {queued:,} waiting (ms a job)"
    yield Row(what, long * 1000, empty * 1000, "the same with a short queue", goal)


def _submissions(client: Client, count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        client.submit({"name": "wait", "command": ["true"], "cpus": 1})
    return (time.perf_counter() - begin) / count


def _seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def empty_nodes() -> list[NodeState]:
    models = ("A100", "A100", "A100", "V100", "RTX 3090", "RTX 3090", "T4", "H800")
    nodes = []
    for number in range(NODES):
        gpus = tuple(GpuState(index, models[number % len(models)]) for index in range(GPUS))
        nodes.append(NodeState(f"n{number:04}", 128, 1024 * GIB, 128, 1024 * GIB, gpus))
    return nodes


def _shape(gpus: int, cpus: float, gib: int, share: int = 0, model: str | None = None) -> TaskShape:
    return TaskShape(cpus, gib * GIB, gpus, share, model)


SHAPES: Sequence[tuple[TaskShape, int]] = (
    (_shape(1, 8, 64), 30),
    (_shape(1, 12, 96, model="A100"), 8),
    (_shape(1, 4, 32, model="RTX 3090"), 8),
    (_shape(0, 4, 24, share=500), 10),
    (_shape(0, 3, 12, share=250), 6),
    (_shape(0, 6, 40, share=800), 4),
    (_shape(2, 16, 128), 10),
    (_shape(4, 48, 400), 6),
    (_shape(4, 32, 256, model="A100"), 3),
    (_shape(8, 96, 800), 3),
    (_shape(0, 16, 64), 6),
    (_shape(0, 2, 8), 6),
)
_FILLERS = (_shape(8, 96, 800), _shape(4, 48, 400), _shape(2, 16, 128), _shape(1, 8, 64))


def _queue(count: int, seed: int) -> list[Waiting]:
    rng = random.Random(seed)
    shapes = rng.choices(
        [shape for shape, _ in SHAPES[:-2]], [times for _, times in SHAPES[:-2]], k=count
    )
    return [
        Waiting(
            f"j{n}",
            f"u/j-{n}",
            f"u{n % 97}",
            n,
            0,
            (shape,),
            time_limit=rng.choice((3600.0, 7200.0, 43_200.0, DAY)),
        )
        for n, shape in enumerate(shapes, 1)
    ]
