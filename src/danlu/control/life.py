"""The stages of an attempt and the allowed transitions between them.

A pending stop request and an unreachable engine are tracked separately, since both are possible
in any stage.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum

from danlu.engines.api import Phase, TaskSeen
from danlu.spec.states import State

log = logging.getLogger("danlu.control")


class Stage(StrEnum):
    PLACED = "placed"  # resources are reserved, or the engine will choose them
    PREPARING = "preparing"  # its images are being pulled
    LAUNCHING = "launching"  # sent to the engine, which may or may not have received it
    LAUNCHED = "launched"  # the engine has it but has not reported its state
    PENDING = "pending"  # in the engine's own queue
    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"  # nothing of it runs any more or will run
    CONCLUDED = "concluded"  # its outcome is on disk


NEXT: Mapping[Stage, frozenset[Stage]] = {
    Stage.PLACED: frozenset({Stage.PREPARING, Stage.LAUNCHED, Stage.RUNNING}),
    Stage.PREPARING: frozenset({Stage.LAUNCHING, Stage.ENDED}),
    Stage.LAUNCHING: frozenset({Stage.LAUNCHED, Stage.ENDED}),
    Stage.LAUNCHED: frozenset({Stage.PENDING, Stage.STARTING, Stage.RUNNING, Stage.ENDED}),
    Stage.PENDING: frozenset({Stage.STARTING, Stage.RUNNING, Stage.ENDED}),
    Stage.STARTING: frozenset({Stage.PENDING, Stage.RUNNING, Stage.ENDED}),
    Stage.RUNNING: frozenset({Stage.ENDED}),
    Stage.ENDED: frozenset({Stage.CONCLUDED}),
    Stage.CONCLUDED: frozenset(),
}
WITH_ENGINE = frozenset({Stage.LAUNCHED, Stage.PENDING, Stage.STARTING, Stage.RUNNING})
_PHASES = {Phase.PENDING: Stage.PENDING, Phase.STARTING: Stage.STARTING}

strict = False
"""Set in tests, where an invalid transition fails. A server logs it and goes on."""


class IllegalStep(RuntimeError):
    pass


def check(before: Stage, after: Stage) -> None:
    if after in NEXT[before]:
        return
    problem = f"an attempt went from {before} to {after}"
    if strict:
        raise IllegalStep(problem)
    log.error(problem)


def state_of(stage: Stage, stopping: bool) -> State:
    """The job state shown for an attempt in this stage."""
    if stopping:
        return State.STOPPING
    if stage is Stage.PENDING:
        return State.QUEUED
    return State.RUNNING if stage is Stage.RUNNING else State.STARTING


def stage_of(tasks: tuple[TaskSeen, ...]) -> Stage:
    """The stage of a gang the engine has: running as soon as one of its tasks is."""
    for task in tasks:
        if task.phase is Phase.RUNNING or task.started_at is not None:
            return Stage.RUNNING
    phases = {task.phase for task in tasks}
    return next((stage for phase, stage in _PHASES.items() if phase in phases), Stage.ENDED)
