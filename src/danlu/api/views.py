"""Jobs, nodes and cards as the API shows them."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from danlu.control.active import Active
from danlu.control.controller import Controller
from danlu.control.tally import Count
from danlu.control.words import event_words
from danlu.engines.api import Phase
from danlu.sched.api import WHOLE
from danlu.spec.codec import from_values
from danlu.spec.diagnose import describe
from danlu.spec.job import JobSpec, RunAs
from danlu.spec.states import State
from danlu.store.rows import AttemptRow, EventRow, JobRow

Values = dict[str, Any]


def job_view(row: JobRow, attempt: AttemptRow | None = None, spec: JobSpec | None = None) -> Values:
    spec = spec or from_values(row.spec)
    en = zh = advice_en = advice_zh = ""
    if row.reason is not None:
        en, zh, advice_en, advice_zh = describe(row.reason, row.detail)
    models = {role.resources.gpus.model for role in spec.roles} - {None}
    nodes = dict.fromkeys(place["node"] for place in attempt.places) if attempt else {}
    return {
        "id": row.id,
        "ref": row.ref,
        "seq": row.seq,
        "owner": row.owner,
        "name": row.name,
        "number": row.number,
        "array_index": row.array_index,
        "array_seq": array_seq(row, spec),
        "kind": row.kind,
        "state": row.state,
        "held": row.held,
        "reason": row.reason,
        "reason_en": en,
        "reason_zh": zh,
        "advice_en": advice_en,
        "advice_zh": advice_zh,
        "evidence": row.detail.get("evidence", []),
        "exit_code": row.exit_code,
        "queue": row.queue,
        "group": row.group,
        "priority": row.priority,
        "gpus": total_gpus(spec),
        "gpu_model": next(iter(sorted(m for m in models if m)), None),
        "nodes": list(nodes),
        "submitted_at": row.submitted_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "attempt": row.attempt,
        "task_count": spec.tasks,
        "command": command_text(spec),
        "retries_left": max(0, spec.retries - row.failures),
    }


def array_seq(row: JobRow, spec: JobSpec) -> int | None:
    """The number of the array's first element: the elements are numbered in their order."""
    if row.array_index is None or spec.array is None:
        return None
    indexes = spec.array.indexes
    place = bisect_left(indexes, row.array_index)
    if place >= len(indexes) or indexes[place] != row.array_index:
        place = indexes.index(row.array_index) if row.array_index in indexes else 0
    return row.seq - place


def total_gpus(spec: JobSpec) -> float:
    total = sum(
        role.count * (r.gpus.fraction or r.gpus.count)
        for role in spec.roles
        for r in [role.resources]
    )
    return int(total) if total == int(total) else total


def command_text(spec: JobSpec) -> str:
    command = spec.roles[0].command
    text = command.words[0] if command.run_as is RunAs.SHELL else " ".join(command.words)
    lines = text.strip().splitlines() or [""]
    # Of a script, what it does says more than how it begins.
    first = next((line for line in lines if line.strip() and line[:1] != "#"), lines[0])
    return first if len(first) <= 120 else first[:117] + "..."


def attempt_view(attempt: AttemptRow) -> Values:
    en, zh = ("", "")
    if attempt.reason is not None:
        en, zh, *_ = describe(attempt.reason, attempt.detail)
    return {
        "id": attempt.id,
        "number": attempt.number,
        "state": attempt.state,
        "reason": attempt.reason,
        "reason_en": en,
        "reason_zh": zh,
        "created_at": attempt.created_at,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "places": attempt.places,
    }


def task_views(spec: JobSpec, attempt: AttemptRow | None) -> list[Values]:
    """The tasks of the latest attempt."""
    ends = {int(task["task"]): task for task in attempt.tasks} if attempt else {}
    places = {int(place["task"]): place for place in attempt.places} if attempt else {}
    views = []
    index = 0
    for role in spec.roles:
        for role_index in range(role.count):
            place, end = places.get(index, {}), ends.get(index, {})
            phase = end.get("phase") or _phase(attempt)
            views.append(
                {
                    "index": index,
                    "role": role.name,
                    "role_index": role_index,
                    "node": place.get("node"),
                    "gpus": place.get("cards", []),
                    "ports": place.get("ports", []),
                    "phase": phase,
                    "exit_code": end.get("exit_code"),
                    "signal": end.get("signal"),
                }
            )
            index += 1
    return views


