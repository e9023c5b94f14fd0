"""Usage of the machine's real GPUs, from NVML."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DRIVER = "libnvidia-ml.so.1"
PATIENCE = 5.0  # seconds; a broken driver answers after minutes, or never


@dataclass(frozen=True, slots=True)
class Look:
    """One GPU. None: the driver does not report it."""

    utilisation: float | None = None  # 0 to 1
    memory: int | None = None  # bytes in use
    temperature: float | None = None
    power: float | None = None  # watts
    memory_of: Mapping[int, int | None] = field(default_factory=dict)  # by process
    utilisation_of: Mapping[int, float] | None = None


@contextlib.contextmanager
def session() -> Iterator[Any]:
    """Opens the library. Raises OSError without a working driver."""
    ctypes.CDLL(DRIVER)  # tried first: pynvml takes 2 MB, useless without a driver
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise OSError(str(error)) from error
    try:
        yield pynvml
    finally:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


class Watch:
    """Samples all GPUs in one open session, in a thread that may get stuck in the driver.

    A hanging call cannot be cancelled: the thread is abandoned, and GPU usage is unknown until
    it returns.
    """

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self._nvml: Any = None
        self._since: dict[int, int] = {}  # GPU -> last process sample seen
        self._running: threading.Thread | None = None

    def look(self, shared: Collection[int] = ()) -> dict[int, Look]:
        """By index. `shared`: GPUs to sample by process. Missing: it did not answer."""
        if self._running is not None and self._running.is_alive():
            return {}
        found: list[dict[int, Look]] = []
        self._running = threading.Thread(
            target=lambda: found.append(self._look(frozenset(shared))), name="nvml", daemon=True
        )
        self._running.start()
        self._running.join(PATIENCE)
        return found[0] if found else {}

    def close(self) -> None:
        if self._running is None or not self._running.is_alive():
            self._open.close()
            self._nvml = None

    def _look(self, shared: frozenset[int]) -> dict[int, Look]:
        try:
            if self._nvml is None:
                self._nvml = self._open.enter_context(session())
        except OSError:
            return {}
        found: dict[int, Look] = {}
        try:
            for index in range(self._nvml.nvmlDeviceGetCount()):
                look = self._one(index, index in shared)
                if look is not None:
                    found[index] = look
        except self._nvml.NVMLError:  # the driver went away: reopen next time
            self._open.close()
            self._nvml = None
        return found

    def _one(self, index: int, shared: bool) -> Look | None:
        nvml = self._nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError:  # fell off the bus; the others still answer
            return None
        ask = _asking(nvml)
        memory = ask(lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).used))
        busy = ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
        if memory is None and busy is None:
            return None
        kind = nvml.NVML_TEMPERATURE_GPU
        running = ask(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
        return Look(
            busy,
            memory,
            ask(lambda: float(nvml.nvmlDeviceGetTemperature(handle, kind))),
            ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000),
            {process.pid: process.usedGpuMemory for process in running},
            self._by_process(index, handle) if shared else None,
        )

    def _by_process(self, index: int, handle: Any) -> dict[int, float] | None:
        nvml, since = self._nvml, self._since.get(index, 0)
        try:
            samples = nvml.nvmlDeviceGetProcessUtilization(handle, since)
        except nvml.NVMLError_NotFound:  # not used since
            return {}
        except nvml.NVMLError:
            return None
        found: dict[int, list[int]] = {}
        for sample in samples:
            if sample.pid and sample.timeStamp > since:
                found.setdefault(sample.pid, []).append(sample.smUtil)
                self._since[index] = max(self._since.get(index, 0), sample.timeStamp)
        return {pid: sum(shares) / len(shares) / 100 for pid, shares in found.items()}


def _asking(nvml: Any) -> Callable[[Callable[[], Any]], Any]:
    def ask(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except nvml.NVMLError:  # not every GPU supports every query
            return None

    return ask
