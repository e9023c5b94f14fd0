"""Path of danlu/steps on this machine; mounted read-only into the tasks that need it."""

from __future__ import annotations

import os
from dataclasses import replace

import danlu
from danlu.engines.api import HostMount, Launch, TaskLaunch

_SOURCE = os.path.join(os.path.dirname(os.path.abspath(danlu.__file__)), "steps")
MOUNT = HostMount("steps", _SOURCE, "/opt/danlu/lib/danlu/steps", read_only=True)


def with_steps(launch: Launch) -> Launch:
    if not any(task.steps for task in launch.tasks):
        return launch
    return replace(launch, tasks=tuple(map(_with_mount, launch.tasks)))


def _with_mount(task: TaskLaunch) -> TaskLaunch:
    return replace(task, mounts=(*task.mounts, MOUNT)) if task.steps else task
