"""The engine contract: how placements become processes.

One contract for the local machine, Slurm and Kubernetes. An engine that does not answer means
*unknown*, never *dead*. Every call may be repeated: `attempt_id` is the idempotency key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from danlu.spec.job import NO_FILES, Command, Files, JobSpec, Processes, Resources, Stdin


class Phase(StrEnum):
    ABSENT = "absent"
    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    LOST = "lost"  # gone without a status


class Placer(StrEnum):
    DANLU = "danlu"
    ENGINE = "engine"


class Unreachable(Exception):
    """Nothing is known now. Ask again later."""


class Refused(Exception):
    """It can never start, and why."""


class InDoubt(Exception):
    """It may have started: settle() it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom the tasks belong to. `uid` is None where everybody shares the server's own."""

    user: str
    group: str | None = None
    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] = ()
    names: tuple[tuple[str, int], ...] = ()  # what the groups are called, for `ls -l` in a task
    umask: int = 0o022


@dataclass(frozen=True, slots=True)
class HostMount:
    """A volume, resolved: `source` on the node is seen at `target` in the task."""

    name: str
    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """What the variables of another platform's language are made of, beside the gang itself."""

    spec: JobSpec
    user: str
    number: int  # of the job, over all jobs
    attempt: int = 1
    array: int | None = None  # the number of the array's first element
    index: int | None = None  # the element's index as the user gave it
    point: int = 0  # the element's place in the array, from 0
    started_at: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskLaunch:
    index: int  # over the whole gang, 0..n-1
    role: str
    role_index: int
    command: Command
    resources: Resources
    image: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)  # variable -> value; never shown
    mounts: tuple[HostMount, ...] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    workdir: str | None = None
    processes: Processes = Processes.ONE
    stdin: Stdin = Stdin.NONE
    split_output: bool = False
    log_cap: int = 1 << 30
    origin: Origin | None = None  # of a job that speaks another platform's language
    files: Files = NO_FILES


@dataclass(frozen=True, slots=True)
class GpuBinding:
    """Which cards: by index where Danlu chooses, by count and model where the engine does."""

    indexes: tuple[int, ...] = ()
    count: int = 0
    model: str | None = None
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    task: int
    node: str
    gpus: GpuBinding
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """A whole gang. `epoch` fences an old leader: an engine refuses one lower than it has seen."""

    attempt_id: str
    job_id: str
    epoch: int
    identity: Identity
    tasks: tuple[TaskLaunch, ...]
    places: tuple[Place, ...] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    text: str  # what a dry run prints, secrets as ***
    payload: bytes = field(repr=False)  # never logged
    digest: str = ""


@dataclass(frozen=True, slots=True)
class TaskRef:
    attempt_id: str
    task: int
    job_id: str = ""


