"""The rows of the store, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from danlu.spec.states import Reason, State


@dataclass(slots=True)
class JobRow:
    id: str
    owner: str
    name: str
    number: int  # owner/name-number; the store gives it on insert
    kind: str
    state: State
    spec: dict[str, Any]  # the complete JobSpec as JSON values
    queue: str
    priority: int
    submitted_at: float
    seq: int = 0  # order of submission; the store gives it on insert
    group: str | None = None
    reason: Reason | None = None
    detail: dict[str, Any] = field(default_factory=dict)  # fills the reason's text
    exit_code: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    attempt: int = 0  # number of the latest attempt
    failures: int = 0  # charged to the job's retries
    faults: int = 0  # the platform's, in a row
    held: bool = False
    array_id: str | None = None  # id of the first element; shared by all
    array_index: int | None = None

    @property
    def ref(self) -> str:
        text = f"{self.owner}/{self.name}-{self.number}"
        return text if self.array_index is None else f"{text}.{self.array_index}"


@dataclass(slots=True)
class AttemptRow:
    id: str
    job_id: str
    number: int
    state: State
    epoch: int
    places: list[dict[str, Any]]  # Place as JSON values
    created_at: float
    reason: Reason | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    started_at: float | None = None
    ended_at: float | None = None
    stop: dict[str, Any] | None = None  # who asked to end it and why; set before the engine is told
    tasks: list[dict[str, Any]] = field(default_factory=list)  # exit codes and phases at the end


@dataclass(slots=True)
class EventRow:
    job_id: str | None
    at: float
    kind: str
    actor: str
    data: dict[str, Any] = field(default_factory=dict)
    seq: int = 0  # the store gives it; strictly increasing in the order of commits


@dataclass(slots=True)
class UserRow:
    id: str
    name: str
    role: str
    password_hash: str = field(repr=False)
    created_at: float
    must_change: bool = False
    disabled: bool = False


@dataclass(slots=True)
class TokenRow:
    id: str
    user_id: str
    hash: str = field(repr=False)  # sha256 of the token; the token itself is kept nowhere
    label: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None
