"""`squeue`: waiting and running jobs, in Slurm's columns."""

from __future__ import annotations

import sys
import time

from danlu.cli.shims import fields, slurm
from danlu.cli.shims.squeue_words import LONG, NAMES, TABLE, USUAL, WORDS
from danlu.cli.shims.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.shims.flags import Flags


def squeue(words: list[str]) -> int:
    flags = TABLE.read(words)
    if flags.has("version"):
        sys.stdout.write("slurm (danlu)\n")
        return 0
    client = slurm.client()
    jobs = chosen(client, flags)
    if flags.has("json"):
        import json

        json.dump({"jobs": [as_json(client, job) for job in jobs], "errors": []}, sys.stdout)
        sys.stdout.write("\n")
        return 0
    pieces = _pieces(flags)
    head = fields.header(pieces, NAMES)
    if not flags.has("noheader"):
        sys.stdout.write(head.rstrip() + "\n")
    for job in jobs:
        row = Row(client, job)
        sys.stdout.write(fields.line(pieces, row.value).rstrip() + "\n")
    return 0


def _pieces(flags: Flags) -> list[fields.Piece]:
    if flags.has("Format"):
        return long_pieces(flags.get("Format"), WORDS)
    return fields.parse(flags.get("format") or (LONG if flags.has("long") else USUAL))


def long_pieces(text: str, words: dict[str, str], width: int = 20) -> list[fields.Piece]:
    """`jobid:10,name:.20`"""
    pieces = []
    for part in text.split(","):
        name, _, size = part.strip().partition(":")
        letter = words.get(name.lower())
        if letter is None:
            raise Trouble(f"Invalid job format specification: {name}", f"没有字段 {name}")
        right = size.startswith((".", "-"))
        size = size.lstrip(".-")
        pieces.append(fields.Piece("", letter, int(size) if size.isdigit() else width, right))
    return pieces


def chosen(client: Any, flags: Flags) -> list[dict[str, Any]]:
    """The jobs selected by the options; by default all that have not ended."""
    wanted = slurm.state_names(flags.items("states"))
    asked = [*flags.items("jobs"), *flags.items("job")]
    if asked:
        found = _by_number(client, asked)
        ended = wanted & set(slurm.ENDED)
        jobs = [job for job in found if job["state"] not in slurm.ENDED or job["state"] in ended]
    else:
        state = ",".join(sorted(wanted)) or None
        jobs = list(client.iter_jobs(state=state, active=None if wanted else True))
    users = [*flags.items("user"), *flags.items("users")]
    if flags.has("me"):
        users.append(client.whoami()["user"])
    for option, key in (("partition", "queue"), ("name", "name"), ("account", "group")):
        names = flags.items(option)
        jobs = [job for job in jobs if not names or job.get(key) in names]
    jobs = [job for job in jobs if not users or job["owner"] in users]
    jobs = [job for job in jobs if not wanted or job["state"] in wanted]
    nodes = flags.items("nodelist")
    jobs = [job for job in jobs if not nodes or set(nodes) & set(job.get("nodes") or ())]
    return _sorted(jobs, flags.get("sort"))


def _by_number(client: Any, asked: list[str]) -> list[dict[str, Any]]:
    from danlu.sdk.errors import ApiError

    found: list[dict[str, Any]] = []
    for ref in asked:
        try:
            found.extend(elements(client, ref))
        except ApiError as error:
            if error.status != 404 or len(asked) == 1:
                raise Trouble("Invalid job id specified", "任务编号无效") from None
    return found


def elements(client: Any, ref: str) -> list[dict[str, Any]]:
    """A job, or all elements of the array with this number."""
    job = client.show(ref)
    if job.get("array_index") is None or "_" in ref or array_of(job) != job["seq"]:
        return [job]
    every = client.iter_jobs(name=job["name"], owner=job["owner"])
    return [each for each in every if each["number"] == job["number"]]


def array_of(job: dict[str, Any]) -> int:
    return int(job.get("array_seq") or job["seq"])


def _sorted(jobs: list[dict[str, Any]], order: str) -> list[dict[str, Any]]:
    # Waiting jobs first, then by number, like squeue.
    jobs = sorted(jobs, key=lambda job: int(job["seq"]))
    if order in ("-i", "-jobid"):
        return jobs[::-1]
    if order in ("i", "jobid"):
        return jobs
    return sorted(jobs, key=lambda job: job["state"] != "queued")


