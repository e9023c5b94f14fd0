"""What an engine says about a job in its own queue, as a cause and an estimate."""

from __future__ import annotations

from danlu.engines.api import TaskSeen
from danlu.sched.api import Basis, Cause, CauseKind, Eta, EtaBasis


def in_queue_words(engine: str, said: TaskSeen | None) -> tuple[Cause, Eta]:
    numbers: dict[str, int | float | str] = {"engine": engine, "why": "pending", "words": ""}
    if said is None or said.in_queue is None:
        numbers["words"] = said.detail if said is not None else ""
        none = Eta(None, None, EtaBasis.NONE, why="engine")
        return Cause(CauseKind.ENGINE, Basis.ENGINE, numbers), none
    found = said.in_queue
    numbers |= {"words": found.words.en, "words_zh": found.words.zh, "code": found.code}
    cause = Cause(CauseKind.ENGINE, Basis.ENGINE, numbers)
    if found.start is None:
        why = f"engine_{found.no_start}" if found.no_start else "engine"
        return cause, Eta(None, None, EtaBasis.NONE, why=why)
    return cause, Eta(found.start, None, EtaBasis.ENGINE)
