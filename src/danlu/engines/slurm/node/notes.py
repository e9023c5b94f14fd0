"""What the shell notes in the claim of a task that it has started (quick.sh).

4711                          the job that claimed the attempt
run 1763451.25 n2 0,1 3,4     when, where, GPUs as the task sees them, GPUs as Slurm gave them
end 0 1763452.50              the exit code, or 128 and the signal's number; when
"""

from __future__ import annotations

from danlu.engines.slurm.node import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CODES = frozenset(map(str, range(256)))
_SIGNALS = range(129, 160)  # real-time signals end nothing by chance


def read(lines: list[str]) -> list[Any]:
    """Claim and status, as a keeper's record would tell them."""
    claim: dict[str, Any] | None = None
    status: dict[str, Any] | None = None
    for line in lines:
        words = line.split(" ")
        if words[0] == "run" and len(words) == 5:
            shown, given = (_word(word) for word in words[3:])
            gpus = places.gpus_of(shown, given)
            claim = {"node": words[2], "gpus": ",".join(map(str, gpus)), "ports": ""}
            claim["at"] = _number(words[1])
        elif words[0] == "end" and len(words) == 3 and words[1] in _CODES:
            code = int(words[1])
            status = {"signal": code - 128} if code in _SIGNALS else {"code": code}
            status["at"] = _number(words[2])
    return [claim, status if claim is not None else None]


def _word(word: str) -> str:
    return "" if word == "-" else word


def _number(word: str) -> float | None:
    try:
        return float(word.replace(",", "."))
    except ValueError:
        return None
