"""Slurm's reasons in words: why a job waits there, whose turn it is, what to do, and until when.

The reasons are those of Slurm 22.05 to 25.11. Most of them name a limit and are read by their
parts (reason_limits); a reason that is not known is passed on as Slurm wrote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from danlu.engines.api import InQueue
from danlu.engines.slurm.reason_limits import Help, limit
from danlu.engines.slurm.reason_words import (
    ASK_ADMIN,
    ASK_LESS,
    DETAILS,
    REASONS,
    SENTENCES,
    Turn,
)
from danlu.spec.text import EMPTY, Text

# Slurm plans with a year for a job without a time limit: later than this, a start is no estimate.
BEYOND_REASON = 30 * 86400.0
# Slurm plans in rounds; a start that has passed was planned in one of the last.
STALE = 600.0


@dataclass(frozen=True, slots=True)
class Meaning:
    code: str  # Slurm's own word, without details
    words: Text
    turn: Turn
    advice: Text = EMPTY


def meaning(reason: str) -> Meaning:
    """Of a reason as squeue prints it, with or without brackets and details."""
    said = " ".join(reason.strip().strip("()").replace("_", " ").split())
    code, _, detail = said.partition(",")
    known = _CODES.get(code.casefold())
    if known is not None:
        words, turn, advice = REASONS[known]
        return Meaning(known, words + _detail(detail), turn, advice)
    for start, words, turn, advice in SENTENCES:
        if said.casefold().startswith(start):
            return Meaning(said, words, turn, advice)
    found = limit(code)
    if found is not None:
        return Meaning(code, found[0], *_HELP[found[1]])
    return Meaning(said, Text(said, said), Turn.SLURM)


def in_queue(reason: str, start: float | None, now: float, unlimited: bool = False) -> InQueue:
    """What Danlu tells about a pending job.

    `start` is what `squeue --start` expects. `unlimited`: jobs without a time limit run or wait
    before it, so that Slurm cannot know when they end.
    """
    found = meaning(reason)
    words = found.words
    if found.advice:
        words += Text(f". {found.advice.en}", f"。{found.advice.zh}")
    if found.turn is not Turn.SLURM:
        # The time that Slurm computed before somebody held it, or would if it could start.
        return InQueue(found.code, words, None, "blocked")
    if start is None or start < now - STALE:
        return InQueue(found.code, words, None, "no_limit" if unlimited else "unplanned")
    if start > now + BEYOND_REASON:
        return InQueue(found.code, words, None, "no_limit" if unlimited else "far")
    return InQueue(found.code, words, start)


def _detail(detail: str) -> Text:
    """`UnavailableNodes:n[1-2]` and the like, which some reasons carry."""
    named = re.fullmatch(r"\s*UnavailableNodes:(.*)", detail)
    if named is not None:
        nodes = named[1].strip()
        return Text(f" ({nodes})", f"（{nodes}）") if nodes else EMPTY
    return DETAILS.get(detail.strip().casefold(), EMPTY)


_CODES = {code.casefold(): code for code in REASONS}
_MORE = Text("Ask for more, or use another QOS", "增加请求，或换用其他 QOS")
_HELP = {
    Help.WAIT: (Turn.SLURM, EMPTY),
    Help.LESS: (Turn.USER, ASK_LESS),
    Help.MORE: (Turn.USER, _MORE),
    Help.ADMIN: (Turn.ADMIN, ASK_ADMIN),
}
