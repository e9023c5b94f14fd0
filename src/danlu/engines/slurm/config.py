"""Configuration of a Slurm engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from danlu.engines.local.config import PORTS, SYSTEM_PATH


@dataclass(frozen=True, slots=True)
class SlurmConfig:
    data: Path  # on this machine: which attempts there are, and how to reach them
    shared: Path  # the same folder on all nodes: scripts, records and logs, per user
    partitions: Mapping[str, str] = field(default_factory=dict)  # queue -> partition
    models: Mapping[str, str] = field(default_factory=dict)  # model -> gres type, or constraint
    bin: str = ""  # the folder of Slurm's commands; empty: PATH
    conf: str = ""  # SLURM_CONF
    python: str = "/usr/bin/python3"  # on the nodes; 3.9 or later
    path: str = SYSTEM_PATH  # PATH of tasks
    options: tuple[str, ...] = ()  # further options of every sbatch
    ports: tuple[int, int] = PORTS  # for tasks, on their nodes
    cycle: float = 1.0  # seconds between two looks at the queue
    lost_after: float = 10.0  # seconds that a record may need to be seen here
    slurmrestd: str = ""  # "unix:PATH": ask it rather than commands; empty: there is none
    deadline: float = 20.0  # seconds for one of Slurm's commands
    log_cap: int | None = None
    identities: bool = False  # jobs are submitted as their users
    runtime: str = "auto"  # for images: apptainer, podman, enroot, docker, or off
    container_program: str = ""  # its command on the nodes, if it has another name
    quick: bool = True  # the batch script's shell may start simple tasks itself
    nice: int = 100  # how much one step of Danlu's priority counts in Slurm's
