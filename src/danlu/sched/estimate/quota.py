"""What counts against a quota: how much is available, and how much each ending job returns."""

from __future__ import annotations

from danlu.sched.api import WHOLE, Cause, CauseKind, Running, Snapshot, TaskShape, Waiting
from danlu.sched.place.free import millicpus, same


class Counted:
    """Integers: thousandths of GPUs and CPUs, bytes."""

    def __init__(self, snapshot: Snapshot, cause: Cause) -> None:
        numbers = cause.numbers
        self._of_group = cause.kind is CauseKind.QUOTA_GROUP
        self._who = str(numbers["who"])
        self._what = str(numbers["what"])
        self._model = str(numbers.get("model", ""))
        self._nodes = {node.name: node for node in snapshot.nodes} if self._model else {}
        scale = 1 if self._what == "memory" else 1000
        self.free = round((float(numbers["limit"]) - float(numbers["used"])) * scale)
        self._limit = round(float(numbers["limit"]) * scale)

    def includes(self, job: Running | Waiting) -> bool:
        return (job.group if self._of_group else job.owner) == self._who

    def queues(self, job: Waiting) -> bool:
        """Whether it waits for this quota; jobs that exceed the whole quota do not count."""
        return self.includes(job) and self.needed(job) <= self._limit

    def held(self, job: Running) -> int:
        if self._what != "model":
            return self._amount(job.shapes)
        held = 0
        for shape, place in zip(job.shapes, job.places, strict=False):
            node = self._nodes.get(place.node)
            gpus = () if node is None else node.gpus
            models = [gpu.model for gpu in gpus if gpu.index in place.gpus]
            held += sum(shape.share or WHOLE for model in models if same(self._model, model))
        return held

    def needed(self, job: Waiting) -> int:
        return self._amount(job.shapes)

    def _amount(self, shapes: tuple[TaskShape, ...]) -> int:
        if self._what == "cpus":
            return sum(millicpus(shape.cpus) for shape in shapes)
        if self._what == "memory":
            return sum(shape.memory for shape in shapes)
        return sum(shape.amount for shape in shapes)
