"""The engine contract: how placements become processes.

One contract for the local machine, Slurm and Kubernetes. An engine that does not answer means
*unknown*, never *dead*. Every call may be repeated: `attempt_id` is the idempotency key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, runtime_checkable

from danlu.spec.job import (
    ANY_NODE,
    Command,
    JobSpec,
    NodeChoice,
    Processes,
    Resources,
    Stdin,
)
from danlu.spec.placement import Placement
from danlu.spec.text import EMPTY, Text

if TYPE_CHECKING:
    from danlu.registry.client import Client


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
    """The state is unknown for now; ask again later."""


class Refused(Exception):
    """It can never start; the message says why."""


class InDoubt(Exception):
    """It may or may not have started: call settle()."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The user tasks run as. `uid` is None if all tasks run as the server's own user."""

    user: str
    group: str | None = None
    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] = ()
    names: tuple[tuple[str, int], ...] = ()  # group names, for `ls -l` in a task
    umask: int = 0o022


@dataclass(frozen=True, slots=True)
class HostMount:
    """A resolved volume: `source` on the node is mounted at `target` in the task."""

    name: str
    source: str
    target: str
    read_only: bool = False


MIRRORS = "danlu mirrors"
"""The name of a mount with settings for pip and others; its folder belongs in XDG_CONFIG_DIRS."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What another platform's environment variables are derived from, besides the gang."""

    spec: JobSpec
    user: str
    number: int  # the job's number, unique over all jobs
    attempt: int = 1
    array: int | None = None  # the number of the array's first element
    index: int | None = None  # the element's index as the user gave it
    point: int = 0  # the element's place in the array, from 0
    started_at: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskLaunch:
    index: int  # within the whole gang, 0..n-1
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
    origin: Origin | None = None  # for a job written for another platform
    steps: bool = False  # needs danlu/steps; $DANLU_VOLUME_STEPS has its path
    processes_limit: int | None = None  # processes and threads; None: the engine's limit
    tools: bool = False  # needs Danlu's tools; $DANLU_TOOLS has their path
    hold: bool = False  # its container stays when it ends, as after SaveImage.hold_files
    offline: bool = False  # needs no network; one that has none has $DANLU_OFFLINE


@dataclass(frozen=True, slots=True)
class Terms:
    """What an engine with a queue of its own is told about a job. One that does not place needs
    none of it: Danlu has decided already.
    """

    name: str = ""
    queue: str = ""
    priority: int = 0  # higher goes first
    time_limit: float | None = None  # seconds
    nodes: NodeChoice = ANY_NODE
    avoid: tuple[str, ...] = ()  # nodes on which an earlier attempt was lost
    grace: float = 10.0


@dataclass(frozen=True, slots=True)
class Launch:
    """A whole gang. `epoch` fences off an old leader: engines refuse one lower than the last seen.

    `places` is None if the engine places. `installation` is the id of the launching Danlu: the
    engine stores and reports it with the attempt, so that several can share an engine.
    """

    attempt_id: str
    job_id: str
    epoch: int
    identity: Identity
    tasks: tuple[TaskLaunch, ...]
    places: tuple[Placement, ...] | None = None  # one for each task
    installation: str = ""
    terms: Terms = Terms()


@dataclass(frozen=True, slots=True)
class Plan:
    text: str  # printed by a dry run, secrets as ***
    payload: bytes = field(repr=False)  # never logged
    digest: str = ""


@dataclass(frozen=True, slots=True)
class TaskRef:
    attempt_id: str
    task: int
    job_id: str = ""
    # The engine's name for the attempt, if known.
    handle: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class InQueue:
    """What an engine says about a task in its own queue."""

    code: str = ""  # the engine's own word for the reason
    words: Text = EMPTY  # the same as a sentence
    start: float | None = None  # when it expects to start it
    # Without `start`, why: no_limit (jobs before it have none), far (beyond reason), blocked (it
    # does not start by itself), unplanned.
    no_start: str = ""