def _phase(attempt: AttemptRow | None) -> str:
    if attempt is None:
        return Phase.PENDING
    return Phase.STARTING if attempt.state is State.STARTING else Phase.RUNNING


def event_view(event: EventRow) -> Values:
    en, zh = event_words(event)
    return {
        "seq": event.seq,
        "at": event.at,
        "kind": event.kind,
        "actor": event.actor,
        "data": event.data,
        "en": en,
        "zh": zh,
    }


def doing(job: Active | None) -> tuple[str, str]:
    """What is being done for a job right now, where that may take long."""
    return job.doing if job is not None else ("", "")


def settled_view(job: Values, now: tuple[str, str] = ("", "")) -> Values:
    """Why a job that does not wait is where it is. `now`: what is being done for it."""
    words = {
        State.STARTING: ("It is being started", "正在启动"),
        State.RUNNING: ("It runs", "正在运行"),
        State.STOPPING: ("It is being stopped", "正在停止"),
    }
    en, zh = words.get(job["state"], (job["reason_en"], job["reason_zh"]))
    if now[0]:
        en, zh = now
    return {
        "state": job["state"],
        "sentence_en": en,
        "sentence_zh": zh,
        "starts_now": False,
        "causes": [],
        "nodes": [],
        "position": None,
        "eta": None,
        "eta_why_en": "",
        "eta_why_zh": "",
        "advice_en": job["advice_en"],
        "advice_zh": job["advice_zh"],
        "evidence": job["evidence"],
    }


def node_views(controller: Controller) -> list[Values]:
    rooms = controller.rooms
    states = {state.name: state for state in rooms.ledger.states()}
    cards: dict[str, list[Values]] = {}
    for card in card_views(controller):
        cards.setdefault(card["node"], []).append(card)
    views = []
    for node in rooms.ledger.nodes():
        state = states[node.name]
        views.append(
            {
                "name": node.name,
                "up": node.up,
                "drained": state.drained,
                "labels": sorted(node.labels),
                "address": node.address,
                "cpus": node.cpus,
                "cpus_free": state.cpus_free,
                "memory": node.memory,
                "memory_free": state.memory_free,
                "gpus": cards.get(node.name, []),
                "note": node.note,
            }
        )
    return views


def card_views(controller: Controller) -> list[Values]:
    rooms = controller.rooms
    holders, books = rooms.ledger.card_holders(), controller.planner.books()
    views = []
    for node, state in zip(rooms.ledger.nodes(), rooms.ledger.states(), strict=True):
        for card, gpu in zip(state.cards, node.gpus, strict=True):
            jobs = [
                rooms.jobs[h.job_id]
                for h in holders.get((node.name, card.index), ())
                if h.job_id in rooms.jobs
            ]
            first = jobs[0] if jobs else None
            since = first.attempt.started_at if first and first.attempt else None
            count = books.cards[node.name, card.index]
            views.append(
                {
                    "node": node.name,
                    "index": card.index,
                    "model": card.model,
                    "uuid": gpu.uuid,
                    "memory": gpu.memory,
                    "state": _card_state(count, node.up and card.healthy),
                    "free": count.free / WHOLE,
                    "job": first.row.ref if first else None,
                    "jobs": [job.row.ref for job in jobs],
                    "owner": first.row.owner if first else None,
                    "since": since,
                }
            )
    return views


def _card_state(count: Count, well: bool) -> str:
    if not well:
        return "down"
    if count.used:
        return "used"
    if count.out:
        return "drained"
    return "reserved" if count.reserved else "free"


def count_view(count: Count) -> Values:
    """Cards, whole and parts: total = free + reserved + used + out."""
    return {
        "total": count.total / WHOLE,
        "free": count.free / WHOLE,
        "reserved": count.reserved / WHOLE,
        "used": count.used / WHOLE,
        "out": count.out / WHOLE,
        "idle": count.idle / WHOLE,
    }
