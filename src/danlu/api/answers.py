"""The shapes of the API's answers, for the OpenAPI document and those who write clients."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Job(BaseModel):
    id: str
    ref: str = Field(examples=["alice/mnist-3"])
    seq: int
    owner: str
    name: str
    number: int
    array_index: int | None
    array_seq: int | None = Field(None, description="the array's own number")
    kind: str
    state: str
    held: bool
    reason: str | None
    reason_en: str
    reason_zh: str
    advice_en: str
    advice_zh: str
    evidence: list[str]
    exit_code: int | None = Field(description="of the command; 128 + n when signal n ended it")
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
    places: list[dict[str, Any]]


class JobDetail(Job):
    spec: dict[str, Any]
    tasks: list[Task]
    attempts: list[Attempt]
    doing_en: str = Field("", description="what is being done for it, e.g. how far a pull is")
    doing_zh: str = ""


class JobList(BaseModel):
    jobs: list[Job]
    next: str | None = Field(description="pass as `before` for the next page; null: no more")


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


class CardHolder(BaseModel):
    """A running job that holds what the waiting one needs."""

    ref: str
    owner: str
    node: str
    gpus: list[int]
    since: float
    latest_end: float | None
    expected_end: float | None


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


class Why(BaseModel):
    state: str
    sentence_en: str
    sentence_zh: str
    starts_now: bool
    causes: list[Cause]
    nodes: list[NodeVerdict]
    position: int | None
    eta: float | None
    eta_p90: float | None = Field(None, description="nine of ten start no later")
    eta_basis: str | None = Field(None, description="now, limits, history or none")
    eta_after: str | None = Field(None, description="the job whose end makes room")
    eta_en: str = ""
    eta_zh: str = ""
    eta_why_en: str
    eta_why_zh: str
    advice_en: str = ""
    advice_zh: str = ""
    evidence: list[str] = []
    more_nodes: int = Field(0, description="nodes that are not listed because they have less")
    holders: list[CardHolder] = []
    clear: list[str] = Field([], description="what is not in the way")
    clear_en: str = ""
    clear_zh: str = ""
    suggestions: list[WhatIf] = []
    places: list[dict[str, Any]] = Field([], description="where it starts, if it starts now")


class Preview(BaseModel):
    spec: dict[str, Any]
    why: Why


class Submitted(BaseModel):
    jobs: list[Job]
    notes: list[Note]
    previews: list[Preview] = Field(description="what a dry run found")


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
    state: str | None = Field(description="after this event; null: it does not change it")


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
    nodes: list[Node] = Field(description="of nodes: those that changed, at first all")
    gone: list[str] = Field(description="of nodes: names of those that are there no more")
    reset: bool = Field(description="of hello: the place asked for is not known, it goes on now")


class Match(BaseModel):
    offset: int
    line: int
    text: str


class Matches(BaseModel):
    matches: list[Match]
    more: bool


class Card(BaseModel):
    node: str
    index: int
    model: str
    uuid: str
    memory: int
    state: str = Field(description="free, used, reserved, drained or down", examples=["free"])
    free: float
    job: str | None
    jobs: list[str]
    owner: str | None
    since: float | None


class Node(BaseModel):
    name: str
    up: bool
    drained: bool = Field(description="an admin took it out: what runs there goes on")
    labels: list[str]
    address: str
    cpus: float
    cpus_free: float
    memory: int
    memory_free: int
    gpus: list[Card]
    note: str


class NodeList(BaseModel):
    nodes: list[Node]


class CardSummary(BaseModel):
    model: str
    total: int
    free: int


class CardList(BaseModel):
    gpus: list[Card]
    summary: list[CardSummary]


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


class Goodbye(BaseModel):
    running: list[Job]


class LoginAnswer(BaseModel):
    token: str
    user: str
    must_change_password: bool


class Me(BaseModel):
    user: str
    role: str


class Version(BaseModel):
    version: str


class SecretNames(BaseModel):
    names: list[str]
