"""The GPU device nodes in /dev: a task sees only its own."""

from __future__ import annotations

import glob

from danlu.engines.local import nvml

_SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps")


def shared() -> tuple[str, ...]:
    """Needed for every GPU, besides its own node."""
    return tuple(f"/dev/{name}" for name in _SHARED)


def every() -> tuple[str, ...]:
    return tuple(sorted(glob.glob("/dev/nvidia[0-9]*")))


def find(count: int) -> tuple[str, ...]:
    """The device node of each real GPU, by index. Empty: the driver does not report them."""
    found = []
    try:
        with nvml.session() as library:
            for index in range(count):
                handle = library.nvmlDeviceGetHandleByIndex(index)
                found.append(f"/dev/nvidia{library.nvmlDeviceGetMinorNumber(handle)}")
    except Exception:  # whatever the driver does: GPUs cannot be told apart without it
        return ()
    return tuple(found)
