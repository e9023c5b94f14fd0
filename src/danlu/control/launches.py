"""From a job and its placement to what the engine is asked to run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from danlu.control.active import Active
from danlu.control.settings import Settings
from danlu.engines.api import GpuBinding, HostMount, Identity, Launch, Place, TaskLaunch
from danlu.spec.job import JobSpec, Role
from danlu.store.rows import AttemptRow


def launch_of(
    job: Active, attempt: AttemptRow, settings: Settings, secrets: Mapping[str, str]
) -> Launch:
    return Launch(
        attempt_id=attempt.id,
        job_id=job.id,
        epoch=attempt.epoch,
        identity=Identity(job.row.owner, job.row.group),
        tasks=task_launches(job, settings, secrets, attempt.number),
        places=tuple(place_of(values, job.spec) for values in attempt.places),
    )


def task_launches(
    job: Active, settings: Settings, secrets: Mapping[str, str], attempt: int = 1
) -> tuple[TaskLaunch, ...]:
    spec = job.spec
    common = {
        "DANLU_JOB": job.row.ref,
        "DANLU_JOB_ID": job.id,
        "DANLU_JOB_NAME": spec.name,
        "DANLU_USER": job.row.owner,
        "DANLU_ATTEMPT": str(attempt),
    }
    if job.row.array_index is not None and spec.array is not None:
        common["DANLU_ARRAY_INDEX"] = str(job.row.array_index)
        common["DANLU_ARRAY_SIZE"] = str(len(spec.array.indexes))
    tasks: list[TaskLaunch] = []
    for role in spec.roles:
        mounts = mounts_of(role, job.row.owner, settings)
        values = {name: secrets[secret] for name, secret in role.secrets.items()}
        for index in range(role.count):
            tasks.append(
                TaskLaunch(
                    index=len(tasks),
                    role=role.name,
                    role_index=index,
                    command=role.command,
                    resources=role.resources,
                    image=role.image,
                    env={**common, **role.env},
                    secrets=values,
                    mounts=mounts,
                    ports=role.ports,
                    workdir=role.workdir,
                    processes=role.processes,
                    stdin=spec.stdin,
                    split_output=spec.split_output,
                    log_cap=spec.log_cap or settings.defaults.log_cap,
                )
            )
    return tuple(tasks)


def make_home(settings: Settings, user: str) -> None:
    """A user's /userhome is there from the first task on, for good."""
    settings.home_of(user).mkdir(mode=0o700, parents=True, exist_ok=True)


def mounts_of(role: Role, owner: str, settings: Settings) -> tuple[HostMount, ...]:
    """The volumes every task sees, then the job's own; a job may move one to another path."""
    mounts = [HostMount("userhome", str(settings.home_of(owner)), "/userhome")]
    asked = {mount.volume for mount in role.mounts}
    for volume in settings.volumes.values():
        if volume.everywhere and volume.name not in asked:
            mounts.append(
                HostMount(volume.name, str(volume.source), volume.target, volume.read_only)
            )
    for mount in role.mounts:
        if mount.volume == "userhome":
            # Seen at a second place; /userhome stays where every task expects it.
            home = str(settings.home_of(owner))
            if mount.path != "/userhome":
                mounts.append(HostMount(mount.volume, home, mount.path, mount.read_only))
            continue
        volume = settings.volumes[mount.volume]
        read_only = volume.read_only or mount.read_only
        mounts.append(HostMount(volume.name, str(volume.source), mount.path, read_only))
    return tuple(mounts)


def missing_folders(launch: Launch) -> list[str]:
    """Volumes whose folder is not there: trying again would not bring it back."""
    mounts = {mount for task in launch.tasks for mount in task.mounts}
    return sorted(f"{m.name} ({m.source})" for m in mounts if not os.path.isdir(m.source))


def secret_names(spec: JobSpec) -> set[str]:
    return {name for role in spec.roles for name in role.secrets.values()}


def place_of(values: Mapping[str, Any], spec: JobSpec) -> Place:
    role = role_of(spec, int(values["task"]))
    cards: Sequence[int] = values["cards"]
    gpus = GpuBinding(
        indexes=tuple(cards),
        count=len(cards),
        model=role.resources.gpus.model,
        fraction=role.resources.gpus.fraction,
    )
    return Place(int(values["task"]), str(values["node"]), gpus, tuple(values["ports"]))


def role_of(spec: JobSpec, task: int) -> Role:
    for role in spec.roles:
        if task < role.count:
            return role
        task -= role.count
    raise IndexError(f"the job has no task {task}")
