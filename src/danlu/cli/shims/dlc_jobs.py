"""`dlc get`, `logs` and `stop`."""

from __future__ import annotations

import re
import sys

from danlu.cli.shims import dlc_words as words_of
from danlu.cli.shims.dlc_config import client
from danlu.cli.shims.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.shims.flags import Flags

SILENT = "[WARN] No logs found for the pod\n"
MOST_LINES = 2000


def act(verb: str, words: list[str], flags: Flags) -> int:
    if verb == "get":
        return _get(words, flags)
    if verb == "logs":
        return _logs(words, flags)
    if verb in ("stop", "delete"):
        return _stop(words, flags)
    raise Trouble(f"{verb} is not supported", f"这里不支持 {verb}", 2)


def _get(words: list[str], flags: Flags) -> int:
    what = words[0].lower() if words else ""
    here = client(flags)
    if what in ("job", "jobs") and len(words) > 1:
        return _one(here, words[1], flags)
    if what in ("job", "jobs"):
        return _list(here, flags)
    if what in ("workspace", "workspaces"):
        return _workspaces(here)
    if what == "pod":
        return _pod(here, words[1:])
    if what in ("specs", "spec"):
        return _specs(here)
    if what in ("quota", "quotas"):
        return _quota(here)
    raise Trouble(
        f"get {what!r}: use workspace, job, pod, specs or quota",
        f"get {what!r}：请写 workspace、job、pod、specs 或 quota",
        2,
    )


def _found(here: Any, ident: str) -> dict[str, Any]:
    from danlu.sdk.errors import ApiError

    try:
        return dict(here.show(words_of.reference(ident)))
    except ApiError as error:
        if error.status != 404:
            raise
        raise Trouble(f"no such job: {ident}", f"没有任务 {ident}") from None


def _one(here: Any, ident: str, flags: Flags) -> int:
    job = _found(here, ident)
    found = words_of.detail(job, job["owner"])
    if flags.has("events"):
        events = here.events(job["id"], limit=int(flags.get("max_events_num", "200")))
        found["Events"] = [
            {"Time": words_of.moment(event["at"]), "Message": event["en"]} for event in events
        ]
    _dump(found)
    return 0


def _dump(value: object) -> None:
    import json

    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _list(here: Any, flags: Flags) -> int:
    size = _number(flags.get("page_size", "10"), "page_size")
    page = max(1, _number(flags.get("page_num", "1"), "page_num"))
    wanted = [job for job in here.iter_jobs(**_filters(flags)) if _matches(job, flags)]
    rows = []
    for job in wanted[(page - 1) * size : page * size]:
        rows.append(
            [
                words_of.job_id(job["id"]),
                job["name"],
                "PyTorchJob",
                words_of.STATUS.get(job["state"], "Creating"),
                job["owner"],
                words_of.moment(job.get("submitted_at")),
                words_of.moment(job.get("ended_at")),
            ]
        )
    head = ["JobId", "DisplayName", "JobType", "Status", "UserId", "GmtCreateTime", "GmtFinishTime"]
    sys.stdout.write(words_of.table(head, rows))
    return 0


def _filters(flags: Flags) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if flags.get("workspace_id") not in ("", "default"):
        found["group"] = flags.get("workspace_id")
    status = flags.get("status")
    if status:
        ours = [state for state, name in words_of.STATUS.items() if name.lower() == status.lower()]
        found["state"] = ",".join(ours) or "queued"
    for option, key in (("start_time", "since"), ("end_time", "until")):
        if flags.has(option):
            found[key] = words_of.seconds(flags.get(option))
    return found


def _matches(job: dict[str, Any], flags: Flags) -> bool:
    name = flags.get("display_name")
    pattern = flags.get("display_name_regex")
    if name and name not in job["name"]:
        return False
    try:
        return not pattern or re.search(pattern, job["name"]) is not None
    except re.error:
        raise Trouble(
            f"{pattern!r} is not a valid pattern", f"{pattern!r} 不是正则表达式", 2
        ) from None


def _number(text: str, option: str) -> int:
    if not text.isdigit():
        raise Trouble(f"--{option} {text!r} is not a number", f"--{option} {text!r} 不是数字", 2)
    return int(text)


def _workspaces(here: Any) -> int:
    """The user's groups by name; users in no group have a workspace of their own."""
    person: Any = here.whoami()
    groups = list(person.get("groups") or [])
    names = [group["name"] if isinstance(group, dict) else str(group) for group in groups]
    rows = [[name, name, "member"] for name in names] or [["default", "default", "owner"]]
    sys.stdout.write(words_of.table(["WorkspaceId", "WorkspaceName", "Role"], rows))
    return 0


def _pod(here: Any, words: list[str]) -> int:
    if not words:
        raise Trouble("usage: dlc get pod JOB POD", "写法：dlc get pod 任务 POD", 2)
    job = _found(here, words[0])
    index = _index(job, words[1] if len(words) > 1 else "")
    _dump(words_of.detail(job, job["owner"])["Pods"][index])
    return 0


def _index(job: dict[str, Any], pod: str) -> int:
    """The task a pod name refers to; by default the first."""
    names = [name for name, _ in words_of.pod_names(job)]
    if not pod:
        return 0
    for index, name in enumerate(names):
        if pod in (name, name.partition("-")[2], str(index)):
            return index
    listed = ", ".join(names)
    raise Trouble(f"no such pod: {pod}; available: {listed}", f"没有 pod {pod}；现有：{listed}")


def _logs(words: list[str], flags: Flags) -> int:
    if not words:
        raise Trouble("usage: dlc logs JOB POD", "写法：dlc logs 任务 POD", 2)
    here = client(flags)
    job = _found(here, words[0])
    index = _index(job, words[1] if len(words) > 1 else "")
    lines = _number(flags.get("max_events_num", str(MOST_LINES)), "max_events_num")
    empty = True
    for piece in here.logs(job["id"], task=index, tail=lines):
        if piece:
            empty = False
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    if empty:
        sys.stdout.write(SILENT)
    return 0


def _stop(words: list[str], flags: Flags) -> int:
    names = words[1:] if words[:1] in (["job"], ["jobs"]) else words
    if not names:
        raise Trouble("usage: dlc stop job ID", "写法：dlc stop job ID", 2)
    here = client(flags)
    for ident in names:
        job = _found(here, ident)
        if not (flags.has("force") or flags.has("quiet")) and sys.stdin.isatty():
            sys.stdout.write(f"stop {ident}? [y/N] ")
            sys.stdout.flush()
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                continue
        here.stop(job["id"])
        if not flags.has("quiet"):
            rows = [[words_of.job_id(job["id"]), words_of.request_id()]]
            sys.stdout.write(words_of.table(["JobId", "RequestId"], rows))
    return 0


def _specs(here: Any) -> int:
    rows = []
    for node in here.nodes():
        models = sorted({str(gpu["model"]) for gpu in node["gpus"]})
        memory = f"{int(node['memory']) >> 30}Gi"
        rows.append(
            [node["name"], str(int(node["cpus"])), memory, str(len(node["gpus"])), ",".join(models)]
        )
    sys.stdout.write(words_of.table(["InstanceType", "CPU", "Memory", "GPU", "GPUType"], rows))
    return 0


def _quota(here: Any) -> int:
    rows = [
        [line["model"], str(line["total"]), str(line["free"])]
        for line in here.gpus().get("summary") or []
    ]
    sys.stdout.write(words_of.table(["GPUType", "Total", "Free"], rows))
    return 0
