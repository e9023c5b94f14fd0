"""Turns a job and its placement into a launch request for the engine."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from danlu.access.identities import Person, umask_of
from danlu.control.live_job import LiveJob
from danlu.control.settings import Settings
from danlu.control.steps import command_of, needed
from danlu.engines.api import (
    MIRRORS,
    Engine,
    HostMount,
    Identity,
    Launch,
    Origin,
    Refused,
    TaskLaunch,
    Terms,
)
from danlu.files.datasets import PREFIX, Datasets
from danlu.files.mirrors import mirror_mounts
from danlu.files.volumes import Volumes
from danlu.spec.job import JobSpec, Role, RunAs, Search, Tool, Variables
from danlu.spec.search import flat, point
from danlu.store.rows import AttemptRow

MountsOf = Callable[[Role, int], tuple[HostMount, ...]]


def launch_of(
    job: LiveJob,
    attempt: AttemptRow,
    settings: Settings,
    volumes: Volumes,
    person: Person,
    secrets: Mapping[str, str],
    places_itself: bool = False,
    datasets: Datasets | None = None,
    among: frozenset[str] | None = None,
) -> Launch:
    """Raises Refused if the owner has lost access to a volume.

    `places_itself`: whether the engine chooses the nodes, of those `among` which it will.
    """
    nodes = [place.node for place in attempt.places]
    found: dict[tuple[str, str], tuple[HostMount, ...]] = {}

    def mounts(role: Role, task: int) -> tuple[HostMount, ...]:
        if job.spec.build:  # it is root in there: no file of anybody's
            return ()
        key = (role.name, nodes[task])
        if key not in found:
            found[key] = _as_seen(role, volumes.mounts(role, person, nodes[task], among))
            if datasets is not None and not job.spec.login:
                found[key] += tuple(
                    _new(datasets.mounts(job.spec, person, nodes[task]), found[key])
                )
        return found[key]

    def with_mirrors(role: Role, task: int) -> tuple[HostMount, ...]:
        return mounts(role, task) + mirror_mounts(settings.files.data, settings.mirrors)

    identity = person.identity(job.row.group, umask_of(settings.uids, person))
    if job.spec.build:
        identity = Identity(identity.user)
    return Launch(
        attempt_id=attempt.id,
        job_id=job.id,
        epoch=attempt.epoch,
        identity=identity,
        tasks=task_launches(job, settings, secrets, attempt.number, with_mirrors),
        places=None if places_itself else attempt.places,
        installation=attempt.installation,
        terms=terms_of(job, volumes) if places_itself else Terms(),
    )


def terms_of(job: LiveJob, volumes: Volumes) -> Terms:
    spec = job.spec
    where = volumes.nodes_with(name for shape in job.shapes for name in shape.volumes)
    nodes = spec.nodes
    if where is not None:
        only = [node for node in nodes.only or sorted(where) if node in where]
        if not only:
            raise Refused("none of the nodes it may use has the volumes it needs")
        nodes = replace(nodes, only=tuple(only))
    return Terms(
        spec.name,
        spec.queue,
        spec.priority,
        spec.time_limit,
        nodes,
        job.avoid,
        spec.grace,
    )


def _new(mounts: Iterable[HostMount], own: tuple[HostMount, ...]) -> Iterator[HostMount]:
    """What the job mounts itself wins."""
    taken = {mount.target for mount in own}
    return (mount for mount in mounts if mount.target not in taken)


def _as_seen(role: Role, mounts: tuple[HostMount, ...]) -> tuple[HostMount, ...]:
    """TensorBoard only reads."""
    if not shows_curves(role):
        return mounts
    return tuple(replace(mount, read_only=True) for mount in mounts)


def shows_curves(role: Role) -> bool:
    command = role.command
    return command.run_as is RunAs.TOOL and command.words[0] == Tool.TENSORBOARD


def task_launches(
    job: LiveJob,
    settings: Settings,
    secrets: Mapping[str, str],
    attempt: int = 1,
    mounts: MountsOf = lambda role, task: (),
) -> tuple[TaskLaunch, ...]:
    spec = job.spec
    common = {
        "DANLU_JOB": job.row.ref,
        "DANLU_JOB_ID": job.id,
        "DANLU_JOB_NAME": spec.name,
        "DANLU_USER": job.row.owner,
        "DANLU_ATTEMPT": str(attempt),
    }
    if settings.mirrors.apt:
        common["DANLU_APT_MIRROR"] = settings.mirrors.apt
    if job.row.array_index is not None and spec.array is not None:
        common["DANLU_ARRAY_INDEX"] = str(job.row.array_index)
        common["DANLU_ARRAY_SIZE"] = str(len(spec.array.indexes))
    origin = _origin(job, attempt)
    if spec.search is not None:
        common |= trial_variables(spec.search, origin.point)
    foreign = spec.variables is not Variables.DANLU
    carried = None
    if spec.bundle is not None and job.carried:
        carried = "/".join(filter(None, ("/userhome", job.carried, spec.bundle.folder)))
    tasks: list[TaskLaunch] = []
    for role in spec.roles:
        values = {name: secrets[secret] for name, secret in role.secrets.items()}
        for index in range(role.count):
            tasks.append(
                TaskLaunch(
                    index=len(tasks),
                    role=role.name,
                    role_index=index,
                    command=command_of(spec, role, index),
                    resources=role.resources,
                    image=role.image,
                    env={**common, **role.env},
                    secrets=values,
                    mounts=mounts(role, len(tasks)),
                    ports=role.ports,
                    workdir=role.workdir or carried,
                    processes=role.processes,
                    stdin=spec.stdin,
                    split_output=spec.split_output,
                    log_cap=spec.log_cap or settings.defaults.log_cap,
                    origin=origin if foreign else None,
                    steps=needed(spec, role),
                    processes_limit=settings.login.processes if spec.login else None,
                    tools=role.command.run_as is RunAs.TOOL,
                    hold=spec.build,
                    offline=shows_curves(role),
                )
            )
    return tuple(tasks)


def _origin(job: LiveJob, attempt: int) -> Origin:
    row, array = job.row, job.spec.array
    point = 0
    if array is not None and row.array_index is not None:
        place = bisect_left(array.indexes, row.array_index)
        sorted_ = place < len(array.indexes) and array.indexes[place] == row.array_index
        point = place if sorted_ else array.indexes.index(row.array_index)
    return Origin(
        spec=job.spec,
        user=row.owner,
        number=row.seq,
        attempt=attempt,
        array=None if array is None else row.seq - point,
        index=row.array_index,
        point=point,
        started_at=job.attempt.created_at if job.attempt is not None else 0.0,
    )


def trial_variables(search: Search, number: int) -> dict[str, str]:
    """The parameters of one trial, as separate variables and as JSON."""
    values = point(search, number)
    text = json.dumps(values, ensure_ascii=False)
    found = {"DANLU_TRIAL": str(number), "DANLU_HPARAMS": text, "DET_HPARAMS": text}
    for name, value in flat(values).items():
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        found[f"HP_{plain}"] = value if isinstance(value, str) else json.dumps(value)
    return found


async def without_missing_datasets(engine: Engine, launch: Launch, asked: Iterable[str]) -> Launch:
    """A dataset that everybody sees, and that is gone, is no reason not to start."""
    wanted = {f"{PREFIX}{name}" for name in asked}
    extra: dict[str, set[str]] = {}
    for task, place in zip(launch.tasks, launch.places or (), strict=False):
        for mount in task.mounts:
            if mount.name.startswith(PREFIX) and mount.name not in wanted:
                extra.setdefault(place.node, set()).add(mount.source)
    gone: set[str] = set()
    for node, folders in extra.items():
        gone.update(await engine.missing_folders(node, tuple(folders)))
    if not gone:
        return launch
    tasks = (
        replace(task, mounts=tuple(mount for mount in task.mounts if mount.source not in gone))
        for task in launch.tasks
    )
    return replace(launch, tasks=tuple(tasks))


async def missing_volumes(engine: Engine, launch: Launch) -> list[str]:
    """Volumes whose folder is missing on the node; a retry would not help."""
    wanted: dict[str, dict[str, str]] = {}  # node -> folder -> volume
    for task, place in zip(launch.tasks, launch.places or (), strict=False):
        folders = wanted.setdefault(place.node, {})
        folders.update((mount.source, mount.name) for mount in task.mounts if mount.name != MIRRORS)
    found: set[str] = set()
    for node, folders in wanted.items():
        gone = await engine.missing_folders(node, tuple(folders))
        found.update(f"{folders[folder]} ({folder})" for folder in gone)
    return sorted(found)


def secret_names(spec: JobSpec) -> set[str]:
    return {name for role in spec.roles for name in role.secrets.values()}


def role_of(spec: JobSpec, task: int) -> Role:
    for role in spec.roles:
        if task < role.count:
            return role
        task -= role.count
    raise IndexError(f"the job has no task {task}")
