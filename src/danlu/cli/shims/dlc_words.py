"""Jobs in DLC terms: ids, states, pods, times, and the tables it prints."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Values = dict[str, Any]

STATUS = {
    "queued": "Queuing",
    "starting": "EnvPreparing",
    "running": "Running",
    "stopping": "Stopping",
    "stopped": "Stopped",
    "succeeded": "Succeeded",
    "failed": "Failed",
}
TYPES = {"ps": "TFJob", "chief": "TFJob", "evaluator": "TFJob", "head": "RayJob"}


def job_id(text: str) -> str:
    """ "dlc" and the id without dashes."""
    return "dlc" + text.replace("-", "")


def reference(text: str) -> str:
    """The server's name for a job given by its DLC id or any Danlu name."""
    plain = text[3:] if text.startswith("dlc") else ""
    if len(plain) == 32 and all(c in "0123456789abcdef" for c in plain):
        return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))
    return text


def moment(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds(text: str) -> float | None:
    import calendar

    for form in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"):
        try:
            return float(calendar.timegm(time.strptime(text, form)))
        except ValueError:
            continue
    return None


def roles(spec: Values) -> dict[str, Values]:
    found = spec.get("roles")
    return dict(found) if found else {"worker": spec}


def pod_names(job: Values) -> list[tuple[str, str]]:
    """(pod, type) of each task; without a master role, the first task is the master."""
    listed = roles(job["spec"])
    led = any(name in ("master", "chief", "head") for name in listed)
    ident = job_id(job["id"])
    found: list[tuple[str, str]] = []
    for name, role in listed.items():
        for index in range(int(role.get("count", 1))):
            if led or name != "worker":
                found.append((f"{ident}-{name}-{index}", name.capitalize()))
            elif index == 0:
                found.append((f"{ident}-master-0", "Master"))
            else:
                found.append((f"{ident}-worker-{index - 1}", "Worker"))
    return found


def job_type(spec: Values) -> str:
    return next((TYPES[name] for name in roles(spec) if name in TYPES), "PyTorchJob")


def detail(job: Values, user: str) -> Values:
    """As `dlc get job ID` prints it."""
    spec = job["spec"]
    first = next(iter(roles(spec).values()))
    ended = job.get("ended_at")
    started = job.get("started_at")
    ran = int((ended or time.time()) - started) if started else 0
    return {
        "JobId": job_id(job["id"]),
        "DisplayName": job["name"],
        "JobType": job_type(spec),
        "Status": STATUS.get(job["state"], "Creating"),
        "ReasonCode": job.get("reason") or "",
        "ReasonMessage": job.get("reason_en") or "",
        "Priority": job["priority"],
        "ResourceId": job["queue"],
        "WorkspaceId": job.get("group") or "default",
        "WorkspaceName": job.get("group") or "default",
        "UserId": job["owner"],
        "UserCommand": _command(first),
        "Duration": ran,
        "GmtCreateTime": moment(job.get("submitted_at")),
        "GmtSubmittedTime": moment(job.get("submitted_at")),
        "GmtRunningTime": moment(started),
        "GmtFinishTime": moment(ended),
        "JobSpecs": [_spec(name, role) for name, role in roles(spec).items()],
        "Pods": [_pod(job, index, *names) for index, names in enumerate(pod_names(job))],
        "RequestId": request_id(),
    }


def request_id() -> str:
    from danlu.sdk.ids import uuid7

    return str(uuid7()).upper()


def _command(role: Values) -> str:
    command = role.get("command") or role.get("script") or ""
    return command if isinstance(command, str) else " ".join(map(str, command))


def _spec(name: str, role: Values) -> Values:
    gpus = role.get("gpus") or 0
    count = gpus.get("count", 1) if isinstance(gpus, dict) else gpus
    model = gpus.get("model", "") if isinstance(gpus, dict) else ""
    return {
        "Type": name.capitalize(),
        "Image": role.get("image") or "",
        "PodCount": int(role.get("count", 1)),
        "EcsSpec": "",
        "ResourceConfig": {
            "CPU": str(role.get("cpus", "")),
            "GPU": str(count),
            "GPUType": model,
            "Memory": _gibi(role.get("memory")),
            "SharedMemory": _gibi(role.get("shm")),
        },
    }


def _gibi(size: object) -> str:
    text = str(size or "")
    return f"{text}i" if text[-1:] in "KMGT" and text else text


def _pod(job: Values, index: int, name: str, kind: str) -> Values:
    tasks = {int(task["index"]): task for task in job.get("tasks") or ()}
    task = tasks.get(index) or {}
    return {
        "PodId": name,
        "PodUid": f"{job['id']}-{index}",
        "Ip": task.get("node") or "",
        "Status": _pod_status(job, task),
        "Type": kind,
        "GmtCreateTime": moment(job.get("submitted_at")),
        "GmtStartTime": moment(job.get("started_at")),
        "GmtFinishTime": moment(job.get("ended_at")),
    }


def _pod_status(job: Values, task: Values) -> str:
    if task.get("phase") == "exited":
        return "Succeeded" if task.get("exit_code") == 0 else "Failed"
    states = {"queued": "Pending", "starting": "Pending", "running": "Running"}
    return states.get(job["state"], STATUS.get(job["state"], "Unknown"))


def table(head: list[str], rows: list[list[str]]) -> str:
    """With borders and single spaces: scripts search for `| dlc... |`."""
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+\n"

    def line(cells: list[str]) -> str:
        padded = (f" {text.ljust(width)} " for text, width in zip(cells, widths))  # noqa: B905
        return "|" + "|".join(padded) + "|\n"

    return rule + line(head) + rule + "".join(line(row) for row in rows) + rule
