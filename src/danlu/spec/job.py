"""The nouns of a request: a job, once read, validated and completed.

Only values live here. `spec.request` reads native files and the dialects read other languages; both
produce a `JobSpec`, the only form known downstream (scheduler, engines, store).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    TRAIN = "train"
    ENVIRONMENT = "environment"
    SERVICE = "service"


class RunAs(StrEnum):
    """How a command line is started."""

    ARGV = "argv"  # exactly these words
    SHELL = "shell"  # text for bash (or sh if there is none)
    SCRIPT = "script"  # a file (or a link to one) and its arguments
    TOOL = "tool"  # a program of Danlu's own, and its arguments


class Tool(StrEnum):
    """Programs of Danlu's own that a task can run."""

    ENVIRONMENT = "environment"  # JupyterLab, VS Code and TensorBoard, started when opened
    TENSORBOARD = "tensorboard"  # its arguments are folders


class Processes(StrEnum):
    """How many processes a task starts."""

    ONE = "one"
    PER_GPU = "per_gpu"  # one per GPU, each with its own LOCAL_RANK
    BATCH = "batch"  # the command runs in the first task; the others wait for its `srun`


class Variables(StrEnum):
    """Which platform's variables a task gets: WORLD_SIZE means different things to different
    platforms.
    """

    DANLU = "danlu"
    OPENPAI = "openpai"
    DLC = "dlc"
    DETERMINED = "determined"
    SLURM = "slurm"


class Sampling(StrEnum):
    """How the elements of an array get their values."""

    GRID = "grid"
    RANDOM = "random"


class Stdin(StrEnum):
    NONE = "none"
    PIPE = "pipe"
    TTY = "tty"


class After(StrEnum):
    """What a dependency waits for."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ENDED = "ended"
    STARTED = "started"


@dataclass(frozen=True, slots=True)
class Command:
    run_as: RunAs
    words: tuple[str, ...]  # SHELL: one text; SCRIPT: path, then arguments; TOOL: likewise


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """Whole GPUs, or a fraction of one GPU (then `count` is 1)."""

    count: int = 0
    model: str | None = None
    fraction: float | None = None
    indexes: tuple[int, ...] = ()  # exactly these GPUs of a node; `count` is then their number


@dataclass(frozen=True, slots=True)
class Resources:
    """What one task needs. Sizes are bytes."""

    gpus: GpuRequest
    cpus: float
    memory: int
    shm: int


@dataclass(frozen=True, slots=True)
class Mount:
    volume: str
    path: str
    read_only: bool = False
    folder: str = ""  # below the volume's root; empty: the whole volume


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    count: int
    command: Command
    resources: Resources
    image: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)  # variable -> secret's name
    mounts: tuple[Mount, ...] = ()
    ports: Mapping[str, int] = field(default_factory=dict)  # label -> count
    workdir: str | None = None
    processes: Processes = Processes.ONE
    min_failed: int = 1  # this many failed tasks fail the job; 0: failed tasks never do
    min_succeeded: int = 0  # this many succeeded tasks complete the job; 0: all must have ended


@dataclass(frozen=True, slots=True)
class Dependency:
    job: str  # a reference as written by the user; the server replaces it with the job's id
    after: After = After.SUCCEEDED


@dataclass(frozen=True, slots=True)
class Array:
    indexes: tuple[int, ...]
    limit: int | None = None  # how many elements may be active at once


@dataclass(frozen=True, slots=True)
class Search:
    """Values to try: each element of the array (or the single job) gets a point of `space`."""

    space: Mapping[str, Any]
    sampling: Sampling = Sampling.RANDOM
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Files:
    """Files of the task for its input and output, in addition to the log. `%j` and others expand as
    in Slurm.
    """

    output: str | None = None
    error: str | None = None  # None: together with the output
    input: str | None = None
    append: bool = False


NO_FILES = Files()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A folder its owner brought along; the job starts in a copy of it, or in a folder of that."""

    id: str  # SHA-256 of the list of its files, in hexadecimal
    folder: str = ""


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """Which nodes are acceptable; empty: all."""

    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # the node must have all of them


ANY_NODE = NodeChoice()


@dataclass(frozen=True, slots=True)
class JobSpec:
    name: str
    kind: Kind
    roles: tuple[Role, ...]
    queue: str = "default"
    group: str | None = None
    priority: int = 0  # higher goes first
    time_limit: float | None = None  # seconds per attempt
    idle_limit: float | None = None  # seconds without use after which it is stopped
    # For the job's own failures; platform faults are not charged. -1: retry every failure; -2: also
    # after success.
    retries: int = 0
    grace: float = 10.0  # seconds between SIGTERM and SIGKILL
    after: tuple[Dependency, ...] = ()
    array: Array | None = None
    stdin: Stdin = Stdin.NONE
    split_output: bool = False  # stderr as a separate stream
    log_cap: int | None = None  # bytes kept per task; None: the platform's default
    held: bool = False
    variables: Variables = Variables.DANLU
    search: Search | None = None
    files: Files = NO_FILES
    nodes: NodeChoice = ANY_NODE
    preemptible: bool = False  # may be ended and queued again if others need its GPUs
    build: bool = False  # builds an image: root inside its container, without volumes
    login: bool = False  # somebody's login task: starts past the queue and takes no room
    bundle: Bundle | None = None
    datasets: tuple[str, ...] = ()  # that it reads: copies near it are preferred

    @property
    def tasks(self) -> int:
        return sum(role.count for role in self.roles)
