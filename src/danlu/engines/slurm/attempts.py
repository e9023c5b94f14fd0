"""Attempts on Slurm: what this machine remembers of them, and what became of them.

Remembered is how to find an attempt (whose it is, its token), in one small file each. Whether it
runs and how it ended is in the user's records on the shared folder; Slurm is the second witness.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from danlu.engines.api import Phase, Seen, TaskSeen
from danlu.engines.slurm.node.worker import FENCED
from danlu.engines.slurm.queue import Entry
from danlu.engines.slurm.users import User
from danlu.spec.units import format_duration

ENDED = frozenset({Phase.EXITED, Phase.LOST, Phase.ABSENT})
_TERM, _KILL = 15, 9
_LONGEST = 500
_HINTS = {
    "TIMEOUT": "time_limit",
    "DEADLINE": "time_limit",
    "OUT_OF_MEMORY": "out_of_memory",
    "CANCELLED": "stopped_outside",
}
_WORDS = {
    "OUT_OF_MEMORY": "ran out of memory",
    "NODE_FAIL": "node failed",
    "BOOT_FAIL": "node did not boot",
    "PREEMPTED": "preempted by Slurm",
    "CANCELLED": "cancelled in Slurm, not through Danlu",
    "REVOKED": "revoked by Slurm",
    "": "gone from Slurm",
}


@dataclass(slots=True)
class Attempt:
    id: str
    user: User
    job_id: str
    count: int
    installation: str
    token: str
    handle: str = ""
    tasks: tuple[TaskSeen, ...] = ()
    submitted: float = 0.0  # monotonic; 0: not in this life, or still in doubt
    stopping: bool = False
    over_since: float | None = None  # monotonic: since when Slurm says it is over
    doors: dict[int, tuple[str, int]] = field(default_factory=dict)  # task -> host and port
    opened: set[int] = field(default_factory=set)  # tasks whose door is on file
    launching: bool = False
    waits: bool = False  # in Slurm's queue, when it was last asked
    killed: set[int] = field(default_factory=set)  # tasks that a signal ended, seen once

    def __post_init__(self) -> None:
        if not self.tasks:
            self.tasks = tuple(TaskSeen(i, Phase.PENDING) for i in range(self.count))

    @property
    def ended(self) -> bool:
        return all(task.phase in ENDED for task in self.tasks)

    def view(self) -> Seen:
        return Seen(self.id, self.tasks, self.handle or self.id, self.installation)

    def values(self) -> dict[str, Any]:
        return self.user.values() | {
            "job": self.job_id,
            "tasks": self.count,
            "installation": self.installation,
            "token": self.token,
        }


def is_of(entry: Entry, attempt: Attempt) -> bool:
    """Comments are their owners' words, so that anybody may name anybody's attempt."""
    return entry.attempt == attempt.id and entry.uid == attempt.user.number


def make_whole(path: Path, data: bytes) -> None:
    """A file with these bytes, or none. Raises FileExistsError."""
    try:
        fd = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:  # not every file system has files without names
        draft = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
        draft.write_bytes(data)
        draft.chmod(0o600)
        try:
            os.link(draft, path)
        finally:
            draft.unlink()
        return
    with open(fd, "wb", buffering=0) as file:
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        # With a folder, of which an absolute path has no need, links are really followed.
        os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True)


class Index:
    """One file for each attempt in the engine's data folder."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "attempts"
        self._epoch = data / "epoch"

    def start(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _path(self, attempt_id: str) -> Path:
        return self._folder / attempt_id

    def add(self, attempt_id: str, values: Mapping[str, Any]) -> bool:
        """False: there is one already."""
        try:
            make_whole(self._path(attempt_id), json.dumps(values).encode())
        except FileExistsError:
            return False
        return True

    def fence(self, attempt_id: str) -> None:
        """It can never be launched, or launched again."""
        draft = self._folder / f".{attempt_id}.fence.{os.getpid()}.{time.monotonic_ns()}"
        draft.write_text(json.dumps({"fenced": True}), encoding="utf-8")
        draft.rename(self._path(attempt_id))

    def read(self, attempt_id: str) -> dict[str, Any] | None:
        """None: unknown. With `fenced` it is not to be launched."""
        try:
            values: dict[str, Any] = json.loads(self._path(attempt_id).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return values

    def remove(self, attempt_id: str) -> None:
        self._path(attempt_id).unlink(missing_ok=True)

    def names(self) -> list[str]:
        return [name for name in os.listdir(self._folder) if not name.startswith(".")]

    def load(self, attempt_id: str) -> Attempt | None:
        return self.attempt(attempt_id, self.read(attempt_id))

    def attempt(self, attempt_id: str, values: Mapping[str, Any] | None) -> Attempt | None:
        """What was read. None: unknown, or not to be launched."""
        if values is None or values.get("fenced"):
            return None
        try:
            return Attempt(
                attempt_id,
                User.read(values),
                str(values["job"]),
                int(values["tasks"]),
                str(values["installation"]),
                str(values["token"]),
            )
        except (KeyError, TypeError, ValueError):
            return None

    def pass_epoch(self, epoch: int) -> int | None:
        """The latest epoch if this one is older; else remembers it."""
        try:
            last = int(self._epoch.read_text())
        except (OSError, ValueError):
            last = 0
        if epoch < last:
            return last
        if epoch > last:
            draft = self._epoch.with_name(f".epoch.{os.getpid()}")
            draft.write_text(str(epoch))
            draft.rename(self._epoch)
        return None


@dataclass(frozen=True, slots=True)
class Record:
    """What the records on the shared folder say of one attempt."""

    claim: str  # the job that claimed it, FENCED, or empty
    tasks: tuple[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None], ...] = ()
    said: str = ""
    gone: bool = False  # its folder is not there


def read_record(values: Any, count: int, nodes: Mapping[str, int]) -> Record:
    """From an answer that nobody vouches for. `nodes`: how many GPUs each node of Slurm has."""
    if not isinstance(values, dict):
        return Record("", gone=values == "gone")
    tasks = []
    listed = values.get("tasks")
    for index in range(count):
        pair = listed[index] if isinstance(listed, list) and index < len(listed) else (None, None)
        claim, status = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        tasks.append((_checked(claim, nodes), _mapping(status)))
    said = str(values.get("said") or "")[:_LONGEST]
    return Record(str(values.get("claim") or "?"), tuple(tasks), said)


def _checked(claim: Any, nodes: Mapping[str, int]) -> Mapping[str, Any] | None:
    """Users write their claims themselves: none may hold what is not Slurm's."""
    if not isinstance(claim, dict):
        return None
    node = _word(claim.get("node"))
    most = nodes.get(node, 0)
    held = ",".join(str(index) for index in _numbers(claim.get("gpus")) if index < most)
    return claim | {"node": node if node in nodes else "", "gpus": held}


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def judge(
    attempt: Attempt, record: Record, entry: Entry | None, sure: bool, asked: bool = True
) -> None:
    """Sets the attempt's tasks. `sure`: Slurm has been saying for a while that it is over.
    `asked`: whether it was asked at all.
    """
    if entry is not None and entry.nodes:
        record = _witnessed(record, entry.nodes)
    attempt.tasks = tuple(
        _task(attempt, index, record, entry, sure, asked) for index in range(attempt.count)
    )


def _witnessed(record: Record, nodes: tuple[str, ...]) -> Record:
    """A task is where Slurm put its job, whatever it says itself."""
    tasks = tuple(
        (claim if claim is None or claim.get("node") in nodes else {**claim, "node": nodes[0]}, end)
        for claim, end in record.tasks
    )
    return Record(record.claim, tasks, record.said, record.gone)


def _task(
    attempt: Attempt, index: int, record: Record, entry: Entry | None, sure: bool, asked: bool
) -> TaskSeen:
    before = attempt.tasks[index]
    claim, status = record.tasks[index] if index < len(record.tasks) else (None, None)
    if before.phase in ENDED:
        return before
    if claim is not None:
        _note_door(attempt, index, claim)
        if status is not None:
            seen = _exited(index, claim, status)
            if attempt.stopping or seen.signal not in (_TERM, _KILL):
                return seen
            if entry is not None and entry.state == "CANCELLED":
                return replace(seen, hint=_HINTS["CANCELLED"], detail=_WORDS["CANCELLED"])
            if sure or not _may_be_cancelled(attempt, index, entry, asked):
                return seen
    if not sure:
        return _alive(index, before, claim, record, entry)
    return _over(attempt, index, before, claim, record, entry)


def _may_be_cancelled(attempt: Attempt, index: int, entry: Entry | None, asked: bool) -> bool:
    """Whether it is too early to say who sent the signal: Slurm tells when it has ended, and what
    it told before the record came may be old.
    """
    if not asked:
        return True
    if entry is not None and entry.state == "COMPLETING":
        return True
    if entry is not None and entry.active and index not in attempt.killed:
        attempt.killed.add(index)
        return True
    return False


def _alive(
    index: int,
    before: TaskSeen,
    claim: Mapping[str, Any] | None,
    record: Record,
    entry: Entry | None,
) -> TaskSeen:
    if claim is not None:
        return TaskSeen(
            index,
            Phase.RUNNING,
            _word(claim.get("node")),
            started_at=_number(claim.get("at")),
            gpus=_numbers(claim.get("gpus")),
            ports=_numbers(claim.get("ports")),
        )
    if record.claim or (entry is not None and (entry.begins or entry.active)):
        return TaskSeen(index, Phase.STARTING)
    if entry is not None and entry.waits:
        return TaskSeen(index, Phase.PENDING, detail=entry.reason, in_queue=entry.told)
    return before


def _over(
    attempt: Attempt,
    index: int,
    before: TaskSeen,
    claim: Mapping[str, Any] | None,
    record: Record,
    entry: Entry | None,
) -> TaskSeen:
    """Slurm has nothing of it any more, and it left no status."""
    started = _number(claim.get("at")) if claim else None
    node = _word(claim.get("node")) if claim else ""
    if attempt.stopping:
        number = _KILL if claim is not None else _TERM
        return TaskSeen(
            index, Phase.EXITED, node, 128 + number, number, started_at=started,
            ended_at=(entry.ends if entry else None) or time.time(),
        )  # fmt: skip
    state = entry.state if entry is not None else ""
    where = node or ", ".join(entry.nodes if entry else ())
    words = _WORDS.get(state) or f"ended in Slurm as {state}"
    if state not in _WORDS and entry is not None and entry.reason:
        words += f" ({entry.reason})"
    detail = f"{where}: {words}" if where else words
    if claim is None and record.said:
        detail += f": {record.said}"
    if _HINTS.get(state) == "time_limit":
        detail = _limit(entry)
    if state in _HINTS:
        # Slurm's own decision or somebody's: not a fault of the platform, to be tried again.
        return TaskSeen(
            index, Phase.EXITED, node, 128 + _KILL, _KILL, _HINTS.get(state, ""), detail[:_LONGEST],
            started, (entry.ends if entry else None) or time.time(), before.gpus, before.ports,
        )  # fmt: skip
    if claim is None and state == "FAILED":
        return TaskSeen(
            index, Phase.EXITED, node, 125, None, "launch_failed", detail[:_LONGEST],
            ended_at=(entry.ends if entry else None) or time.time(),
        )  # fmt: skip
    return TaskSeen(
        index,
        Phase.LOST,
        node or where.partition(",")[0],
        detail=detail[:_LONGEST],
        started_at=started,
        gpus=before.gpus,
        ports=before.ports,
    )


def _limit(entry: Entry | None) -> str:
    if entry is None or entry.starts is None or entry.ends is None:
        return "Slurm"
    return f"{format_duration(max(1.0, entry.ends - entry.starts))} (Slurm)"


def _exited(index: int, claim: Mapping[str, Any], status: Mapping[str, Any]) -> TaskSeen:
    signal = status.get("signal")
    number = int(signal) if isinstance(signal, int) and 0 < signal < 128 else None
    code = status.get("code")
    plain = int(code) if isinstance(code, int) and 0 <= code <= 255 else 1
    return TaskSeen(
        index,
        Phase.EXITED,
        _word(claim.get("node")),
        exit_code=128 + number if number else plain,
        signal=number,
        hint=str(status.get("hint") or "")[:64],
        detail=str(status.get("detail") or "")[:_LONGEST],
        started_at=_number(claim.get("at")),
        ended_at=_number(status.get("at")),
        gpus=_numbers(claim.get("gpus")),
        ports=_numbers(claim.get("ports")),
    )


def _note_door(attempt: Attempt, index: int, claim: Mapping[str, Any]) -> None:
    port, node = claim.get("port"), claim.get("node")
    if node and isinstance(port, int) and 0 < port < 65536:
        attempt.doors[index] = (_word(claim.get("node")), port)


def fenced(record: Record) -> bool:
    return record.claim == FENCED


def _word(value: Any) -> str:
    return value[:255] if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    good = isinstance(value, int | float) and 0 <= value < 1e12  # no NaN either
    return float(value) if good else None


def _numbers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, str):
        return ()
    words = value.split(",", 64)[:64]
    return tuple(int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 6)
