"""The shapes the server answers with. Only type checkers read this file at length.

Made by `scripts/docs` from the answers of the API.
"""

from __future__ import annotations

from typing import Any, TypedDict


class Applicant(TypedDict, total=False):
    name: str
    full_name: str
    group: str | None
    note: str
    created_at: float
    address: str


class ApplicantList(TypedDict, total=False):
    requests: list[Applicant]


class Attempt(TypedDict, total=False):
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


class AuditLine(TypedDict, total=False):
    seq: int
    at: float
    actor: str
    act: str
    thing: str
    data: dict[str, Any]
    address: str
    en: str
    zh: str


class AuditPage(TypedDict, total=False):
    lines: list[AuditLine]
    next: int | None


class BinItem(TypedDict, total=False):
    id: str
    path: str
    name: str
    kind: str
    size: int
    deleted_at: float
    expires_at: float


class BinList(TypedDict, total=False):
    items: list[BinItem]
    complete: bool


class BrowserSession(TypedDict, total=False):
    user: str
    role: str
    groups: list[str]
    leads: list[str]
    scope: str
    must_change_password: bool
    csrf_token: str


class BuildAnswer(TypedDict, total=False):
    job: str
    image: str


class BundleLimits(TypedDict, total=False):
    bytes: int
    files: int
    left: int


class BundleList(TypedDict, total=False):
    bundles: list[BundleView]
    limits: BundleLimits


class BundleView(TypedDict, total=False):
    id: str
    bytes: int
    files: int
    created_at: float
    used_at: float


class Cause(TypedDict, total=False):
    kind: str
    basis: str
    en: str
    zh: str
    numbers: dict[str, Any]


class ChangedEnvironment(TypedDict, total=False):
    environment: EnvironmentView
    restarted: bool


class Cleanable(TypedDict, total=False):
    """One thing a cleaning removes, or would remove."""

    rule: str
    name: str
    bytes: int
    used_at: float | None
    disk: str
    removed: bool
    detail_en: str
    detail_zh: str


class Cleaning(TypedDict, total=False):
    at: float
    dry_run: bool
    by: str
    bytes: int
    items: list[Cleanable]


class Cluster(TypedDict, total=False):
    gpus: GpuCount
    lent: float
    drained: list[str]
    models: list[ModelCount]
    nodes: list[NodeCount]
    running: int
    waiting: int
    engines: list[EngineState]
    requests: list[UsualRequest]
    disk_writers: list[DiskWriter]


class CollectedGarbage(TypedDict, total=False):
    blobs: int
    bytes: int


class Conversion(TypedDict, total=False):
    dialect: str
    jobs: list[ConvertedJob]
    notes: list[Note]


class ConvertedJob(TypedDict, total=False):
    native: dict[str, Any]
    yaml: str


class Copy(TypedDict, total=False):
    """A copy on the fast volume of a node."""

    node: str
    volume: str
    state: str
    done: int
    total: int | None
    used_at: float | None
    detail_en: str
    detail_zh: str


class CreatedEnvironment(TypedDict, total=False):
    environment: EnvironmentView | None
    preview: Preview | None


class Curves(TypedDict, total=False):
    folders: list[str]
    job: Job | None


class Dataset(TypedDict, total=False):
    name: str
    path: str
    state: str
    volume: str
    folder: str
    everywhere: bool
    title: str
    licence: str
    how: str
    keeper: str
    bytes: int | None
    files: int | None
    fingerprint: str
    measured_at: float | None
    measuring: bool
    nodes: list[str]
    copies: list[Copy]
    proposed_by: str
    created_at: float
    decided_by: str
    decided_at: float | None
    reason: str
    usable: bool
    warning_en: str
    warning_zh: str


class DatasetList(TypedDict, total=False):
    datasets: list[Dataset]


class DeletedImages(TypedDict, total=False):
    deleted: int


class Disk(TypedDict, total=False):
    id: str
    node: str
    places: list[Place]
    size: int
    free: int
    used_percent: float
    level: str
    since: float | None
    full_at: float | None
    uses: list[Use]
    detail_en: str
    detail_zh: str


