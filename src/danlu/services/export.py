"""The state of the platform as numbers, for a monitoring system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from time import time

from danlu import __version__
from danlu.access import rules
from danlu.access.errors import NotAllowed
from danlu.access.principal import Principal
from danlu.control.controller import Controller
from danlu.control.disk_levels import LEVELS
from danlu.metrics.values import Kind, Sample
from danlu.sched.api import WHOLE
from danlu.services.cluster import Cluster, Node
from danlu.spec.text import Text

Networks = tuple[IPv4Network | IPv6Network, ...]
STATES = ("free", "reserved", "used", "out", "outside", "unknown")


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    help: str
    labels: tuple[str, ...] = ()


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("danlu_info", "Always 1; the version of the server", ("version",)),
        Metric("danlu_database_up", "1 if the database can be written"),
        Metric("danlu_engine_up", "1 if the engine answers", ("engine",)),
        Metric("danlu_gpus", "GPUs by state; the states add up", ("model", "state")),
        Metric("danlu_jobs_running", "Jobs that hold resources"),
        Metric("danlu_jobs_waiting", "Jobs in the queues of Danlu", ("queue",)),
        Metric("danlu_user_gpus", "GPUs that a user's jobs hold", ("user", "group")),
        Metric("danlu_node_up", "1 if the node can be used", ("node",)),
        Metric("danlu_node_drained", "1 if an admin drained the node", ("node",)),
        Metric("danlu_node_cpus", "CPUs of the node", ("node",)),
        Metric("danlu_node_cpus_free", "CPUs that no job has reserved", ("node",)),
        Metric("danlu_node_memory_bytes", "Memory of the node", ("node",)),
        Metric("danlu_node_memory_free_bytes", "Memory that no job has reserved", ("node",)),
        Metric("danlu_node_cpu_used_cores", "CPUs in use, as measured", ("node",)),
        Metric("danlu_node_memory_used_bytes", "Memory in use, as measured", ("node",)),
        Metric("danlu_node_disk_free_bytes", "Free disk space for tasks and logs", ("node",)),
        Metric("danlu_node_disk_read_bytes_per_second", "Read from disks", ("node",)),
        Metric("danlu_node_disk_written_bytes_per_second", "Written to disks", ("node",)),
        Metric("danlu_node_net_received_bytes_per_second", "Received from the network", ("node",)),
        Metric("danlu_node_net_sent_bytes_per_second", "Sent to the network", ("node",)),
        Metric("danlu_disk_size_bytes", "Size of a disk the platform uses", ("disk", "path")),
        Metric("danlu_disk_free_bytes", "Free space on it", ("disk", "path")),
        Metric("danlu_disk_level", "0 ok, 1 warning, 2 high, 3 critical", ("disk", "path")),
        Metric("danlu_gpu_healthy", "0 if the GPU is unusable", ("node", "gpu")),
        Metric("danlu_gpu_memory_bytes", "Memory of the GPU", ("node", "gpu")),
        Metric("danlu_gpu_utilisation_ratio", "0 to 1, as measured", ("node", "gpu")),
        Metric("danlu_gpu_memory_used_bytes", "GPU memory in use", ("node", "gpu")),
        Metric("danlu_gpu_temperature_celsius", "Temperature of the GPU", ("node", "gpu")),
        Metric("danlu_gpu_power_watts", "Power drawn by the GPU", ("node", "gpu")),
        Metric(
            "danlu_gpu_idle_seconds",
            "How long it has been held by a job but unused; from 15 minutes",
            ("node", "gpu", "user"),
        ),
    )
}
_OF_NODE = {
    "cpu": "danlu_node_cpu_used_cores",
    "memory": "danlu_node_memory_used_bytes",
    "disk_free": "danlu_node_disk_free_bytes",
    "disk_read": "danlu_node_disk_read_bytes_per_second",
    "disk_written": "danlu_node_disk_written_bytes_per_second",
    "net_received": "danlu_node_net_received_bytes_per_second",
    "net_sent": "danlu_node_net_sent_bytes_per_second",
}
_OF_GPU = {
    "gpu": "danlu_gpu_utilisation_ratio",
    "gpu_memory": "danlu_gpu_memory_used_bytes",
    "temperature": "danlu_gpu_temperature_celsius",
    "power": "danlu_gpu_power_watts",
}


@dataclass(frozen=True, slots=True)
class Point:
    metric: Metric
    labels: tuple[str, ...]  # in the order of the metric's
    value: float


class Export:
    """For admins, and for the addresses of `server.metrics_from`."""

    def __init__(self, controller: Controller, cluster: Cluster, open_to: Networks) -> None:
        self._context = controller.context
        self._levels = controller.disk_levels
        self._cluster = cluster
        self._open_to = open_to

    def open_to(self, address: str) -> bool:
        """Whether this address may read without signing in."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._open_to)

    def points(self, who: Principal | None) -> list[Point]:
        """None: an address that may read. Raises NotAllowed."""
        if who is not None and not rules.runs_server(who):
            raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
        everyone = Principal("danlu", "admin")
        nodes = self._cluster.nodes(everyone)
        samples = self._context.sampler.all_latest()
        return [
            *self._platform(everyone),
            *self._users(),
            *self._disks(),
            *(point for node in nodes for point in _node(node)),
            *self._idle(nodes),
            *_measured(samples),
        ]

    def _platform(self, who: Principal) -> Iterator[Point]:
        context = self._context
        totals = self._cluster.totals(who)
        yield _point("danlu_info", 1, __version__)
        yield _point("danlu_database_up", context.store.health.ok)
        for engine in totals.engines:
            yield _point("danlu_engine_up", engine.away_since is None, engine.name)
        for model, count in sorted(totals.gpus.models.items()):
            for state in STATES:
                yield _point("danlu_gpus", getattr(count, state) / WHOLE, model, state)
        yield _point("danlu_jobs_running", totals.running)
        waiting = Counter(job.queue for job in context.queue.waiting)
        for queue in context.rulebook.queues:
            yield _point("danlu_jobs_waiting", waiting[queue], queue)

    def _disks(self) -> Iterator[Point]:
        for disk in self._levels.disks:
            path = disk.places[0].path if disk.places else ""
            yield _point("danlu_disk_size_bytes", disk.space.size, disk.id, path)
            yield _point("danlu_disk_free_bytes", disk.space.free, disk.id, path)
            yield _point("danlu_disk_level", LEVELS.index(disk.level), disk.id, path)

    def _users(self) -> Iterator[Point]:
        held: Counter[tuple[str, str]] = Counter()
        for job in self._context.attempts.values():
            places = job.attempt.places if job.attempt is not None else ()
            amount = sum(len(place.gpus) * (place.share or WHOLE) for place in places)
            held[job.row.owner, job.row.group or ""] += amount
        for (user, group), amount in sorted(held.items()):
            yield _point("danlu_user_gpus", amount / WHOLE, user, group)

    def _idle(self, nodes: Iterable[Node]) -> Iterator[Point]:
        now, wave = time(), self._cluster.usage.now().nodes
        for node in nodes:
            for gpu, seen in zip(node.gpus, wave.get(node.name, ()), strict=False):
                since = seen.held_idle(gpu.since or now, now) if gpu.state == "used" else None
                if since is not None:
                    labels = (node.name, str(gpu.index), gpu.owner or "")
                    yield _point("danlu_gpu_idle_seconds", round(now - since), *labels)


def _node(node: Node) -> Iterator[Point]:
    yield _point("danlu_node_up", node.up, node.name)
    yield _point("danlu_node_drained", node.drained, node.name)
    yield _point("danlu_node_cpus", node.cpus, node.name)
    yield _point("danlu_node_cpus_free", node.cpus_free, node.name)
    yield _point("danlu_node_memory_bytes", node.memory, node.name)
    yield _point("danlu_node_memory_free_bytes", node.memory_free, node.name)
    for gpu in node.gpus:
        yield _point("danlu_gpu_healthy", gpu.state != "down", node.name, str(gpu.index))
        if gpu.memory:
            yield _point("danlu_gpu_memory_bytes", gpu.memory, node.name, str(gpu.index))


def _measured(samples: Iterable[Sample]) -> Iterator[Point]:
    for sample in samples:
        kind, owner, part, _ = sample.subject
        if kind is Kind.TASK:
            continue
        names = _OF_NODE if kind is Kind.NODE else _OF_GPU
        labels = (owner,) if kind is Kind.NODE else (owner, str(part))
        for name, value in sample.values.items():
            if name in names:
                yield _point(names[name], value, *labels)


def _point(name: str, value: float, *labels: str) -> Point:
    return Point(METRICS[name], labels, float(value))
