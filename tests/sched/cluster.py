"""A tiny language for clusters, so that a scheduling test reads as a picture.

n1 8x3090        a node with 8 free GPUs (and 64 CPUs, 512 GiB unless said)
n2 8x3090 -3     the same with 3 GPUs taken
n3 4xA100 down   a node that does not answer
"""

from __future__ import annotations

import re

from danlu.sched.api import WHOLE, GpuState, NodeState, Snapshot, TaskShape, Waiting

GIB = 2**30


def node(text: str, cpus: float = 64, memory: int = 512 * GIB) -> NodeState:
    words = text.split()
    name, taken, up = words[0], 0, True
    gpus: list[GpuState] = []
    for word in words[1:]:
        if word == "down":
            up = False
        elif word.startswith("-"):
            taken = int(word[1:])
        elif match := re.fullmatch(r"cpus=(\d+)", word):
            cpus = float(match[1])
        else:
            count, model = word.split("x", 1)
            start = len(gpus)
            gpus += [GpuState(start + i, model) for i in range(int(count))]
    gpus = [
        GpuState(c.index, c.model, 0 if place < taken else WHOLE) for place, c in enumerate(gpus)
    ]
    return NodeState(name, cpus, memory, cpus, memory, tuple(gpus), up)


def job(name: str, shape: str, seq: int, priority: int = 0, **more: object) -> Waiting:
    """`4` GPUs; `2*4` two tasks of four; `4:A100` that model; `0.5` of a GPU; `1/8` with CPUs."""
    match = re.fullmatch(r"(?:(\d+)\*)?([\d.]+)(?::(\w+))?(?:/(\d+))?", shape)
    assert match is not None, shape
    tasks, amount, model, cpus = match.groups()
    share = round(float(amount) * WHOLE) if "." in amount else 0
    one = TaskShape(
        cpus=float(cpus or 1),
        memory=GIB,
        gpus=0 if share else int(amount),
        share=share,
        model=model,
    )
    shapes = (one,) * int(tasks or 1)
    return Waiting(name, f"u/{name}-1", "u", seq, priority, shapes, **more)  # type: ignore[arg-type]


def cluster(nodes: str, *waiting: Waiting, **more: object) -> Snapshot:
    found = [node(line) for line in nodes.strip().splitlines()]
    queue = sorted(waiting, key=lambda w: w.order)
    return Snapshot(0.0, found, queue, **more)  # type: ignore[arg-type]