class DiskReport(TypedDict, total=False):
    disks: list[Disk]
    own: list[OwnUse]
    last_cleaning: Cleaning | None
    next_cleaning: float | None


class DiskWriter(TypedDict, total=False):
    user: str
    jobs: int
    written: int


class EarlierRun(TypedDict, total=False):
    """The run after which a job was queued again."""

    started_at: float | None
    ended_at: float
    ran: float
    reason: str | None
    reason_en: str
    reason_zh: str


class Ended(TypedDict, total=False):
    ended: int


class EngineState(TypedDict, total=False):
    name: str
    places: bool
    nodes: int
    away_since: float | None
    problem: str
    unknown: int


class EnvironmentList(TypedDict, total=False):
    environments: list[EnvironmentView]


class EnvironmentView(TypedDict, total=False):
    id: str
    owner: str
    name: str
    created_at: float
    request: dict[str, Any]
    saved_image: str | None
    shared: list[str]
    state: str
    job: Job | None
    doing_en: str
    doing_zh: str
    ends_at: float | None
    idle_since: float | None
    idle_stop_at: float | None


class Event(TypedDict, total=False):
    seq: int
    at: float
    kind: str
    actor: str
    data: dict[str, Any]
    en: str
    zh: str


class EventList(TypedDict, total=False):
    events: list[Event]


class FileEntry(TypedDict, total=False):
    name: str
    path: str
    kind: str
    size: int
    modified_at: float
    mode: str
    owner: str
    target: str | None
    target_kind: str | None


class FileList(TypedDict, total=False):
    path: str
    entries: list[FileEntry]
    offset: int
    next_offset: int | None
    total: int
    complete: bool
    reading: bool
    sort: str
    read_only: bool


class FileOperation(TypedDict, total=False):
    """Something that may take long. It runs on without the request that began it."""

    id: str
    kind: str
    state: str
    paths: list[str]
    target: str | None
    files_done: int
    bytes_done: int
    files_total: int | None
    bytes_total: int | None
    results: list[str]
    problems: list[FileProblem]
    problem_count: int
    started_at: float
    ended_at: float | None
    status: int | None
    message_en: str
    message_zh: str


class FileOperations(TypedDict, total=False):
    operations: list[FileOperation]


class FilePreview(TypedDict, total=False):
    path: str
    kind: str
    size: int
    modified_at: float
    media_type: str
    encoding: str | None
    text: str | None
    offset: int
    complete: bool
    cells: list[NotebookCell] | None
    language: str | None


class FileProblem(TypedDict, total=False):
    path: str
    status: int
    message_en: str
    message_zh: str


class FileRoot(TypedDict, total=False):
    """A volume as the file centre shows it."""

    path: str
    volume: str
    read_only: bool
    tier: str
    note: str
    total: int | None
    free: int | None
    used: int | None
    used_at: float | None
    quota: int | None
    bin: bool
    problem_en: str
    problem_zh: str


class FileRoots(TypedDict, total=False):
    roots: list[FileRoot]
    bin_days: int


class FileUsage(TypedDict, total=False):
    path: str
    size: int
    files: int
    folders: int
    children: list[UsageChild]
    complete: bool
    measured_at: float | None
    operation: str | None


class FolderQuotaList(TypedDict, total=False):
    quotas: list[FolderQuotaView]


class FolderQuotaView(TypedDict, total=False):
    """How much may be in a home, or in the folder of a group."""

    of: str
    name: str
    size: int | None
    used: int | None
    counted_at: float | None
    own: bool


class Goodbye(TypedDict, total=False):
    running: list[Job]


class Gpu(TypedDict, total=False):
    node: str
    index: int
    model: str
    uuid: str
    memory: int
    state: str
    free: float
    job: str | None
    jobs: list[str]
    owner: str | None
    since: float | None
    ends: float | None
    kept_for: str | None
    note: str
    outside: OutsideJob | None
    busy: float | None
    memory_used: int | None
    idle_since: float | None


