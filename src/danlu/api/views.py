"""Jobs, nodes and GPUs as the API shows them."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from danlu.engines.api import Phase
from danlu.sched.api import WHOLE
from danlu.services.cluster import Gpu, Node
from danlu.services.gpu_usage import UNKNOWN, GpuNow
from danlu.services.values import AttemptRow, Count, EventRow, JobRow, event_words
from danlu.spec.codec import from_values
from danlu.spec.diagnose import advise, describe
from danlu.spec.job import JobSpec, RunAs
from danlu.spec.placement import Placement
from danlu.spec.states import State
from danlu.spec.text import EMPTY, Text

Values = dict[str, Any]


def job_view(
    row: JobRow,
    attempt: AttemptRow | None = None,
    unknown_since: float | None = None,
    spec: JobSpec | None = None,
) -> Values:
    spec = spec or from_values(row.spec)
    reason = advice = EMPTY
    if row.reason is not None:
        reason = describe(row.reason, row.detail)
        advice = advise(row.reason, row.detail, row.state.final)
    models = {role.resources.gpus.model for role in spec.roles} - {None}
    before = before_view(row, attempt)
    places = attempt.places if attempt and before is None else ()
    nodes = dict.fromkeys(place.node for place in places if place.node)
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
        **reason.values("reason"),
        **advice.values("advice"),
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
        "unknown_since": unknown_since,
        "before": before,
    }


def before_view(row: JobRow, attempt: AttemptRow | None) -> Values | None:
    """The run after which a job was requeued; None unless it is waiting again."""
    if row.state is not State.QUEUED or attempt is None or attempt.ended_at is None:
        return None
    start = attempt.started_at or attempt.ended_at
    reason = EMPTY
    if attempt.reason is not None:
        reason = describe(attempt.reason, attempt.detail)
    return {
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "ran": max(0.0, attempt.ended_at - start),
        "reason": attempt.reason,
        **reason.values("reason"),
    }


def array_seq(row: JobRow, spec: JobSpec) -> int | None:
    """The number of the array's first element; elements are numbered consecutively."""
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
    # For a script, what it does says more than its first line.
    first = next((line for line in lines if line.strip() and line[:1] != "#"), lines[0])
    return first if len(first) <= 120 else first[:117] + "..."


def attempt_view(attempt: AttemptRow) -> Values:
    reason = EMPTY
    if attempt.reason is not None:
        reason = describe(attempt.reason, attempt.detail)
    return {
        "id": attempt.id,
        "number": attempt.number,
        "state": attempt.state,
        "reason": attempt.reason,
        **reason.values("reason"),
        "created_at": attempt.created_at,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "places": placement_views(attempt.places),
    }


def placement_views(places: Sequence[Placement]) -> list[Values]:
    return [
        {
            "task": task,
            "node": place.node,
            "gpus": list(place.gpus),
            "share": place.share,
            "ports": list(place.ports),
        }
        for task, place in enumerate(places)
    ]


def task_views(spec: JobSpec, attempt: AttemptRow | None) -> list[Values]:
    """The tasks of the latest attempt."""
    ends = {int(task["task"]): task for task in attempt.tasks} if attempt else {}
    places = attempt.places if attempt else ()
    views = []
    index = 0
    for role in spec.roles:
        for role_index in range(role.count):
            place, end = (places[index] if index < len(places) else None), ends.get(index, {})
            phase = end.get("phase") or _phase(attempt)
            views.append(
                {
                    "index": index,
                    "role": role.name,
                    "role_index": role_index,
                    "node": (place.node or None) if place else None,
                    "gpus": list(place.gpus) if place else [],
                    "ports": list(place.ports) if place else [],
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
    return {
        "seq": event.seq,
        "at": event.at,
        "kind": event.kind,
        "actor": event.actor,
        "data": event.data,
        **event_words(event).values(),
    }


def settled_view(job: Values, now: Text = EMPTY) -> Values:
    """The explanation of a job that is not waiting. `now`: progress of a slow step."""
    words = {
        State.STARTING: Text("Starting", "正在启动"),
        State.RUNNING: Text("Running", "正在运行"),
        State.STOPPING: Text("Stopping", "正在停止"),
    }
    settled = words.get(job["state"], Text(job["reason_en"], job["reason_zh"]))
    return {
        "state": job["state"],
        **(now or settled).values("sentence"),
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


def node_view(node: Node, now: Sequence[GpuNow] = ()) -> Values:
    return {
        "name": node.name,
        "up": node.up,
        "drained": node.drained,
        "drain_reason": node.drain_reason,
        "labels": list(node.labels),
        "address": node.address,
        "cpus": node.cpus,
        "cpus_free": node.cpus_free,
        "memory": node.memory,
        "memory_free": node.memory_free,
        "gpus": [gpu_view(gpu, *now[index : index + 1]) for index, gpu in enumerate(node.gpus)],
        "note": node.note,
        **node.words.values("note"),
        "engine": node.engine,
        "unknown_since": node.unknown_since,
    }


def gpu_view(gpu: Gpu, now: GpuNow = UNKNOWN) -> Values:
    return {
        "node": gpu.node,
        "index": gpu.index,
        "model": gpu.model,
        "uuid": gpu.uuid,
        "memory": gpu.memory,
        "state": gpu.state,
        "free": gpu.free,
        "job": gpu.jobs[0] if gpu.jobs else None,
        "jobs": list(gpu.jobs),
        "owner": gpu.owner,
        "since": gpu.since,
        "ends": gpu.ends,
        "kept_for": gpu.kept_for,
        "note": gpu.note,
        "outside": None if gpu.outside is None else asdict(gpu.outside),
        "busy": now.busy,
        "memory_used": now.memory,
        "idle_since": now.held_idle(gpu.since, time.time()),
    }


def count_view(count: Count) -> Values:
    """GPUs, whole and parts: total = free + reserved + used + out + outside + unknown."""
    return {
        "total": count.total / WHOLE,
        "free": count.free / WHOLE,
        "reserved": count.reserved / WHOLE,
        "used": count.used / WHOLE,
        "out": count.out / WHOLE,
        "outside": count.outside / WHOLE,
        "unknown": count.unknown / WHOLE,
        "idle": count.idle / WHOLE,
        "draining": count.draining / WHOLE,
    }
