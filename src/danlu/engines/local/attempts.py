"""The state of each attempt, read from its folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from danlu.engines.api import Phase, Seen, TaskSeen
from danlu.engines.local.keeper import linux, record

ENDED = frozenset({Phase.EXITED, Phase.LOST, Phase.ABSENT})
INTERRUPTED = "launch was interrupted"


@dataclass(slots=True)
class Task:
    index: int
    node: str
    pid: int = 0
    start: int = 0
    watch: int = -1  # a pidfd, if available
    tidy: bool = False  # its keeper left nothing behind
    container: str = ""  # name of its container
    gpus: tuple[int, ...] = ()  # indexes on its node
    shared: bool = False  # it has only a share of each
    seen: TaskSeen = field(init=False)

    def __post_init__(self) -> None:
        self.seen = TaskSeen(self.index, Phase.STARTING, self.node)

    @property
    def ended(self) -> bool:
        return self.seen.phase in ENDED


@dataclass(slots=True)
class Attempt:
    id: str
    folder: str
    job_id: str
    tasks: list[Task]
    ports: list[int]
    installation: str = ""

    def view(self) -> Seen:
        return Seen(self.id, tuple(task.seen for task in self.tasks), self.id, self.installation)

    @property
    def ended(self) -> bool:
        return all(task.ended for task in self.tasks)


def load(folder: str) -> Attempt | None:
    """Reads an attempt from its folder. None: it does not exist or was fenced off."""
    try:
        with open(f"{folder}/gang", encoding="utf-8") as file:
            gang = json.load(file)
    except (OSError, ValueError):
        return None
    tasks = [
        Task(
            index,
            str(task["node"]),
            container=str(task.get("container", "")),
            gpus=tuple(task.get("gpus", ())),
            shared=bool(task.get("shared")),
        )
        for index, task in enumerate(gang["tasks"])
    ]
    ports = [int(port) for task in gang["tasks"] for port in task["ports"]]
    name, owner = os.path.basename(folder), str(gang.get("installation", ""))
    return Attempt(name, folder, str(gang["job"]), tasks, ports, owner)


def read_claim(folder: str, task: int) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """(claim, status) of a task; None if it was never claimed."""
    try:
        fd = os.open(record.claim_path(folder, task), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        claim = record.read(fd, record.CLAIM)
        return None if claim is None else (claim, record.read(fd, record.STATUS))
    finally:
        os.close(fd)


def alive(pid: int, start: int) -> bool:
    return pid > 0 and start > 0 and linux.start_time(pid) == start


def look(attempt: Attempt, task: Task, boot: str) -> TaskSeen:
    """The current phase of a task."""
    found = read_claim(attempt.folder, task.index)
    if found is None:
        return _unclaimed(attempt, task)
    claim, status = found
    restarted = claim["boot"] != boot
    # Nothing survives a reboot: the pid now belongs to another process.
    task.pid, task.start = (0, 0) if restarted else (int(claim["pid"]), int(claim["start"]))
    if status is None and alive(task.pid, task.start):
        return TaskSeen(task.index, Phase.RUNNING, task.node, started_at=claim["at"])
    if status is None:
        # It may have ended between the two checks.
        found = read_claim(attempt.folder, task.index)
        status = found[1] if found else None
    if status is not None:
        task.tidy = bool(status.get("tidy"))
        return _exited(task, claim, status)
    return TaskSeen(
        task.index,
        Phase.LOST,
        task.node,
        hint="machine_restarted" if restarted else "",
        detail="the machine restarted" if restarted else "its keeper was killed",
        started_at=claim["at"],
    )


def _unclaimed(attempt: Attempt, task: Task) -> TaskSeen:
    if alive(task.pid, task.start):
        return TaskSeen(task.index, Phase.STARTING, task.node)
    if record.unclaimed(attempt.folder, task.index) and not task.pid:
        return TaskSeen(task.index, Phase.STARTING, task.node)
    return TaskSeen(task.index, Phase.LOST, task.node, detail=INTERRUPTED)


def _exited(task: Task, claim: dict[str, Any], status: dict[str, Any]) -> TaskSeen:
    signal = status.get("signal")
    return TaskSeen(
        task.index,
        Phase.EXITED,
        task.node,
        exit_code=128 + signal if signal else int(status["code"]),
        signal=signal,
        hint=str(status.get("hint", "")),
        detail=str(status.get("detail", "")),
        started_at=claim["at"],
        ended_at=status["at"],
    )
