"""What the local engine can do on this machine, determined by trying; see `danlu check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from danlu.spec.text import Text


@dataclass(frozen=True, slots=True)
class Abilities:
    namespaces: bool = False
    namespaces_how: str = ""  # direct: as root; user: with a user namespace
    namespaces_why_not: str = ""
    cgroup: str | None = None  # v1, v2
    controllers: tuple[str, ...] = ()
    cgroup_bases: tuple[str, ...] = ()
    cgroup_why_not: str = ""
    identities: bool = False  # tasks can run as users other than the server's
    gpus: str = "none"  # nvml, declared, none

    @property
    def tree(self) -> str:
        """The key in TREE_GUARANTEES that applies."""
        if self.namespaces:
            return "namespace"
        return "cgroup" if self.cgroup else "marker"


TREE_GUARANTEES: dict[str, Text] = {
    "namespace": Text(
        "Ending a task ends every process it started, also those that left the session or wiped "
        "their environment, even when its keeper is killed",
        "结束任务会结束它启动的所有进程，包括脱离会话或清空环境变量的进程；看护进程被杀也一样",
    ),
    "cgroup": Text(
        "Ending a task ends every process it started; if its keeper is killed, the leftovers are "
        "found by their cgroup and ended within a minute",
        "结束任务会结束它启动的所有进程；若看护进程被杀，残留进程会在一分钟内按 cgroup 找到并结束",
    ),
    "marker": Text(
        "Ending a task ends every process it started while its keeper lives; if the keeper is "
        "killed, leftovers are found by a marker in their environment, so a process that wiped its "
        "environment can stay behind",
        "看护进程在时，结束任务会结束它启动的所有进程；若看护进程被杀，残留进程按环境变量标记查找，"
        "清空了环境变量的进程可能残留",
    ),
}


def abilities_of(found: dict[str, Any], gpus: str) -> Abilities:
    """Built from the results of the spawner's trials."""
    version = int(found["cgroup"])
    return Abilities(
        namespaces=bool(found["namespaces"]),
        namespaces_how=str(found["namespaces"]),
        namespaces_why_not=str(found["namespaces_why"]),
        cgroup=f"v{version}" if version else None,
        controllers=tuple(found["controllers"]),
        cgroup_bases=tuple(found["bases"]),
        cgroup_why_not=str(found["cgroup_why"]),
        identities=bool(found["identities"]),
        gpus=gpus,
    )
