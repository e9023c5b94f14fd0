"""Settings for running jobs, filled from danlu.toml by the server."""

from __future__ import annotations

from dataclasses import dataclass, field

from danlu.access.identities import Uids
from danlu.files.settings import FileSettings, Mirrors
from danlu.metrics.archive import LARGEST
from danlu.sched.api import Policy, Quotas
from danlu.spec.defaults import Defaults
from danlu.spec.units import G


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits per user, so that nobody can use up shared resources."""

    streams: int = 200  # of events, open at once
    terminals: int = 50  # commands and inputs of tasks, open at once
    secrets: int = 500
    request: int = 10_000  # jobs per request, including array elements
    jobs: int = 50_000  # that have not ended
    environments: int = 100
    connections: int = 512  # open at once from one address
    free: int | None = (
        None  # bytes; below, new jobs are rejected. None: 5 % of the disk, up to 1 GiB
    )
    homes_free: int | None = (
        None  # bytes; below, everybody is warned. None: 10 % of the disk, up to 10 GiB
    )


@dataclass(frozen=True, slots=True)
class CarrySettings:
    """Folders that people bring along with a job."""

    size: int = 4 * G  # of one folder
    files: int = 100_000  # in one folder, folders and links included
    total: int = 50 * G  # stored for one user
    keep: float = 90 * 86400.0  # seconds after its last use
    folders: float = 86400.0  # seconds a working folder keeps unchanged files after its job ended


@dataclass(frozen=True, slots=True)
class DiskSettings:
    """When a disk is too full, and what is then removed. Percent of what can be used."""

    warning: float = 80.0
    high: float = 90.0
    critical: float = 95.0
    free: int | None = None  # bytes; with less left it is critical, whatever the percentage
    clean: bool = True
    clean_from: float = 85.0  # a disk this full is cleaned
    clean_to: float = 75.0  # down to this
    every: float = 3600.0  # seconds between two looks at what can be cleaned
    images: float = 14 * 86400.0  # seconds an image is kept after its last use
    bins: float = 30 * 86400.0  # seconds the bins keep what was deleted
    logs: float = 0.0  # seconds a log is kept after its job ended; 0: for good
    count_every: float = 86400.0  # seconds between two counts of what homes hold


@dataclass(frozen=True, slots=True)
class Login:
    """What `ssh USER@host` without a job leads to: a task for files, outside the queue."""

    enabled: bool = True
    cpus: float = 1.0
    memory: int = 2 * G
    processes: int = 512
    idle: float = 1800.0  # seconds without a connection until it ends


@dataclass(frozen=True, slots=True)
class IdleSettings:
    """When a job with an idle limit counts as used."""

    warning: float = 600.0  # seconds before it is stopped
    cpus: float = 0.1  # cores; with more, it is used
    gpus: float = 0.0  # utilisation, 0 to 1; with more, it is used
    connections: bool = True  # somebody is connected: terminal, SSH, web page
    kernels: bool = True  # a notebook kernel is busy


@dataclass(frozen=True, slots=True)
class Settings:
    files: FileSettings
    defaults: Defaults
    sweep_every: float = 60.0
    inventory_every: float = 15.0
    sample_every: float = 10.0  # seconds between usage samples
    metrics_size: int = LARGEST  # maximum size of the samples file in bytes
    engine_patience: float = 10.0  # seconds an engine has to answer at the start
    away_after: float = 3.0  # seconds of silence after which an engine counts as away
    uids: Uids | None = None  # None: all tasks share the server's uid
    policy: Policy = field(default_factory=Policy)
    quotas: Quotas = field(default_factory=Quotas)
    limits: Limits = field(default_factory=Limits)
    login: Login = field(default_factory=Login)
    idle: IdleSettings = field(default_factory=IdleSettings)
    carry: CarrySettings = field(default_factory=CarrySettings)
    disks: DiskSettings = field(default_factory=DiskSettings)
    mirrors: Mirrors = field(default_factory=Mirrors)
    names_by_group: bool = False  # members see no names of other groups' jobs
