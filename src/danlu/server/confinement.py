"""The part of danlu.toml that confines tasks: devices, system calls, number of processes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from danlu.server.values import Values
from danlu.spec.text import Text

KEYS = ("pids", "seccomp", "devices")
_LEAST_PIDS, _MOST_PIDS = 16, 4_194_304


@dataclass(frozen=True, slots=True)
class Confinement:
    pids: int = 0  # limit of processes and threads per task; 0: the engine's default
    seccomp: Literal["auto", "off"] = "auto"
    devices: tuple[str, ...] | None = None  # None: the engine's default


class Confinements(Values):
    def read(self, engine: dict[str, Any], key: str = "engine") -> Confinement:
        return Confinement(
            self._pids(f"{key}.pids", engine["pids"]) if "pids" in engine else 0,
            self._choice(f"{key}.seccomp", engine.get("seccomp", "auto")),
            self._devices(f"{key}.devices", engine["devices"]) if "devices" in engine else None,
        )

    def _pids(self, key: str, value: Any) -> int:
        good = isinstance(value, int) and not isinstance(value, bool)
        if not good or not _LEAST_PIDS <= value <= _MOST_PIDS:
            raise self._wrong(
                key,
                value,
                Text(
                    f"write a whole number from {_LEAST_PIDS} to {_MOST_PIDS}",
                    f"请写 {_LEAST_PIDS} 到 {_MOST_PIDS} 之间的整数",
                ),
            )
        return int(value)

    def _devices(self, key: str, value: Any) -> tuple[str, ...]:
        found = self._texts(key, value) if value != [] else []
        for path in found:
            if os.path.normpath(path) != path or not path.startswith("/dev/"):
                raise self._wrong(
                    key,
                    path,
                    Text(
                        'write paths below /dev, as in ["/dev/infiniband", "/dev/fuse"]',
                        '请写 /dev 下的路径，例如 ["/dev/infiniband", "/dev/fuse"]',
                    ),
                )
        return tuple(found)