@dataclass(frozen=True, slots=True)
class TaskSeen:
    task: int
    phase: Phase
    node: str = ""
    exit_code: int | None = None  # EXITED: 0..255
    signal: int | None = None  # EXITED by a signal
    # A Reason value the engine knows better (out_of_memory, command_not_found, ...), or
    # shared_memory_full: at the end, that was; whether it was the cause, the log must tell.
    hint: str = ""
    detail: str = ""
    started_at: float | None = None
    ended_at: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One attempt, as the engine sees it; every task of the gang is in `tasks`."""

    attempt_id: str
    tasks: tuple[TaskSeen, ...]


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known. Outside `scope`: unknown. Inside `scope` and not seen: ABSENT."""

    at: float
    scope: frozenset[str]
    seen: tuple[Seen, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class GpuInfo:
    index: int
    model: str
    uuid: str = ""
    memory: int = 0
    healthy: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class NodeInfo:
    name: str
    cpus: float
    memory: int
    gpus: tuple[GpuInfo, ...] = ()
    address: str = "127.0.0.1"
    up: bool = True
    note: str = ""
    labels: tuple[str, ...] = ()  # what jobs may ask for


@dataclass(frozen=True, slots=True)
class Inventory:
    nodes: tuple[NodeInfo, ...]
    images: bool = False  # can it run container images?
    images_hint: str = ""  # if not: what to install
    images_hint_zh: str = ""


@dataclass(frozen=True, slots=True)
class Tty:
    rows: int = 24
    cols: int = 80
    term: str = "xterm-256color"


@dataclass(frozen=True, slots=True)
class Usage:
    cpu_seconds: float
    memory: int
    processes: int = 0


class Duplex(Protocol):
    """A conversation with a process: bytes in, bytes out, a status at the end."""

    async def send(self, data: bytes) -> None: ...
    async def send_eof(self) -> None: ...
    async def resize(self, rows: int, cols: int) -> None: ...
    async def receive(
        self,
    ) -> tuple[int, bytes] | None: ...  # (1 stdout | 2 stderr, bytes); None: end
    async def exit_code(self) -> int | None: ...
    async def close(self) -> None: ...


class NoImage(Exception):
    """An image cannot be had. `reason`: a Reason value that says why and whether to try again."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ImageProgress:
    """How far a pull is. Totals grow until every layer was asked for."""

    image: str
    done: int = 0  # bytes
    total: int = 0
    layers_done: int = 0
    layers: int = 0
    unpacking: bool = False


@runtime_checkable
class Images(Protocol):
    """An engine that has to have an image before it can launch."""

    def image_problem(self, image: str) -> tuple[str, str] | None: ...  # en, zh; None: a good name
    async def prepare_image(
        self, image: str, progress: Callable[[ImageProgress], None]
    ) -> None: ...  # there now; raises NoImage, Unreachable. Cancelled: not wanted any more


class Ports(Protocol):
    """Ports are part of a placement: two tasks on one machine never clash."""

    def lease(
        self, node: str, count: int, first: int | None = None
    ) -> tuple[int, ...]: ...  # `first`: wished for; raises Unreachable: none free
    def keep(self, attempt_id: str, ports: Iterable[int]) -> None: ...
    def free(self, attempt_id: str) -> None: ...
    def release(self, ports: Iterable[int]) -> None: ...


class Engine(Protocol):
    name: str
    placer: Placer

    @property
    def ports(self) -> Ports: ...

    async def start(self) -> None: ...
    async def close(self) -> None: ...  # tasks go on
    async def inventory(self) -> Inventory: ...
    def plan(self, launch: Launch) -> Plan: ...  # pure; raises Refused
    async def launch(self, launch: Launch, plan: Plan) -> str: ...  # same id: same handle, one run
    async def settle(self, attempt_id: str) -> Seen | None: ...  # None: fenced, can never start
    async def observe(self, cursor: str | None) -> Observation: ...
    def changes(self) -> AsyncIterator[None]: ...  # a hint to observe now, nothing more
    async def stop(self, attempt_id: str, grace: float) -> None: ...  # done when observed
    async def forget(self, attempt_id: str) -> None: ...  # after its outcome is committed
    async def sweep(self, live: frozenset[str]) -> int: ...  # end leftovers of attempts not live
    def read_log(
        self, task: TaskRef, stream: str, offset: int, limit: int | None = None
    ) -> AsyncIterator[bytes]: ...  # up to the present end
    async def log_size(self, task: TaskRef, stream: str) -> int: ...
    async def log_grew(
        self,
        task: TaskRef,
        stream: str,
        offset: int,
        timeout: float,  # noqa: ASYNC109
    ) -> bool: ...
    async def attach(self, task: TaskRef) -> Duplex: ...  # input only: output is the log
    async def exec(self, task: TaskRef, argv: Sequence[str], tty: Tty | None) -> Duplex: ...
    async def connect(self, task: TaskRef, port: int) -> Duplex: ...
    async def usage(self) -> Mapping[TaskRef, Usage]: ...
