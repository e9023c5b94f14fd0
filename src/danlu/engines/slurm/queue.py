"""The queue as `squeue` prints it: one call for all jobs, whoever they belong to.

Names and comments are their owners' own words. They come last in a row, and every row begins with
a word that nobody could know when they chose theirs.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from danlu.engines.api import InQueue
from danlu.engines.slurm import fields
from danlu.engines.slurm.commands import Commands
from danlu.engines.slurm.reasons import in_queue

_MARK = "\x1f"
_COLUMNS = (
    *("%i", "%A", "%T", "%r", "%u", "%U", "%P", "%C", "%m", "%b", "%D"),
    *("%S", "%e", "%l", "%N"),
)
YEAR = 365 * 86_400
_OWN_WORDS = ("%k", "%j")  # the comment, then the name
_COMMENT = re.compile(r"danlu:([A-Za-z0-9_-]*):([A-Za-z0-9_-]+)")

WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"})
BEGINNING = frozenset({"CONFIGURING", "STAGE_OUT", "SIGNALING"})
ACTIVE = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "COMPLETING"})
"""COMPLETING: its processes may still run; whatever it recorded of itself is already true."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One job in Slurm's queue, or in its memory of what has ended."""

    id: str  # 12, of a heterogeneous job 12+1, of an array 12_3
    state: str
    reason: str
    user: str
    uid: int
    partition: str
    cpus: int
    memory: int  # bytes, on each of its nodes
    gpus: int  # on each of its nodes
    nodes: tuple[str, ...]
    starts: float | None
    ends: float | None
    installation: str = ""  # of Danlu, and its attempt: "" for what others submitted
    attempt: str = ""
    name: str = ""
    number: str = ""  # of the whole job
    told: InQueue | None = None  # why it waits, in words, and until when

    @property
    def waits(self) -> bool:
        return self.state in WAITING

    @property
    def begins(self) -> bool:
        return self.state in BEGINNING

    @property
    def active(self) -> bool:
        return self.state in ACTIVE

    @property
    def over(self) -> bool:
        return not (self.waits or self.begins or self.active)


Rows = dict[str, Entry]
"""What was read, by its row as printed. Most rows are the same again a second later."""


def ask(commands: Commands, rows: Rows) -> tuple[Entry, ...]:
    """Every job that Slurm still remembers. Blocks; raises Unreachable. `rows`: of the last time;
    those of this time take their place.
    """
    word = secrets.token_hex(8)
    form = _MARK.join((word, *_COLUMNS, *_OWN_WORDS))
    text = commands.run_now("squeue", "--noheader", "--all", "--states=all", f"--format={form}")
    return tuple(told(read(text, word, rows), time.time()))


def told(entries: tuple[Entry, ...], now: float) -> Iterator[Entry]:
    """Ours that wait, with Slurm's reason in words. Slurm cannot tell when a job ends that has no
    time limit, nor what comes after it in that partition.
    """
    endless = {each.partition for each in entries if each.active and each.ends is None}
    for each in entries:
        if each.waits and each.attempt:
            told = in_queue(each.reason, each.starts, now, each.partition in endless)
            yield replace(each, told=told)
        else:
            yield each


def read(text: str, word: str, rows: Rows) -> tuple[Entry, ...]:
    found: Rows = {}
    for line in text.split("\n"):
        first, _, row = line.partition(_MARK)
        if first != word:
            continue
        entry = rows.get(row) or _read(row)
        if entry is not None:
            found[row] = entry
    rows.clear()
    rows.update(found)
    return tuple(found.values())


def _read(row: str) -> Entry | None:
    cells = row.split(_MARK, len(_COLUMNS) + len(_OWN_WORDS) - 1)
    return _entry(cells) if len(cells) == len(_COLUMNS) + len(_OWN_WORDS) else None


def _entry(cells: list[str]) -> Entry:
    id_, number, state, reason, user, uid, partition, cpus, memory, gres, count = cells[:11]
    starts, ends, limit, nodes, comment, name = cells[11:]
    machines = max(1, _number(count))
    return Entry(
        id_,
        state,
        fields.known(reason),
        user,
        _number(uid, -1),
        partition,
        _number(cpus),
        size(memory),
        fields.gpu_count(gres) or 0,
        fields.hosts(nodes) if machines else (),
        fields.moment(starts),
        _end(ends, limit),
        *ours_of(comment),
        name,
        id_.partition("+")[0] if "+" in id_ else number,
    )


def _end(ends: str, limit: str) -> float | None:
    """None for a job without a time limit, which Slurm gives a year once it runs."""
    most = fields.seconds(limit)
    return None if most is None or most >= YEAR else fields.moment(ends)


def ours_of(comment: str) -> tuple[str, str]:
    """The installation of Danlu and the attempt; empty for what others submitted."""
    ours = _COMMENT.fullmatch(comment.strip())
    return (ours[1], ours[2]) if ours else ("", "")


def comment(installation: str, attempt: str) -> str:
    return f"danlu:{installation}:{attempt}"


def size(text: str) -> int:
    """`4000M`, `2G`, or a number of megabytes."""
    match = re.fullmatch(r"([0-9.]+)([KMGTP]?)[nc]?", text.strip())
    if match is None:
        return 0
    powers = {"K": 1 << 10, "M": 1 << 20, "": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
    return int(float(match[1]) * powers[match[2]])


def _number(text: str, otherwise: int = 0) -> int:
    try:
        return int(text)
    except ValueError:
        return otherwise
