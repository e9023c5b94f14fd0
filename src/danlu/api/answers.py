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


class JobList(BaseModel):
    jobs: list[Job]
    next: int | None = Field(description="pass as `before` for the next page; null: no more")


class Note(BaseModel):
    en: str
    zh: str


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


class Why(BaseModel):
    state: str
    sentence_en: str
    sentence_zh: str
    starts_now: bool
    causes: list[Cause]
    nodes: list[NodeVerdict]
    position: int | None
    eta: float | None
    eta_why_en: str
    eta_why_zh: str
    advice_en: str = ""
    advice_zh: str = ""
    evidence: list[str] = []


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
    state: str = Field(examples=["free", "used", "down"])
    free: float
    job: str | None
    jobs: list[str]
    owner: str | None
    since: float | None


class Node(BaseModel):
    name: str
    up: bool
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