@dataclass(frozen=True, slots=True)
class TaskSeen:
    task: int
    phase: Phase
    node: str = ""
    exit_code: int | None = None  # EXITED: 0..255
    signal: int | None = None  # EXITED by a signal
    # A Reason value only the engine knows (out_of_memory, command_not_found, ...), or
    # shared_memory_full: true at the end, but only the log shows whether it was the cause.
    hint: str = ""
    detail: str = ""  # PENDING: the engine's reason for waiting
    started_at: float | None = None
    ended_at: float | None = None
    gpus: tuple[int, ...] = ()  # indexes and ports, if the engine chose them
    ports: tuple[int, ...] = ()
    in_queue: InQueue | None = None  # PENDING: what the engine says about it


@dataclass(frozen=True, slots=True)
class Seen:
    """One attempt as the engine sees it; `tasks` has every task of the gang."""

    attempt_id: str
    tasks: tuple[TaskSeen, ...]
    handle: str = ""  # the engine's name for it
    installation: str = ""  # which one launched it; those of others are only shown


NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Observation:
    """Outside `scope` an attempt is unknown; inside it and not in `seen` it is ABSENT.

    With a cursor, attempts that have not changed since are left out. `trouble`: why the engine
    cannot say more, for one that knows some ends all the same.
    """

    at: float
    scope: frozenset[str]
    seen: tuple[Seen, ...]
    cursor: str
    trouble: str = ""
    trouble_since: float | None = None


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
    labels: tuple[str, ...] = ()  # jobs can request these
    partitions: tuple[str, ...] = ()  # of the engine's own queues, those it belongs to
    words: Text = EMPTY  # `note` in both languages, if the engine has them


@dataclass(frozen=True, slots=True)
class Holder:
    """Work on one node that no Danlu has started, e.g. a job of somebody who uses `sbatch`."""

    id: str  # the engine's name for the whole job
    user: str
    node: str
    name: str = ""
    partition: str = ""
    gpus: int = 0
    indexes: tuple[int, ...] = ()  # of these GPUs on the node, if known
    cpus: float = 0.0
    memory: int = 0
    started_at: float | None = None
    ends_at: float | None = None  # at the latest, by its time limit


@dataclass(frozen=True, slots=True)
class Partition:
    """A queue of the engine's own."""

    name: str
    up: bool = True
    default: bool = False
    time_limit: float | None = None  # seconds; the longest it allows
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory:
    nodes: tuple[NodeInfo, ...]
    images: bool = False  # whether it can run container images
    images_hint: Text = EMPTY  # if not: what to install
    holders: tuple[Holder, ...] = ()  # who else holds what, if it is shared with others
    partitions: tuple[Partition, ...] = ()


@dataclass(frozen=True, slots=True)
class Tty:
    rows: int = 24
    cols: int = 80
    term: str = "xterm-256color"


@dataclass(frozen=True, slots=True)
class Usage:
    """One task's usage. CPU seconds and transferred bytes count from its start; None: unknown."""

    cpu_seconds: float
    memory: int
    processes: int = 0
    disk_read: int | None = None  # bytes of actual disk I/O, without the page cache
    disk_written: int | None = None
    net_received: int | None = None  # only if the task has its own network namespace
    net_sent: int | None = None
    gpu_utilisation: float | None = None  # 0 to 1, mean over its GPUs
    gpu_memory: int | None = None  # bytes, sum over its GPUs


