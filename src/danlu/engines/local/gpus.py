"""The machine's cards: asked from NVML where it works, declared otherwise."""

from __future__ import annotations

import ctypes

from danlu.engines.api import GpuInfo
from danlu.engines.local.config import NodeConfig

_DRIVER = "libnvidia-ml.so.1"


def detect() -> tuple[GpuInfo, ...]:
    """The real cards. None is the normal case, not an error."""
    try:
        ctypes.CDLL(_DRIVER)  # asked first: its Python side weighs 2 MB, for nothing without it
        import pynvml

        pynvml.nvmlInit()
    except Exception:
        return ()
    found = []
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            found.append(_card(pynvml, index))
    except pynvml.NVMLError:
        pass
    finally:
        pynvml.nvmlShutdown()
    return tuple(found)


def _card(nvml: object, index: int) -> GpuInfo:
    get = nvml.nvmlDeviceGetHandleByIndex  # type: ignore[attr-defined]
    try:
        handle = get(index)
        name = nvml.nvmlDeviceGetName(handle)  # type: ignore[attr-defined]
        uuid = nvml.nvmlDeviceGetUUID(handle)  # type: ignore[attr-defined]
        memory = nvml.nvmlDeviceGetMemoryInfo(handle).total  # type: ignore[attr-defined]
    except Exception as error:  # a card that fell off the bus must not hide the others
        return GpuInfo(index, "unknown", healthy=False, note=str(error))
    return GpuInfo(index, _text(name), _text(uuid), int(memory))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def declared(node: NodeConfig) -> tuple[GpuInfo, ...]:
    models = [model for model, count in node.gpus for _ in range(count)]
    return tuple(GpuInfo(index, model) for index, model in enumerate(models))


def physical(nodes: tuple[NodeConfig, ...], real: tuple[GpuInfo, ...]) -> dict[str, int]:
    """Where each node's cards begin among the real ones, when these suffice for all nodes."""
    wanted = sum(count for node in nodes for _, count in node.gpus)
    if not real or wanted > len(real):
        return {}
    starts: dict[str, int] = {}
    at = 0
    for node in nodes:
        starts[node.name] = at
        at += sum(count for _, count in node.gpus)
    return starts