class Row:
    """The fields of a job; those that need another request are fetched when shown."""

    def __init__(self, client: Any, job: dict[str, Any]) -> None:
        self._client = client
        self._job = job
        self._whole: dict[str, Any] | None = job if "spec" in job else None

    @property
    def spec(self) -> dict[str, Any]:
        if self._whole is None:
            self._whole = dict(self._client.show(self._job["id"]))
        spec: dict[str, Any] = self._whole["spec"]
        return spec

    def value(self, letter: str) -> str:
        job = self._job
        simple: dict[str, Any] = {
            "A": job["seq"],
            "a": job.get("group") or "(null)",
            "D": max(1, len(job.get("nodes") or ())) if job.get("nodes") else job.get("task_count"),
            "F": array_of(job),
            "G": job.get("group") or "(null)",
            "g": job.get("group") or "(null)",
            "i": slurm.number(job),
            "j": job["name"],
            "K": "N/A" if job.get("array_index") is None else job["array_index"],
            "M": slurm.clock(slurm.elapsed(job)),
            "N": ",".join(job.get("nodes") or ()),
            "B": (job.get("nodes") or ["n/a"])[0],
            "P": job["queue"],
            "p": job["priority"],
            "Q": job["priority"],
            "q": "normal",
            "S": slurm.moment(job.get("started_at")),
            "T": slurm.state(job)[0],
            "t": slurm.state(job)[1],
            "u": job["owner"],
            "V": slurm.moment(job.get("submitted_at")),
            "o": job.get("command") or "",
            "k": "(null)",
            "h": "OK",
        }
        if letter in simple:
            return str(simple[letter])
        return self._costly(letter)

    def _costly(self, letter: str) -> str:
        job = self._job
        if letter in "Rr":
            nodes = ",".join(job.get("nodes") or ())
            if job["state"] != "queued":
                return (nodes or "(None)") if letter == "R" else "None"
            reason = slurm.pending_reason(self._client, job)
            return f"({reason})" if letter == "R" else reason
        if letter in "lLe":
            limit = slurm.seconds_of(self.spec.get("time_limit"))
            if letter == "l":
                return slurm.clock(limit)
            if letter == "L":
                left = None if limit is None else max(0.0, limit - slurm.elapsed(job))
                return slurm.clock(left)
            started = job.get("started_at")
            end = job.get("ended_at") or (started + limit if started and limit else None)
            return slurm.moment(end)
        first = slurm.roles(self.spec)[0]
        more = {
            "C": str(slurm.cpus(self.spec)),
            "c": str(int(float(first.get("cpus", 1)))),
            "b": slurm.gres(self.spec),
            "m": str(first.get("memory", "0")),
            "Z": str(first.get("workdir") or self.spec.get("workdir") or "/userhome"),
            "E": _dependency(self.spec),
        }
        return more.get(letter, "N/A")


def _dependency(spec: dict[str, Any]) -> str:
    words = {
        "succeeded": "afterok",
        "failed": "afternotok",
        "ended": "afterany",
        "started": "after",
    }
    parts = []
    for each in spec.get("after") or ():
        job, when = (each["job"], each["when"]) if isinstance(each, dict) else (each, "succeeded")
        parts.append(f"{words[when]}:{job}")
    return ",".join(parts) or "(null)"


def as_json(client: Any, job: dict[str, Any]) -> dict[str, Any]:
    row = Row(client, job)
    limit = slurm.seconds_of(row.spec.get("time_limit"))
    return {
        "job_id": job["seq"],
        "array_job_id": {"set": True, "number": array_of(job)},
        "array_task_id": {
            "set": job.get("array_index") is not None,
            "number": job.get("array_index"),
        },
        "name": job["name"],
        "user_name": job["owner"],
        "account": job.get("group") or "",
        "partition": job["queue"],
        "job_state": [slurm.state(job)[0]],
        "state_reason": row.value("r"),
        "nodes": ",".join(job.get("nodes") or ()),
        "node_count": {"set": True, "number": int(row.value("D"))},
        "cpus": {"set": True, "number": slurm.cpus(row.spec)},
        "priority": {"set": True, "number": job["priority"]},
        "time_limit": {
            "set": limit is not None,
            "infinite": limit is None,
            "number": int((limit or 0) // 60),
        },
        "submit_time": {"set": True, "number": int(job.get("submitted_at") or 0)},
        "start_time": {"set": True, "number": int(job.get("started_at") or 0)},
        "end_time": {"set": True, "number": int(job.get("ended_at") or 0)},
        "exit_code": {"return_code": {"set": True, "number": job.get("exit_code") or 0}},
        "current_working_directory": row.value("Z"),
        "command": job.get("command") or "",
        "tres_per_node": row.value("b"),
        "last_update": int(time.time()),
    }
