"""What is known of each attempt: read from its folder, kept fresh by its keepers' ends."""

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
    watch: int = -1  # a pidfd, where one could be had
    tidy: bool = False  # its keeper left nothing behind
    container: str = ""  # the name of the one it runs in
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

    def view(self) -> Seen:
        return Seen(self.id, tuple(task.seen for task in self.tasks))

    @property
    def ended(self) -> bool:
        return all(task.ended for task in self.tasks)


def load(folder: str) -> Attempt | None:
    """An attempt as its folder tells. None: there is none, or it was fenced as a whole."""
    try:
        with open(f"{folder}/gang", encoding="utf-8") as file:
            gang = json.load(file)
    except (OSError, ValueError):
        return None
    tasks = [
        Task(index, str(task["node"]), container=str(task.get("container", "")))
        for index, task in enumerate(gang["tasks"])
    ]
    ports = [int(port) for task in gang["tasks"] for port in task["ports"]]
    return Attempt(os.path.basename(folder), folder, str(gang["job"]), tasks, ports)


def read_claim(folder: str, task: int) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """(claim, status) of a task; None when nobody claimed it."""
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
    """Where a task is now."""
    found = read_claim(attempt.folder, task.index)
    if found is None:
        return _unclaimed(attempt, task)
    claim, status = found
    restarted = claim["boot"] != boot
    # Of another boot nothing can be alive, whoever has that pid now.
    task.pid, task.start = (0, 0) if restarted else (int(claim["pid"]), int(claim["start"]))
    if status is None and alive(task.pid, task.start):
        return TaskSeen(task.index, Phase.RUNNING, task.node, started_at=claim["at"])
    if status is None:
        # It may have ended between the two looks.
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
        detail="the machine restarted" if restarted else "its keeper was ended from outside",
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
