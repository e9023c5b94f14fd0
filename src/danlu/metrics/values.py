"""What is measured, and for whom."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

# Name -> unit. Rates are means over the time between two samples.
METRICS: Mapping[str, str] = {
    "cpu": "cores",
    "memory": "bytes",
    "processes": "",
    "disk_read": "bytes/s",
    "disk_written": "bytes/s",
    "net_received": "bytes/s",
    "net_sent": "bytes/s",
    "gpu": "ratio",
    "gpu_memory": "bytes",
    "disk_free": "bytes",
    "temperature": "celsius",
    "power": "watts",
}


class Kind(StrEnum):
    TASK = "task"
    NODE = "node"
    GPU = "gpu"


class Subject(NamedTuple):
    """What a sample belongs to: a task of a job, or a GPU of a node."""

    kind: Kind
    owner: str  # job id or node name
    part: int = 0  # task or GPU index
    run: str = ""  # the task's attempt


Values = Mapping[str, float]  # metric -> value; unknown ones are missing


class Sample(NamedTuple):
    at: float
    subject: Subject
    values: Values