class GpuCount(TypedDict, total=False):
    """GPUs, parts included: total = free + reserved + used + out + outside + unknown."""

    total: float
    free: float
    reserved: float
    used: float
    out: float
    outside: float
    unknown: float
    idle: float
    draining: float


class GpuHolder(TypedDict, total=False):
    """A running job that holds what the waiting one needs."""

    ref: str
    owner: str
    node: str
    gpus: list[int]
    since: float
    latest_end: float | None
    expected_end: float | None
    outside: bool


class GpuSeries(TypedDict, total=False):
    index: int
    values: dict[str, float]
    series: list[MetricSeries]


class GpuSummary(TypedDict, total=False):
    model: str
    total: int
    free: int


class Gpus(TypedDict, total=False):
    gpus: list[Gpu]
    summary: list[GpuSummary]


class Group(TypedDict, total=False):
    name: str
    note: str
    gid: int | None
    members: list[Member]
    created_at: float


class GroupList(TypedDict, total=False):
    groups: list[Group]


class GroupUsage(TypedDict, total=False):
    since: float
    whole: bool
    gpu_seconds: float
    members: list[MemberUsage]


class HandOver(TypedDict, total=False):
    jobs: int
    files: str


class Image(TypedDict, total=False):
    id: str
    name: str
    owner: str
    ready: bool
    source: str
    description: str
    digest: str
    size: int
    created_at: float
    updated_at: float
    shares: list[ImageShare]
    proposal: str
    proposal_note: str
    decided_by: str
    decided_at: float | None
    verified: str
    verified_at: float | None
    works: list[str]
    nodes: list[ImageNode]


class ImageCheck(TypedDict, total=False):
    """One thing that was tried in an image."""

    check: str
    result: str
    detail_en: str
    detail_zh: str
    digest: str
    at: float
    job: str


class ImageDetail(TypedDict, total=False):
    id: str
    name: str
    owner: str
    ready: bool
    source: str
    description: str
    digest: str
    size: int
    created_at: float
    updated_at: float
    shares: list[ImageShare]
    proposal: str
    proposal_note: str
    decided_by: str
    decided_at: float | None
    verified: str
    verified_at: float | None
    works: list[str]
    nodes: list[ImageNode]
    checks: list[ImageCheck]
    inside: ImageInside | None


class ImageInside(TypedDict, total=False):
    """What is inside an image."""

    os: str
    architecture: str
    user: str
    workdir: str
    entrypoint: list[str]
    cmd: list[str]
    env: list[str]
    labels: dict[str, str]
    history: list[ImageLayer]
    packages_state: str
    deb: list[ImagePackage]
    pip: list[ImagePackage]
    conda: list[ImagePackage]


class ImageLayer(TypedDict, total=False):
    created_by: str
    created_at: str
    size: int


class ImageList(TypedDict, total=False):
    images: list[Image]


class ImageNode(TypedDict, total=False):
    """An image on one node."""

    node: str
    state: str
    detail_en: str
    detail_zh: str
    done: int
    total: int
    at: float


class ImagePackage(TypedDict, total=False):
    name: str
    version: str


class ImageShare(TypedDict, total=False):
    kind: str
    name: str


class Invite(TypedDict, total=False):
    id: str
    begins: str
    group: str | None
    uses: int
    used: int
    created_by: str
    created_at: float
    expires_at: float | None
    note: str


class InviteList(TypedDict, total=False):
    invites: list[Invite]


class Job(TypedDict, total=False):
    id: str
    ref: str
    seq: int
    owner: str
    name: str
    number: int
    array_index: int | None
    array_seq: int | None
    kind: str
    state: str
    held: bool
    reason: str | None
    reason_en: str
    reason_zh: str
    advice_en: str
    advice_zh: str
    evidence: list[str]
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
    task_count: int
    command: str
    retries_left: int
    unknown_since: float | None
    before: EarlierRun | None
    elements: dict[str, int] | None


