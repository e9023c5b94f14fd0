"""The rows of the store, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from danlu.spec.placement import Placement
from danlu.spec.states import Reason, State


@dataclass(frozen=True, slots=True)
class Sight:
    """Whose jobs a restricted principal may see."""

    owner: str
    groups: tuple[str, ...] = ()


@dataclass(slots=True)
class JobRow:
    id: str
    owner: str
    name: str
    number: int  # owner/name-number; assigned on insert
    kind: str
    state: State
    spec: dict[str, Any]  # the complete JobSpec as JSON values
    queue: str
    priority: int
    submitted_at: float
    seq: int = 0  # order of submission; assigned on insert
    group: str | None = None
    reason: Reason | None = None
    detail: dict[str, Any] = field(default_factory=dict)  # values for the reason's text
    exit_code: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    attempt: int = 0  # number of the latest attempt
    failures: int = 0  # failures charged to the job's retries
    faults: int = 0  # consecutive platform faults
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
    places: tuple[Placement, ...]  # in the order of the tasks
    created_at: float
    reason: Reason | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    started_at: float | None = None
    ended_at: float | None = None
    stop: dict[str, Any] | None = (
        None  # who asked to end it and why; set before the engine is told to
    )
    tasks: list[dict[str, Any]] = field(default_factory=list)  # exit codes and phases at the end
    engine: str = ""  # the name of the engine that runs it
    handle: str = ""  # the engine's own id for it; empty until the launch was answered
    installation: str = ""  # the id of the installation that launched it


@dataclass(slots=True)
class EventRow:
    job_id: str | None
    at: float
    kind: str
    actor: str
    data: dict[str, Any] = field(default_factory=dict)
    seq: int = 0  # assigned on insert; strictly increasing in commit order


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
    uid: int | None = None  # uid on the machine; none if the server is not root
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
    """A request for an account by someone without an invitation."""

    id: str
    name: str
    full_name: str
    password_hash: str = field(repr=False)
    group: str | None  # as requested; no such group may exist
    note: str
    created_at: float
    address: str


@dataclass(slots=True)
class InviteRow:
    id: str
    hash: str = field(repr=False)  # sha256 of the code, which is not stored
    hint: str  # the first characters of the code
    group_id: str | None
    created_by: str
    created_at: float
    expires_at: float | None
    uses: int
    used: int = 0
    note: str = ""
    group: str | None = None  # its name; filled in on reading


@dataclass(slots=True)
class AuditRow:
    at: float
    actor: str
    act: str
    thing: str
    data: dict[str, Any] = field(default_factory=dict)
    address: str = ""
    seq: int = 0  # assigned on insert


@dataclass(slots=True)
class VolumeRow:
    """A volume an admin declared while the server ran."""

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
    """A scheduling rule an admin set while the server ran."""

    kind: str  # see control.rulebook.Kind
    name: str
    content: dict[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class SshKeyRow:
    id: str
    owner: str
    label: str
    fingerprint: str
    line: str  # kind and key, without comment
    created_at: float


@dataclass(frozen=True, slots=True)
class DoorTokenRow:
    """What a browser shows at the door of a job."""

    hash: str = field(repr=False)
    token_id: str  # the sign-in it came from
    user_id: str
    job_id: str
    task: int
    target: str
    address: str  # where it was made from
    created_at: float
    expires_at: float


@dataclass(slots=True)
class EnvironmentRow:
    id: str
    owner: str
    name: str
    created_at: float
    request: dict[str, Any]  # keys of a native job file, without name and command
    shared: list[str] = field(default_factory=list)  # names of those who may enter it, too
    job_id: str | None = None  # its latest job
    saved_image: str | None = None  # what it starts from instead of the image in `request`

    @property
    def ref(self) -> str:
        return f"{self.owner}/{self.name}"


@dataclass(frozen=True, slots=True)
class ImageShareRow:
    """Somebody who may pull a repository of the registry that is not theirs."""

    repository: str
    kind: str  # user, group, all
    name: str  # empty for all
    created_at: float
    created_by: str


@dataclass(slots=True)
class ImageRow:
    """An image that people can choose."""

    id: str
    name: str  # as jobs name it
    owner: str
    created_at: float
    updated_at: float
    ready: bool = False
    source: str = "added"  # added, saved, built, pushed
    description: str = ""
    digest: str = ""
    size: int = 0
    proposal: str = ""  # proposed, accepted, rejected
    proposal_note: str = ""
    decided_by: str = ""
    decided_at: float | None = None
    inside: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImageCheckRow:
    image: str  # the id of an ImageRow
    digest: str
    check: str  # lab, code, ssh, gpu
    result: str  # ok, failed, skipped, running
    at: float
    job: str = ""  # its reference
    detail_en: str = ""
    detail_zh: str = ""


@dataclass(slots=True)
class ImageSaveRow:
    """A container being saved as an image, or what became of it."""

    id: str
    job_id: str
    job: str  # its reference
    attempt_id: str
    task: int
    owner: str  # who saves it
    image: str
    created_at: float
    environment: str = ""  # the id of its environment
    description: str = ""
    stop: bool = False  # its command is ended first
    state: str = "waiting"  # saving, saved, failed, cancelled, interrupted
    done: int = 0
    total: int = 0
    ended_at: float | None = None
    digest: str = ""
    size: int = 0
    error_en: str = ""
    error_zh: str = ""


@dataclass(slots=True)
class TokenRow:
    id: str
    user_id: str
    hash: str = field(repr=False)  # sha256 of the token, which is not stored
    label: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None
    scope: str = "all"  # or "read"
    kind: str = "session"  # or "browser", "personal", "machine"
    address: str = ""  # address it was created from


@dataclass(slots=True)
class BundleRow:
    """A folder somebody brought along."""

    owner: str
    id: str
    bytes: int
    files: int
    created_at: float
    used_at: float


@dataclass(slots=True)
class BundleFolderRow:
    """A working folder made from a bundle."""

    job_id: str
    owner: str
    bundle: str
    folder: str
    made_at: float


@dataclass(slots=True)
class DatasetRow:
    name: str
    volume: str
    folder: str
    everywhere: bool
    title: str
    licence: str
    how: str
    keeper: str
    state: str  # proposed, ready, rejected
    bytes: int | None
    files: int | None
    fingerprint: str
    measured_at: float | None
    proposed_by: str
    created_at: float
    decided_by: str
    reason: str
    decided_at: float | None = None


@dataclass(slots=True)
class CopyRow:
    """A copy of a dataset on the fast volume of a node."""

    dataset: str
    node: str
    volume: str
    folder: str
    state: str  # copying, ready, failed
    bytes: int
    used_at: float | None
    detail_en: str
    detail_zh: str


@dataclass(slots=True)
class SizeRow:
    """What a folder held when it was last counted."""

    kind: str
    name: str
    bytes: int
    files: int
    counted_at: float


@dataclass(slots=True)
class SpeedRow:
    """How fast a volume was, in bytes per second."""

    volume: str
    read: float | None
    write: float | None
    detail: str
    measured_at: float


@dataclass(slots=True)
class StorageRequestRow:
    """Storage of their own that somebody asked for as a volume."""

    id: str
    owner: str
    name: str
    kind: str  # nfs, s3, webdav, other
    address: str
    options: str  # of the volume it became, as JSON
    note: str
    state: str  # open, approved, rejected
    created_at: float
    decided_by: str
    reason: str
