"""Shared by the Slurm commands: states, times and job numbers in Slurm's format."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk.client import Client

    Job = dict[str, Any]

STATES = {
    "queued": ("PENDING", "PD"),
    "starting": ("CONFIGURING", "CF"),
    "running": ("RUNNING", "R"),
    "stopping": ("COMPLETING", "CG"),
    "succeeded": ("COMPLETED", "CD"),
    "failed": ("FAILED", "F"),
    "stopped": ("CANCELLED", "CA"),
}
REASONS = {
    "time_limit": ("TIMEOUT", "TO"),
    "out_of_memory": ("OUT_OF_MEMORY", "OOM"),
    "lost": ("NODE_FAIL", "NF"),
    "machine_restarted": ("NODE_FAIL", "NF"),
}
CAUSES = {
    "held": "JobHeldUser",
    "dependency": "Dependency",
    "behind": "Priority",
    "array_limit": "JobArrayTaskLimit",
    "retry_pause": "BeginTime",
}
ENDED = ("succeeded", "failed", "stopped")


def client() -> Client:
    from danlu.sdk.client import Client
    from danlu.sdk.context import find

    where = find(None, None, None)
    return Client(where.server, where.token or "", ca_file=where.ca_file)


def state(job: Job) -> tuple[str, str]:
    """(PENDING, PD) and the like."""
    if job["state"] == "failed" and job.get("reason") in REASONS:
        return REASONS[str(job["reason"])]
    return STATES.get(job["state"], ("UNKNOWN", "UN"))


def state_names(text: list[str]) -> set[str]:
    """Danlu's states for a list of Slurm's."""
    wanted: set[str] = set()
    for word in text:
        upper = word.upper()
        if upper == "ALL":
            return set(STATES)
        for ours, names in STATES.items():
            if upper in names:
                wanted.add(ours)
        if any(upper in names for names in REASONS.values()):
            wanted.add("failed")
    return wanted


def number(job: Job) -> str:
    """123, or 123_4 for an element of array 123."""
    if job.get("array_index") is None:
        return str(job["seq"])
    return f"{array_number(job)}_{job['array_index']}"


def array_number(job: Job) -> int:
    return int(job.get("array_seq") or job["seq"])


def elapsed(job: Job) -> float:
    started = job.get("started_at")
    if started is None:
        return 0.0
    return float(max(0.0, (job.get("ended_at") or time.time()) - started))


def clock(seconds: float | None, short: bool = True) -> str:
    """1-02:03:04, 2:03:04 or 3:04; long: 02:03:04."""
    if seconds is None:
        return "UNLIMITED"
    left = int(seconds)
    days, left = divmod(left, 86400)
    hours, left = divmod(left, 3600)
    minutes, last = divmod(left, 60)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{last:02}"
    if hours or not short:
        return (
            f"{hours:02}:{minutes:02}:{last:02}" if not short else f"{hours}:{minutes:02}:{last:02}"
        )
    return f"{minutes}:{last:02}"


def moment(seconds: float | None, absent: str = "N/A") -> str:
    if seconds is None:
        return absent
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds))


def seconds_of(text: object) -> float | None:
    """A native duration (1d12h30m, or seconds)."""
    import re

    if text is None:
        return None
    if isinstance(text, int | float):
        return float(text)
    found = re.fullmatch(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s?)?", str(text))
    if found is None:
        return None
    days, hours, minutes, last = (float(part or 0) for part in found.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + last


def roles(spec: dict[str, Any]) -> list[dict[str, Any]]:
    found = spec.get("roles")
    return list(found.values()) if found else [spec]


def cpus(spec: dict[str, Any]) -> int:
    total = sum(float(role.get("cpus", 1)) * int(role.get("count", 1)) for role in roles(spec))
    return int(total) or 1


def gpus(role: dict[str, Any]) -> tuple[int, str]:
    asked = role.get("gpus")
    if isinstance(asked, dict):
        return int(asked.get("count", 1)), str(asked.get("model") or "")
    return int(asked or 0), ""


def gres(spec: dict[str, Any]) -> str:
    count, model = gpus(roles(spec)[0])
    if not count:
        return "N/A"
    return f"gres/gpu:{model}:{count}" if model else f"gres/gpu:{count}"


def pending_reason(client: Client, job: Job) -> str:
    if job.get("held"):
        return "JobHeldUser"
    try:
        causes = client.why(job["id"]).get("causes") or []
    except Exception:
        return "None"
    for cause in causes:
        if cause["kind"] in CAUSES:
            return CAUSES[cause["kind"]]
    return "Resources"
