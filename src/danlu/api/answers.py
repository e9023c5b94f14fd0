"""Response models of the API, for the OpenAPI document and client authors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class EarlierRun(BaseModel):
    """The run after which a job was queued again."""

    started_at: float | None
    ended_at: float
    ran: float = Field(description="seconds")
    reason: str | None
    reason_en: str
    reason_zh: str


class Job(BaseModel):
    id: str
    ref: str = Field(examples=["alice/mnist-3"])
    seq: int
    owner: str
    name: str
    number: int
    array_index: int | None
    array_seq: int | None = Field(None, description="the array's number")
    kind: str
    state: str
    held: bool
    reason: str | None
    reason_en: str
    reason_zh: str
    advice_en: str
    advice_zh: str
    evidence: list[str]
    exit_code: int | None = Field(description="of the command; 128 + n if killed by signal n")
    queue: str
    group: str | None
    priority: int
    gpus: float
    gpu_model: str | None
    nodes: list[str]
    submitted_at: float
    started_at: float | None
    ended_at: float | None
    attempt: int
    task_count: int
    command: str
    retries_left: int
    unknown_since: float | None = Field(
        None,
        description="since when its engine has not reported it; the rest is the last known state",
    )
    before: EarlierRun | None = Field(
        None, description="the run that ended before it was queued again, while it waits"
    )
    elements: dict[str, int] | None = Field(
        None, description="in a list with `fold`: the elements of its array, by state"
    )


class Task(BaseModel):
    index: int
    role: str
    role_index: int
    node: str | None
    gpus: list[int]
    ports: list[int]
    phase: str
    exit_code: int | None
    signal: int | None


class Placement(BaseModel):
    task: int = Field(description="its index in the gang")
    node: str
    gpus: list[int] = Field(description="indexes on the node")
    share: int = Field(description="thousandths of one GPU; 0: whole GPUs")
    ports: list[int]


class Attempt(BaseModel):
    id: str
    number: int
    state: str
    reason: str | None
    reason_en: str
    reason_zh: str
    created_at: float
    started_at: float | None
    ended_at: float | None
    places: list[Placement]


class JobDetail(Job):
    spec: dict[str, Any]
    tasks: list[Task]
    attempts: list[Attempt]
    doing_en: str = Field("", description="what is being done for it, e.g. the progress of a pull")
    doing_zh: str = ""
    idle_stop_at: float | None = Field(
        None,
        description="when it is stopped for its idle limit, if nobody uses it; null: in use, or "
        "without one",
    )


class JobList(BaseModel):
    jobs: list[Job]
    next: str | None = Field(description="pass as `before` for the next page; null: no more")

    counts: dict[str, int] | None = Field(
        None, description="with `counts`: all that match, by state"
    )


class Note(BaseModel):
    en: str
    zh: str
    key: str = ""
    line: int | None = None


class Cause(BaseModel):
    kind: str
    basis: str
    en: str
    zh: str
    numbers: dict[str, Any]


class NodeVerdict(BaseModel):
    node: str
    free: int
    need: int
    cpus_free: float
    memory_free: int
    fits: bool
    lacks: list[str]
    holders: list[str]


class GpuHolder(BaseModel):
    """A running job that holds what the waiting one needs."""

    ref: str
    owner: str
    node: str
    gpus: list[int]
    since: float
    latest_end: float | None
    expected_end: float | None
    outside: bool = Field(False, description="not a job of the platform")


class WhatIf(BaseModel):
    """A change that was tried by deciding again with it."""

    kind: str
    effect: str = Field(description="starts_now, earlier or no_change")
    basis: str
    en: str
    zh: str
    effect_en: str
    effect_zh: str
    numbers: dict[str, Any]
    nodes: list[str]
    at: float | None
    change: dict[str, Any] = Field(
        default_factory=dict, description="the body of `PATCH /jobs/{ref}` that makes this change"
    )


class Why(BaseModel):
    state: str
    sentence_en: str
    sentence_zh: str
    starts_now: bool
    causes: list[Cause]
    nodes: list[NodeVerdict]
    position: int | None
    eta: float | None
    eta_p90: float | None = Field(None, description="90% start no later")
    eta_basis: str | None = Field(None, description="now, limits, history, engine or none")
    eta_after: str | None = Field(None, description="the job whose end makes room")
    eta_en: str = ""
    eta_zh: str = ""
    eta_why_en: str
    eta_why_zh: str
    advice_en: str = ""
    advice_zh: str = ""
    evidence: list[str] = []
    more_nodes: int = Field(0, description="nodes not listed because they have less")
    holders: list[GpuHolder] = []
    clear: list[str] = Field([], description="what does not block it")
    clear_en: str = ""
    clear_zh: str = ""
    suggestions: list[WhatIf] = []
    places: list[Placement] = Field([], description="where it starts, if it starts now")
    before: EarlierRun | None = Field(None, description="as for the job")


class Preview(BaseModel):
    spec: dict[str, Any]
    why: Why
    script: str = Field("", description="the batch script, if Slurm places the job")


class Submitted(BaseModel):
    jobs: list[Job]
    notes: list[Note]
    previews: list[Preview] = Field(description="the result of a dry run")


class Event(BaseModel):
    seq: int
    at: float
    kind: str
    actor: str
    data: dict[str, Any]
    en: str
    zh: str


class EventList(BaseModel):
    events: list[Event]


class StreamJob(BaseModel):
    id: str
    ref: str
    owner: str
    name: str
    group: str | None
    state: str | None = Field(description="after this event; null: unchanged")


class StreamEvent(BaseModel):
    """One message of the stream; which keys it has depends on its type."""

    type: str = Field(description="the SSE event: hello, job, nodes or platform")
    seq: int = Field(description="of job and platform: the event's number, also its id")
    at: float
    kind: str
    actor: str
    data: dict[str, Any]
    en: str
    zh: str
    job: StreamJob
    nodes: list[Node] = Field(description="of nodes: those that changed; all at first")
    gone: list[str] = Field(description="of nodes: names of those removed")
    reset: bool = Field(
        description="of hello: the position asked for is unknown; continues from now"
    )


class Match(BaseModel):
    offset: int
    line: int
    text: str


class Matches(BaseModel):
    matches: list[Match]
    more: bool = Field(description="not the whole log was searched")
    next_offset: int | None = Field(
        description="pass as `offset` to continue; null: everything was searched"
    )
    next_line: int | None = Field(description="pass as `line` to continue")


class OutsideJob(BaseModel):
    """Work that no Danlu has started, such as a job of somebody who uses `sbatch`."""

    engine: str
    id: str = Field(description="the engine's name for it")
    user: str = Field(description="whose it is, by the engine's own accounts")
    name: str


class Gpu(BaseModel):
    node: str
    index: int
    model: str
    uuid: str
    memory: int
    state: str = Field(
        description="free, used, reserved, drained, down, outside or unknown", examples=["free"]
    )
    free: float
    job: str | None
    jobs: list[str]
    owner: str | None
    since: float | None
    ends: float | None = Field(None, description="when its job reaches its time limit; null: none")
    kept_for: str | None = Field(None, description="the job it is reserved for")
    note: str = Field("", description="what is wrong with it")
    outside: OutsideJob | None = Field(
        None, description="who holds it outside the platform, if that is known"
    )
    busy: float | None = Field(None, description="utilisation, 0 to 1; null: not measured")
    memory_used: int | None = Field(None, description="bytes in use; null: not measured")
    idle_since: float | None = Field(
        None, description="unused since then, for at least 15 minutes; null: in use"
    )


class Node(BaseModel):
    name: str
    up: bool
    drained: bool = Field(description="drained by an admin: running jobs continue")
    drain_reason: str = Field("", description="why, in the admin's words")
    labels: list[str]
    address: str
    cpus: float
    cpus_free: float
    memory: int
    memory_free: int
    gpus: list[Gpu]
    note: str
    note_en: str = ""
    note_zh: str = ""
    engine: str
    unknown_since: float | None = Field(
        description="since when its engine has not answered; the rest is the last known state"
    )


class NodeList(BaseModel):
    nodes: list[Node]


class GpuSummary(BaseModel):
    model: str
    total: int
    free: int


class GpuList(BaseModel):
    gpus: list[Gpu]
    summary: list[GpuSummary]


class ServerInfo(BaseModel):
    version: str
    data: str
    addresses: list[str]
    engine: str
    tasks_running: int
    jobs_active: int
    jobs_queued: int
    database_ok: bool
    database_problem_en: str
    database_problem_zh: str
    disk_full_since: float | None = Field(description="new jobs have been refused since then")
    disk_low_since: float | None = Field(description="less than `limits.homes_free` since then")
    disk_free: int | None = Field(description="bytes left on a disk that is full or almost full")
    ssh_port: int | None = Field(description="where SSH clients come in; null: nowhere")
    ssh_host_key: str | None = Field(description="the fingerprint of its host key (ED25519)")


class Goodbye(BaseModel):
    running: list[Job]


class Version(BaseModel):
    version: str
    demo: bool = Field(description="whether its people, jobs and GPU usage are made up")


class SecretNames(BaseModel):
    names: list[str]