class JobDetail(TypedDict, total=False):
    id: str
    ref: str
    seq: int
    owner: str
    name: str
    number: int
    array_index: int | None
    array_seq: int | None
    kind: str
    state: str
    held: bool
    reason: str | None
    reason_en: str
    reason_zh: str
    advice_en: str
    advice_zh: str
    evidence: list[str]
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
    task_count: int
    command: str
    retries_left: int
    unknown_since: float | None
    before: EarlierRun | None
    elements: dict[str, int] | None
    spec: dict[str, Any]
    tasks: list[Task]
    attempts: list[Attempt]
    doing_en: str
    doing_zh: str
    idle_stop_at: float | None


class JobMetrics(TypedDict, total=False):
    since: float
    step: float
    series: list[MetricSeries]
    tasks: list[TaskUsage]


class JobPage(TypedDict, total=False):
    jobs: list[Job]
    next: str | None
    counts: dict[str, int] | None


class Login(TypedDict, total=False):
    token: str
    user: str
    must_change_password: bool


class Match(TypedDict, total=False):
    offset: int
    line: int
    text: str


class Matches(TypedDict, total=False):
    matches: list[Match]
    more: bool
    next_offset: int | None
    next_line: int | None


class Member(TypedDict, total=False):
    user: str
    leader: bool
    joined_at: float


class MemberUsage(TypedDict, total=False):
    user: str
    jobs: int
    gpu_seconds: float
    days: list[float]


class Merged(TypedDict, total=False):
    jobs: int
    queue: Queue


class MetricSeries(TypedDict, total=False):
    """One value for each step; null where nothing was measured."""

    name: str
    unit: str
    mean: list[float | None]
    min: list[float | None] | None
    max: list[float | None] | None


class ModelCount(TypedDict, total=False):
    total: float
    free: float
    reserved: float
    used: float
    out: float
    outside: float
    unknown: float
    idle: float
    draining: float
    model: str


class NewInvite(TypedDict, total=False):
    id: str
    begins: str
    group: str | None
    uses: int
    used: int
    created_by: str
    created_at: float
    expires_at: float | None
    note: str
    code: str


class NewToken(TypedDict, total=False):
    id: str
    kind: str
    label: str
    scope: str
    created_at: float
    expires_at: float | None
    last_used_at: float | None
    address: str
    current: bool
    token: str


class Node(TypedDict, total=False):
    name: str
    up: bool
    drained: bool
    drain_reason: str
    labels: list[str]
    address: str
    cpus: float
    cpus_free: float
    memory: int
    memory_free: int
    gpus: list[Gpu]
    note: str
    note_en: str
    note_zh: str
    engine: str
    unknown_since: float | None


class NodeCount(TypedDict, total=False):
    total: float
    free: float
    reserved: float
    used: float
    out: float
    outside: float
    unknown: float
    idle: float
    draining: float
    node: str


class NodeFit(TypedDict, total=False):
    node: str
    free: int
    need: int
    cpus_free: float
    memory_free: int
    fits: bool
    lacks: list[str]
    holders: list[str]


class NodeList(TypedDict, total=False):
    nodes: list[Node]


class NodeMetrics(TypedDict, total=False):
    since: float
    step: float
    values: dict[str, float]
    series: list[MetricSeries]
    gpus: list[GpuSeries]


class Note(TypedDict, total=False):
    en: str
    zh: str
    key: str
    line: int | None


class NotebookCell(TypedDict, total=False):
    kind: str
    source: str
    number: int | None
    texts: list[str]
    images: list[str]


class Offered(TypedDict, total=False):
    id: str
    bytes: int
    files: int
    missing: list[int]
    ready: bool


class OpenDoor(TypedDict, total=False):
    url: str
    scheme: str
    host: str
    port: int
    path: str
    expires_in: float


class OutsideJob(TypedDict, total=False):
    """Work that no Danlu has started, such as a job of somebody who uses `sbatch`."""

    engine: str
    id: str
    user: str
    name: str


class OwnUse(TypedDict, total=False):
    """What the caller's own folders take."""

    kind: str
    name: str
    path: str
    bytes: int | None
    files: int | None
    counted_at: float | None