@dataclass(frozen=True, slots=True)
class GpuUsage:
    """Usage of one GPU of a node; declared GPUs without hardware are not reported."""

    index: int
    utilisation: float | None = None  # 0 to 1
    memory: int | None = None  # bytes in use
    temperature: float | None = None  # degrees Celsius
    power: float | None = None  # watts


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """Usage of a whole node, including other processes. Counters restart when the node does."""

    cpu_seconds: float | None = None
    memory: int | None = None
    disk_free: int | None = None  # bytes, on the disk with tasks and logs
    disk_read: int | None = None
    disk_written: int | None = None
    net_received: int | None = None
    net_sent: int | None = None
    gpus: tuple[GpuUsage, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageReport:
    """A snapshot of everything an engine runs. Missing means not measured, not zero."""

    at: float
    tasks: Mapping[TaskRef, Usage] = field(default_factory=dict)
    nodes: Mapping[str, NodeUsage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Keep:
    """Whose terminal it is, and which: nobody gets to another person's by knowing its name."""

    user: str
    name: str


@dataclass(frozen=True, slots=True)
class Run:
    """A command to be run inside a running task.

    One with a terminal to `keep` stays when its connection is closed, until it or the task ends, or
    until it is sent SIGHUP. The next one to ask for it gets it back, with what it printed last;
    whoever was connected is cut off.
    """

    words: tuple[str, ...]
    tty: Tty | None = None
    env: Mapping[str, str] = field(default_factory=dict)  # besides the task's own
    cwd: str = ""  # empty: the task's; ~: the user's home
    shell: bool = False  # the first word is a line for the task's shell
    files: bool = False  # no command: an SFTP server for the task's files
    keep: Keep | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Something to connect to or to listen on, as seen from inside a task, by its user.

    A port of a host, or a socket at an absolute path. To listen on neither means a new socket in a
    folder of its own, on port 0 any free port.
    """

    port: int | None = None
    host: str = "localhost"
    path: str | None = None


class Duplex(Protocol):
    """A two-way connection to a process: bytes in, bytes out, finally an exit status."""

    @property
    def exit_signal(self) -> int | None: ...  # if a signal ended it; exit_code() is 128 more
    async def signal(self, number: int) -> None: ...  # to the process and those it started
    async def send(self, data: bytes) -> None: ...
    async def send_eof(self) -> None: ...
    async def resize(self, rows: int, cols: int) -> None: ...
    async def receive(
        self,
    ) -> tuple[int, bytes] | None: ...  # (1 stdout | 2 stderr, bytes); None: end
    async def exit_code(self) -> int | None: ...
    async def close(self) -> None: ...


class Listener(Protocol):
    """A socket inside a task that accepts connections until it is closed."""

    @property
    def endpoint(self) -> Endpoint: ...  # with the port or path that was chosen
    async def accept(self) -> Duplex | None: ...  # None: the task has ended
    async def close(self) -> None: ...


class NoImage(Exception):
    """An image is not available. `reason` is a Reason value; it also decides about retries."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ImageProgress:
    """Progress of a pull. Totals grow until every layer has been requested."""

    image: str
    done: int = 0  # bytes
    total: int = 0
    layers_done: int = 0
    layers: int = 0
    unpacking: bool = False


@runtime_checkable
class Images(Protocol):
    """An engine that needs an image on the node before it can launch."""

    def image_problem(self, image: str) -> Text | None: ...  # None: a valid name
    async def prepare_image(
        self, node: str, image: str, progress: Callable[[ImageProgress], None]
    ) -> None: ...  # raises NoImage, Unreachable; cancel it when no longer needed


@dataclass(frozen=True, slots=True)
class NodeImage:
    """An image as a node has it."""

    id: str  # of its configuration
    digest: str = ""  # of its manifest; empty: it came from no registry
    size: int = 0  # bytes, unpacked


@runtime_checkable
class ImageFinder(Protocol):
    """An engine that can tell which images a node has."""

    async def find_images(
        self, node: str, images: Sequence[str]
    ) -> Mapping[str, NodeImage]: ...  # those that are there; raises Unreachable
    async def inspect_image(
        self, node: str, image: str
    ) -> Mapping[str, Any] | None: ...  # config, history, layers as the runtime tells them


class CannotSave(Exception):
    """A container cannot be saved as an image, for as long as this is so."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


@dataclass(frozen=True, slots=True)
class SaveEstimate:
    """What saving a container takes."""

    changed: int  # bytes of changed files, not compressed
    files: int = 0  # how many; 0: not counted
    copies: int = 0  # how often the node's own storage has to hold them meanwhile
    free: int | None = None  # bytes that are left there
    size: int = 0  # of that storage
    where: str = ""


@dataclass(frozen=True, slots=True)
class ImageStore:
    """A registry that takes a saved image.

    `connect` opens a connection, for one thread, with the rights of the person who saves. `host` is
    the registry as the node's runtime reaches it, `auth` the X-Registry-Auth there. `known` finds
    where layers may already be: (repository, digest of a manifest) by a key of their own.
    """

    connect: Callable[[], Client]
    host: str
    repository: str
    tag: str
    auth: Mapping[str, str] = field(default_factory=dict, repr=False)
    plain_http: bool = True
    hosts: tuple[str, ...] = ()  # the registry's names in those of images
    known: Callable[[str], tuple[str, str] | None] = lambda chain: None


@dataclass(frozen=True, slots=True)
class SaveOrder:
    """`name`: what jobs will call it. Without a `store` it stays on the node."""

    name: str
    store: ImageStore | None = None
    author: str = ""
    accounts: bool = False  # with /etc/passwd and /etc/group, which the engine has added to
    most: int | None = None  # bytes of changed files that there is room for


@dataclass(frozen=True, slots=True)
class SaveProgress:
    """How far it is. `base`: the layers below are being sent."""

    done: int = 0  # bytes
    total: int = 0
    base: bool = False


@dataclass(frozen=True, slots=True)
class Saved:
    digest: str  # of the manifest; the runtime's id if it stays on the node
    size: int  # bytes of its own layer, as stored; 0: not known
    total: int = 0  # bytes of all layers, as stored
    chains: Mapping[str, str] = field(default_factory=dict)  # key of layers -> manifest


@runtime_checkable
class SaveImage(Protocol):
    """An engine that can save the container of a task as an image.

    `hold_files` keeps the container of a task when the task ends, so that it can be saved then;
    each one has to be let go of.
    """

    async def save_estimate(self, task: TaskRef) -> SaveEstimate: ...  # CannotSave, Unreachable
    async def save_image(
        self, task: TaskRef, order: SaveOrder, progress: Callable[[SaveProgress], None]
    ) -> Saved: ...  # raises CannotSave, Unreachable; cancel it when no longer needed
    async def hold_files(self, task: TaskRef) -> None: ...
    async def let_go(self, task: TaskRef) -> None: ...


@dataclass(frozen=True, slots=True)
class PullAccess:
    """How the platform's own registry is asked for one image."""

    host: str  # as the image's name has it
    user: str
    password: str = field(repr=False)


@runtime_checkable
class OwnRegistryImages(Protocol):
    """An engine on the server's machine, which reaches the platform's registry there."""

    async def prepare_own_image(
        self,
        node: str,
        image: str,
        access: PullAccess | None,
        progress: Callable[[ImageProgress], None],
    ) -> None: ...  # as prepare_image, for the newest. Without access: only what is there


@dataclass(frozen=True, slots=True)
class Space:
    """The disk a folder is on."""

    id: str  # the same for all folders on it, while it is mounted
    size: int  # bytes that can be used, by users
    free: int


@dataclass(frozen=True, slots=True)
class StoredImage:
    id: str
    names: tuple[str, ...]
    size: int  # bytes; layers that images share count for each
    busy: bool  # a container uses it, whoever's


@runtime_checkable
class Storage(Protocol):
    """An engine whose disks can be watched and cleaned."""

    async def container_folders(self) -> Mapping[str, str]: ...  # runtime -> where it keeps images
    async def spaces(
        self, folders: Sequence[str]
    ) -> Mapping[str, Space]: ...  # without those that cannot be looked at, or do not answer
    async def stored_images(self) -> tuple[StoredImage, ...]: ...  # raises Unreachable
    def image_names(self, image: str) -> tuple[str, ...]: ...  # as the runtime may know it
    async def remove_image(
        self, image: StoredImage, names: Sequence[str]
    ) -> str: ...  # takes these names away; empty: it is gone, else why it stays
    async def old_logs(
        self, before: float, keep: Callable[[str], bool], remove: bool
    ) -> tuple[int, int]: ...  # bytes and files last written before; `keep`: asked for each job


class NoTools(Exception):
    """The tools are not there and cannot be made."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


@dataclass(frozen=True, slots=True)
class ToolsProgress:
    """How far the tools are that a node makes for itself."""

    step: Text
    done: int = 0  # steps
    total: int = 0


@runtime_checkable
class Tools(Protocol):
    """An engine that can run Danlu's own tools: JupyterLab, VS Code, TensorBoard (RunAs.TOOL)."""

    def tools_problem(self, image: bool) -> Text | None: ...  # None: it has or makes them
    async def prepare_tools(
        self, node: str, image: bool, progress: Callable[[ToolsProgress], None]
    ) -> None: ...  # raises NoTools; cancel it when no longer needed


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a request could never run on an engine: a key of the job, its value, and a sentence."""

    key: str
    value: object
    message: Text


@runtime_checkable
class OwnQueues(Protocol):
    """An engine with queues of its own, to which those of Danlu lead."""

    def queue_nodes(self, queue: str) -> frozenset[str] | None: ...  # None: any of its nodes
    def misfit(
        self, queue: str, needs: Sequence[tuple[Resources, int]]
    ) -> Misfit | None: ...  # tasks, and how many of each; None: they may fit


class Reach(Protocol):
    """Ways into running tasks that work without the engine, and so without the server."""

    async def exec(self, task: TaskRef, run: Run) -> Duplex: ...
    async def connect(self, task: TaskRef, to: Endpoint) -> Duplex: ...
    async def listen(self, task: TaskRef, at: Endpoint) -> Listener: ...
    async def hang_up(self, task: TaskRef, user: str) -> None: ...  # all that is kept for them


@runtime_checkable
class Reachable(Protocol):
    """An engine whose tasks another process of Danlu can reach."""

    def reach_settings(self) -> Mapping[str, str]: ...  # `kind`, and what its Reach needs


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk with an engine's logs, records and homes."""

    free: int  # bytes
    where: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class LogFile:
    """One task's output, for a backup."""

    name: str  # relative path with at least one folder; stable between backups
    size: int  # now; `content` may grow
    modified: float
    content: BinaryIO  # closed by the caller


class Ports(Protocol):
    """Ports are part of a placement: two tasks on one node never get the same one."""

    async def lease(
        self, attempt_id: str, node: str, count: int, first: int | None = None
    ) -> tuple[int, ...]: ...  # `first`: preferred number; raises Unreachable if none is free
    async def keep(
        self, attempt_id: str, node: str, ports: Sequence[int]
    ) -> None: ...  # leased before a restart
    async def free(self, attempt_id: str) -> None: ...  # forget() does this too


class Engine(Protocol):
    name: str
    placer: Placer

    @property
    def ports(self) -> Ports: ...

    async def start(self) -> None: ...
    async def close(self) -> None: ...  # tasks keep running
    async def inventory(self) -> Inventory: ...
    async def disk(self) -> Disk | None: ...  # None: it has no disk that could fill up
    async def missing_folders(
        self, node: str, folders: Sequence[str]
    ) -> tuple[str, ...]: ...  # the ones that do not exist on the node
    def plan(self, launch: Launch) -> Plan: ...  # pure; raises Refused
    async def launch(self, launch: Launch, plan: Plan) -> Seen: ...  # idempotent: one run per id
    async def settle(self, attempt_id: str) -> Seen | None: ...  # None: fenced off, can never start
    async def observe(
        self, cursor: str | None, known: Mapping[str, str] = NOTHING
    ) -> Observation: ...  # `known`: attempt -> handle, also to be reported on
    def changes(self) -> AsyncIterator[None]: ...  # only a hint to observe now
    async def stop(
        self, attempt_id: str, grace: float, handle: str = ""
    ) -> None: ...  # takes effect later: see observe()
    async def forget(
        self, attempt_id: str, handle: str = ""
    ) -> None: ...  # once its outcome is committed
    async def sweep(
        self, live: Callable[[], frozenset[str]], installation: str = ""
    ) -> int: ...  # ends what this installation launched and live() lacks, called after looking
    def read_log(
        self, task: TaskRef, stream: str, offset: int, limit: int | None = None
    ) -> AsyncIterator[bytes]: ...  # up to the current end
    def export_logs(self) -> Iterator[LogFile]: ...  # blocking: call it from a thread
    async def log_size(self, task: TaskRef, stream: str) -> int: ...
    async def log_grew(
        self,
        task: TaskRef,
        stream: str,
        offset: int,
        timeout: float,  # noqa: ASYNC109
    ) -> bool: ...
    async def attach(self, task: TaskRef) -> Duplex: ...  # input only: output goes to the log
    async def exec(self, task: TaskRef, run: Run) -> Duplex: ...
    async def connect(self, task: TaskRef, to: Endpoint) -> Duplex: ...  # made inside the task
    async def listen(self, task: TaskRef, at: Endpoint) -> Listener: ...  # likewise
    async def hang_up(self, task: TaskRef, user: str) -> None: ...  # all that is kept for them
    async def usage(self) -> UsageReport: ...  # all tasks and nodes
