"""Batch scripts: the script runs in the first task, and the others wait for its `srun`.

The programs that do this (danlu/steps) are mounted into the tasks that need them, read-only.
"""

from __future__ import annotations

import os

import danlu.steps
from danlu.engines.api import HostMount
from danlu.spec.job import NO_FILES, Command, JobSpec, Processes, Role, RunAs, Variables

NAME = "steps"
TARGET = "/opt/danlu/lib/danlu/steps"
SOURCE = os.path.dirname(os.path.abspath(danlu.steps.__file__))

_RUN = 'exec "$DANLU_VOLUME_STEPS/bin/$0" "$@"'


def needed(spec: JobSpec, role: Role) -> bool:
    return (
        spec.variables is Variables.SLURM
        or role.processes is Processes.BATCH
        or spec.files != NO_FILES
    )


def extra_mounts(spec: JobSpec, role: Role) -> tuple[HostMount, ...]:
    return (HostMount(NAME, SOURCE, TARGET, True),) if needed(spec, role) else ()


def command_of(spec: JobSpec, role: Role, index: int) -> Command:
    """What a task of a role runs."""
    if not needed(spec, role):
        return role.command
    if role.processes is Processes.BATCH and index > 0:
        return Command(RunAs.ARGV, ("/bin/sh", "-c", _RUN, "danlu-node"))
    return Command(RunAs.ARGV, ("/bin/sh", "-c", _RUN, "danlu-batch", *_files(spec), *_words(role)))


def _files(spec: JobSpec) -> list[str]:
    files = spec.files
    options: list[str] = []
    for name, value in (("out", files.output), ("err", files.error), ("in", files.input)):
        if value is not None:
            options.append(f"--{name}={value}")
    if files.append:
        options.append("--append")
    return options


def _words(role: Role) -> list[str]:
    command = role.command
    if command.run_as is RunAs.SHELL:
        return ["--shell", command.words[0]]
    if command.run_as is RunAs.SCRIPT:
        return ["--script", *command.words]
    return ["--", *command.words]