class Person(TypedDict, total=False):
    user: str
    role: str
    groups: list[str]
    leads: list[str]
    scope: str
    must_change_password: bool


class Place(TypedDict, total=False):
    """A watched folder on a disk."""

    kind: str
    name: str
    path: str


class Placement(TypedDict, total=False):
    task: int
    node: str
    gpus: list[int]
    share: int
    ports: list[int]


class Preview(TypedDict, total=False):
    spec: dict[str, Any]
    why: Why
    script: str


class Queue(TypedDict, total=False):
    name: str
    engine: str
    nodes: list[str]
    kinds: list[str]
    order: str
    place: str
    backfill: bool
    max_wait: float | None
    half_life: float
    lend: bool
    reclaim: bool
    consolidate: bool
    preempt: str
    priority: int
    weight: float | None
    declared: str
    merged: list[str]
    waiting: int
    running: int


class QueueList(TypedDict, total=False):
    queues: list[Queue]


class QuotaList(TypedDict, total=False):
    quotas: list[QuotaView]


class QuotaView(TypedDict, total=False):
    of: str
    name: str
    gpus: float | None
    models: dict[str, float]
    cpus: float | None
    memory: int | None
    guaranteed: float
    declared: str
    used_gpus: float
    used_models: dict[str, float]
    used_cpus: float
    used_memory: int
    warnings: list[QuotaWarning]


class QuotaWarning(TypedDict, total=False):
    en: str
    zh: str


class RegistryImage(TypedDict, total=False):
    repository: str
    tag: str
    digest: str
    type: str
    size: int
    at: float
    used: float


class RegistryImages(TypedDict, total=False):
    images: list[RegistryImage]


class RegistryRepositories(TypedDict, total=False):
    repositories: list[RegistryRepository]


class RegistryRepository(TypedDict, total=False):
    name: str
    tags: int
    size: int
    pushed_at: float


class RegistryStatus(TypedDict, total=False):
    address: str
    tls: bool
    read_only: bool
    mirrors: list[str]
    usage: list[RegistryUsage]
    total: int
    free: int


class RegistryUsage(TypedDict, total=False):
    kind: str
    name: str
    used: int
    quota: int | None


class Save(TypedDict, total=False):
    """A container being saved as an image, or what became of it."""

    id: str
    job: str
    environment: str
    owner: str
    image: str
    state: str
    step_en: str
    step_zh: str
    done: int
    total: int
    stop: bool
    created_at: float
    ended_at: float | None
    digest: str
    size: int
    error_en: str
    error_zh: str


class SaveEstimate(TypedDict, total=False):
    """What saving would take, before it is begun."""

    changed: int
    files: int
    room: int | None
    kept_in: str
    problem_en: str
    problem_zh: str


class SaveList(TypedDict, total=False):
    saves: list[Save]


class SecretNames(TypedDict, total=False):
    names: list[str]


class Server(TypedDict, total=False):
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
    disk_full_since: float | None
    disk_low_since: float | None
    disk_free: int | None
    ssh_port: int | None
    ssh_host_key: str | None


class ShownCurves(TypedDict, total=False):
    job: Job
    folders: list[str]


class SignedUp(TypedDict, total=False):
    user: str
    status: str


class SnapshotFile(TypedDict, total=False):
    danlu: str
    version: int
    snapshot: dict[str, Any]
    policy: dict[str, Any]


class SshKey(TypedDict, total=False):
    id: str
    label: str
    fingerprint: str
    key: str
    created_at: float


class SshKeyList(TypedDict, total=False):
    keys: list[SshKey]


class StorageRequest(TypedDict, total=False):
    id: str
    owner: str
    name: str
    kind: str
    address: str
    note: str
    state: str
    created_at: float
    decided_by: str
    reason: str


class StorageRequestList(TypedDict, total=False):
    requests: list[StorageRequest]


class StreamEvent(TypedDict, total=False):
    """One message of the stream; which keys it has depends on its type."""

    type: str
    seq: int
    at: float
    kind: str
    actor: str
    data: dict[str, Any]
    en: str
    zh: str
    job: StreamJob
    nodes: list[Node]
    gone: list[str]
    reset: bool


