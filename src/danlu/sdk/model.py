"""The shapes the server answers with. Only type checkers read this file at length."""

from __future__ import annotations

from typing import Any, TypedDict


class Job(TypedDict, total=False):
    id: str
    ref: str
    seq: int
    owner: str
    name: str
    number: int
    array_index: int | None
    kind: str
    state: str
    reason: str | None
    reason_en: str | None
    reason_zh: str | None
    advice_en: str | None
    advice_zh: str | None
    exit_code: int | None
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
    command: str
    retries_left: int
    task_count: int
    held: bool
    evidence: list[str]


class Task(TypedDict, total=False):
    index: int
    role: str
    node: str | None
    gpus: list[int]
    phase: str
    exit_code: int | None


class Attempt(TypedDict, total=False):
    number: int
    state: str
    reason: str | None
    started_at: float | None
    ended_at: float | None
    places: list[dict[str, Any]]


class JobDetail(Job, total=False):
    spec: dict[str, Any]
    attempts: list[Attempt]
    tasks: list[Task]


class Note(TypedDict):
    en: str
    zh: str


class Preview(TypedDict):
    spec: dict[str, Any]
    why: Why


class Submitted(TypedDict, total=False):
    jobs: list[Job]
    notes: list[Note]
    previews: list[Preview]  # of a dry run


class JobPage(TypedDict):
    jobs: list[Job]
    next: int | None


class Cause(TypedDict, total=False):
    kind: str
    en: str
    zh: str
    basis: str


class NodeFit(TypedDict, total=False):
    node: str
    free: Any
    need: Any
    lacks: list[str]
    holders: list[Any]


class Why(TypedDict, total=False):
    state: str
    sentence_en: str
    sentence_zh: str
    causes: list[Cause]
    nodes: list[NodeFit]
    position: int | None
    eta: float | None
    eta_why_en: str | None
    eta_why_zh: str | None
    advice_en: str | None
    advice_zh: str | None
    evidence: list[str]


class Event(TypedDict, total=False):
    seq: int
    at: float
    kind: str
    actor: str
    data: dict[str, Any]
    en: str
    zh: str


class Gpu(TypedDict, total=False):
    node: str
    index: int
    model: str
    uuid: str
    state: str
    job: str | None
    owner: str | None
    since: float | None


class Node(TypedDict, total=False):
    name: str
    up: bool
    cpus: float
    cpus_free: float
    memory: int
    memory_free: int
    gpus: list[Gpu]
    note: str | None


class GpuSummary(TypedDict):
    model: str
    total: int
    free: int


class Gpus(TypedDict):
    gpus: list[Gpu]
    summary: list[GpuSummary]


class Match(TypedDict):
    offset: int
    line: int
    text: str


class Matches(TypedDict):
    matches: list[Match]
    more: bool


class Login(TypedDict, total=False):
    token: str
    user: str
    must_change_password: bool


class Person(TypedDict, total=False):
    user: str
    role: str


class Server(TypedDict, total=False):
    version: str
    data: str
    addresses: list[str]
    engine: str
    tasks_running: int
    jobs_active: int
    jobs_queued: int
