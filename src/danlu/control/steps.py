"""Batch scripts: the script runs in the first task, and the others wait for its `srun`.

The engine copies the programs for this (danlu/steps) to the tasks that need them.
"""

from __future__ import annotations

from danlu.spec.job import NO_FILES, Command, JobSpec, Processes, Role, RunAs, Variables

_RUN = 'exec "$DANLU_VOLUME_STEPS/bin/$0" "$@"'


def needed(spec: JobSpec, role: Role) -> bool:
    return (
        spec.variables is Variables.SLURM
        or role.processes is Processes.BATCH
        or spec.files != NO_FILES
    )


def command_of(spec: JobSpec, role: Role, index: int) -> Command:
    """The command of a task in this role."""
    if not needed(spec, role) or role.command.run_as is RunAs.TOOL:
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
