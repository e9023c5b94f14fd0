"""The machine's GPUs: from NVML if it works, otherwise as declared."""

from __future__ import annotations

from typing import Any

from danlu.engines.api import GpuInfo
from danlu.engines.local import nvml
from danlu.engines.local.config import NodeConfig


def detect() -> tuple[GpuInfo, ...]:
    """The real GPUs. A machine without any is not an error."""
    try:
        with nvml.session() as library:
            return tuple(_gpu(library, index) for index in range(library.nvmlDeviceGetCount()))
    except Exception:
        return ()


def _gpu(library: Any, index: int) -> GpuInfo:
    try:
        handle = library.nvmlDeviceGetHandleByIndex(index)
        name = library.nvmlDeviceGetName(handle)
        uuid = library.nvmlDeviceGetUUID(handle)
        memory = library.nvmlDeviceGetMemoryInfo(handle).total
    except library.NVMLError as error:  # one GPU fell off the bus; report the others
        return GpuInfo(index, "unknown", healthy=False, note=str(error))
    return GpuInfo(index, _text(name), _text(uuid), int(memory))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def declared(node: NodeConfig) -> tuple[GpuInfo, ...]:
    models = [model for model, count in node.gpus for _ in range(count)]
    return tuple(GpuInfo(index, model) for index, model in enumerate(models))


def physical(nodes: tuple[NodeConfig, ...], real: tuple[GpuInfo, ...]) -> dict[str, int]:
    """Offset of each node's GPUs among the real ones, if there are enough for all nodes."""
    wanted = sum(count for node in nodes for _, count in node.gpus)
    if not real or wanted > len(real):
        return {}
    starts: dict[str, int] = {}
    at = 0
    for node in nodes:
        starts[node.name] = at
        at += sum(count for _, count in node.gpus)
    return starts
