"""The engine conformance suite's world on a real Slurm."""

from __future__ import annotations

from pathlib import Path

from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.engine import SlurmEngine
from danlu.engines.slurm.shipping import ship
from tests.engines.local_harness import LocalHarness
from tests.support.folders import files_with
from tests.support.slurm import Slurm


def config_of(slurm: Slurm, data: Path, shared: Path, **values: object) -> SlurmConfig:
    """One that looks often: the shared folder of these tests is a local one."""
    usual = {"cycle": 0.2, "lost_after": 0.5, "conf": str(slurm.conf)}
    return SlurmConfig(data, shared, **(usual | values))  # type: ignore[arg-type]


def engine_on(slurm: Slurm, data: Path, **values: object) -> SlurmEngine:
    shared = data.parent / "shared"
    if not shared.exists():
        shared.mkdir()
        shared.chmod(0o1777)
        lend_programs(slurm, shared)
    return SlurmEngine(config_of(slurm, data, shared, **values))


def lend_programs(slurm: Slurm, shared: Path) -> None:
    """The programs for the nodes are the same each time, and take long to compile."""
    made = slurm.shared / "programs"
    ship(made, SlurmConfig(made, made).python)
    if not (shared / ".danlu").exists():
        (shared / ".danlu").symlink_to(made / ".danlu")


class SlurmHarness(LocalHarness):
    """All nodes of this Slurm are this machine, so processes are found as usual."""

    async def start(self) -> None:
        self.rounds = 14
        self.pause = 0.05
        await super().start()

    async def stored(self, text: bytes) -> list[str]:
        return files_with(self.data, text) + files_with(self.data.parent / "shared", text)
