"""Patterns of well-known failures in logs."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from danlu.spec.states import Reason

_GAP = re.compile(r"\.\{0,(\d+)\}")


@dataclass(frozen=True, slots=True)
class _Pair:
    """One thing, and another within some characters behind it.

    As one pattern it would try every distance from every beginning, which a crafted line makes
    take seconds. This looks for the second, then once before each."""

    first: re.Pattern[str]
    most: int
    second: re.Pattern[str]

    def search(self, line: str) -> re.Match[str] | None:
        ends = [match.end() for match in self.first.finditer(line)]
        if not ends:
            return None
        for match in self.second.finditer(line, ends[0]):
            before = bisect_right(ends, match.start()) - 1
            if before >= 0 and match.start() - ends[before] <= self.most:
                return match
        return None


@dataclass(frozen=True, slots=True)
class Sign:
    """The pattern of a failure in a log. A group named `detail` captures its subject."""

    reason: Reason
    parts: tuple[str, ...]
    pattern: re.Pattern[str]
    pairs: tuple[_Pair, ...]

    def search(self, line: str) -> re.Match[str] | None:
        found = self.pattern.search(line)
        if found is not None:
            return found
        return next((match for pair in self.pairs if (match := pair.search(line))), None)


def _sign(reason: Reason, *parts: str) -> Sign:
    """A part may hold one `.{0,n}`."""
    plain = [part for part in parts if not _GAP.search(part)]
    pairs = [_pair(part) for part in parts if _GAP.search(part)]
    return Sign(reason, parts, re.compile("|".join(plain), re.IGNORECASE), tuple(pairs))


def _pair(part: str) -> _Pair:
    first, most, second = _GAP.split(part)
    return _Pair(re.compile(first, re.IGNORECASE), int(most), re.compile(second, re.IGNORECASE))


# Causes first: one rank out of GPU memory makes all others lose their connection.
SIGNS = (
    _sign(
        Reason.OUT_OF_SHARED_MEMORY,
        r"insufficient shared memory",
        r"out of shared memory",
        r"unable to (?:open|allocate|resize|mmap|write to) shared memory",
        r"unable to (?:open|mmap|allocate) .{0,200}<?/torch_",
        r"killed by signal: bus error",
        r"/dev/shm.{0,300}no space left on device",  # noqa: S108 - looked for, not used
        r"no space left on device.{0,300}/dev/shm",
        r"error while creating shared memory segment",
    ),
    _sign(
        Reason.OUT_OF_GPU_MEMORY,
        r"cuda out of memory",
        r"cuda error: out of memory",
        r"cuda(?:error| runtime error).{0,60}out of memory",
        r"cudaErrorMemoryAllocation",
        r"CUDA_ERROR_OUT_OF_MEMORY",
        r"torch\.(?:cuda\.)?OutOfMemoryError",
        r"cublas_status_alloc_failed",
        r"cudnn_status_alloc_failed",
        r"HIP out of memory",
        r"ResourceExhaustedError",
        r"Resource exhausted: OOM when allocating tensor",
        r"RESOURCE_EXHAUSTED: (?:Out of memory|OOM)",
        r"OOM when allocating tensor with shape",
    ),
    _sign(
        Reason.OUT_OF_MEMORY,
        r"(?:^|\s)(?:[\w.]{1,80}\.)?_?(?:Array)?MemoryError\b",
        r"DefaultCPUAllocator: (?:can't|not enough) (?:allocate )?memory",
        r"\bCannot allocate memory\b",
        r"std::bad_alloc",
        r"DataLoader worker .{0,80}killed by signal: Killed",
        r"oom[-_ ]kill",
        r"java\.lang\.OutOfMemoryError",
        r"Out of memory: Killed process",
    ),
    _sign(
        Reason.DISK_FULL,
        r"no space left on device",
        r"disk quota exceeded",
        r"\benospc\b",
    ),
    _sign(
        Reason.FILE_LIMIT,
        r"too many open files",
        r"received 0 items of ancdata",
        r"\bEMFILE\b",
    ),
    _sign(
        Reason.MODULE_MISSING,
        r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<detail>[\w.\-]{1,200})",
        r"python[\d.]{0,8}: No module named '?(?P<module>[\w.\-]{1,200})",
        r"there is no package called [‘'\"](?P<package>[\w.]{1,100})",
    ),
    _sign(
        Reason.PORT_IN_USE,
        r"address already in use",
        r"\bEADDRINUSE\b",
        r"port \d{1,5} (?:is )?already in use",
    ),
    _sign(
        Reason.PEER_UNREACHABLE,
        r"connectFullMesh failed",
        r"gloo.{0,200}(?:connection (?:refused|closed by peer|reset by peer)|timed out)",
        r"(?:NCCL|ProcessGroupNCCL).{0,300}(?:connection refused|connection (?:closed|reset) by"
        r" (?:remote )?peer|unreachable|timed out|timeout)",
        r"ncclSystemError|ncclRemoteError",
        r"ncclInternalError: .{0,80}connect",
        r"collective operation timeout",
        r"DistNetworkError|DistStoreError",
        r"client socket has (?:failed to connect|timed out)",
        r"TCPStore.{0,200}(?:timed out|timeout|refused|failed to connect)",
        r"timed out .{0,60}waiting for clients",
        r"RendezvousTimeoutError|RendezvousConnectionError",
    ),
)

WORDS = (
    "/dev/shm",  # noqa: S108
    "addrinuse",
    "alloc_failed",
    "ancdata",
    "bad_alloc",
    "bus error",
    "collective operation",
    "connectfullmesh",
    "cudaerrormemoryallocation",
    "distnetworkerror",
    "diststoreerror",
    "emfile",
    "enospc",
    "exhausted",
    "gloo",
    "in use",
    "killed",
    "memory",
    "nccl",
    "no module named",
    "no package called",
    "no space left",
    "oom",
    "quota exceeded",
    "rendezvous",
    "socket has",
    "tcpstore",
    "too many open files",
    "torch_",
    "waiting for clients",
)
"""Every pattern contains one of these in lower case: most lines need no closer look."""

SHARED_MEMORY_NEARBY = re.compile(
    r"/dev/shm|multiprocessing/(?:heap|shared_memory|sharedctypes)|"  # noqa: S108
    r"_posixshmem|shm_open"
)
"""For a traceback ending in "No space left on device": the device is shared memory."""


def find(line: str) -> tuple[Reason, re.Match[str]] | None:
    """The first match in a line, causes before consequences."""
    for sign in SIGNS:
        match = sign.search(line)
        if match:
            return sign.reason, match
    return None