class StreamJob(TypedDict, total=False):
    id: str
    ref: str
    owner: str
    name: str
    group: str | None
    state: str | None


class Submitted(TypedDict, total=False):
    jobs: list[Job]
    notes: list[Note]
    previews: list[Preview]


class Task(TypedDict, total=False):
    index: int
    role: str
    role_index: int
    node: str | None
    gpus: list[int]
    ports: list[int]
    phase: str
    exit_code: int | None
    signal: int | None


class TaskUsage(TypedDict, total=False):
    task: int
    at: float
    values: dict[str, float]


class Ticket(TypedDict, total=False):
    ticket: str
    expires_in: float


class Token(TypedDict, total=False):
    id: str
    kind: str
    label: str
    scope: str
    created_at: float
    expires_at: float | None
    last_used_at: float | None
    address: str
    current: bool


class TokenList(TypedDict, total=False):
    tokens: list[Token]


class UsageChild(TypedDict, total=False):
    name: str
    kind: str
    size: int
    files: int


class Use(TypedDict, total=False):
    """Who or what takes room on a disk; `counted_at` says how old the number is."""

    kind: str
    name: str
    bytes: int
    files: int | None
    counted_at: float


class User(TypedDict, total=False):
    name: str
    full_name: str
    role: str
    status: str
    groups: list[str]
    leads: list[str]
    uid: int | None
    gid: int | None
    must_change_password: bool
    created_at: float


class UserList(TypedDict, total=False):
    users: list[User]


class UserWithPassword(TypedDict, total=False):
    name: str
    full_name: str
    role: str
    status: str
    groups: list[str]
    leads: list[str]
    uid: int | None
    gid: int | None
    must_change_password: bool
    created_at: float
    password: str


class UsualRequest(TypedDict, total=False):
    """What tasks often ask for."""

    gpus: float
    model: str | None
    cpus: float
    memory: int
    count: int


class Version(TypedDict, total=False):
    version: str
    demo: bool


class Volume(TypedDict, total=False):
    name: str
    path: str
    read_only: bool
    everywhere: bool
    nodes: list[str]
    tier: str
    note: str
    declared: str
    usable: bool
    source: str | None
    groups: list[str] | None
    users: list[str] | None
    warning_en: str
    warning_zh: str
    read_speed: float | None
    write_speed: float | None
    measured_at: float | None


class VolumeList(TypedDict, total=False):
    volumes: list[Volume]


class WaitingJob(TypedDict, total=False):
    place: int | None
    id: str
    ref: str
    owner: str
    queue: str
    tasks: int
    gpus: int
    gpu_model: str | None
    submitted_at: float
    eta: float | None
    eta_p90: float | None
    eta_basis: str | None
    cause: str | None
    cause_en: str
    cause_zh: str


class WaitingList(TypedDict, total=False):
    at: float
    waiting: int
    jobs: list[WaitingJob]


class WhatIf(TypedDict, total=False):
    """A change that was tried by deciding again with it."""

    kind: str
    effect: str
    basis: str
    en: str
    zh: str
    effect_en: str
    effect_zh: str
    numbers: dict[str, Any]
    nodes: list[str]
    at: float | None
    change: dict[str, Any]


class Why(TypedDict, total=False):
    state: str
    sentence_en: str
    sentence_zh: str
    starts_now: bool
    causes: list[Cause]
    nodes: list[NodeFit]
    position: int | None
    eta: float | None
    eta_p90: float | None
    eta_basis: str | None
    eta_after: str | None
    eta_en: str
    eta_zh: str
    eta_why_en: str
    eta_why_zh: str
    advice_en: str
    advice_zh: str
    evidence: list[str]
    more_nodes: int
    holders: list[GpuHolder]
    clear: list[str]
    clear_en: str
    clear_zh: str
    suggestions: list[WhatIf]
    places: list[Placement]
    before: EarlierRun | None
