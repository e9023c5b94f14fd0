"""The rows of the store, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from danlu.spec.states import Reason, State


@dataclass(frozen=True, slots=True)
class Sight:
    """Whose jobs somebody may see who may not see all."""

    owner: str
    groups: tuple[str, ...] = ()


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
    status: str = "active"  # or "disabled", "removed"
    full_name: str = ""
    uid: int | None = None  # on the machine; none where the server is not root
    gid: int | None = None


@dataclass(slots=True)
class GroupRow:
    id: str
    name: str
    created_at: float
    gid: int | None = None
    note: str = ""
    status: str = "active"  # or "removed"


@dataclass(slots=True)
class MemberRow:
    user: str  # the name
    group: str  # the name
    leader: bool
    joined_at: float


@dataclass(slots=True)
class RequestRow:
    """Somebody without an invitation asks to be let in."""

    id: str
    name: str
    full_name: str
    password_hash: str = field(repr=False)
    group: str | None  # as it was asked for; there may be none of that name
    note: str
    created_at: float
    address: str


@dataclass(slots=True)
class InviteRow:
    id: str
    hash: str = field(repr=False)  # sha256 of the code; the code itself is kept nowhere
    hint: str  # how the code begins
    group_id: str | None
    created_by: str
    created_at: float
    expires_at: float | None
    uses: int
    used: int = 0
    note: str = ""
    group: str | None = None  # its name; given by the store on reading


@dataclass(slots=True)
class AuditRow:
    at: float
    actor: str
    act: str
    thing: str
    data: dict[str, Any] = field(default_factory=dict)
    address: str = ""
    seq: int = 0  # the store gives it


@dataclass(slots=True)
class VolumeRow:
    """A volume the admin declared while the server ran."""

    name: str
    source: str
    target: str
    read_only: bool
    everywhere: bool
    groups: list[str]
    users: list[str]
    nodes: list[str]
    tier: str
    note: str
    created_at: float


@dataclass(slots=True)
class RuleRow:
    """A rule of scheduling that an admin set while the server ran."""

    kind: str  # see control.rulebook.Kind
    name: str
    content: dict[str, Any]
    at: float


@dataclass(slots=True)
class TokenRow:
    id: str
    user_id: str
    hash: str = field(repr=False)  # sha256 of the token; the token itself is kept nowhere
    label: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None
    scope: str = "all"  # or "read"
    kind: str = "session"  # or "personal", "machine"
    address: str = ""  # where it was made from
