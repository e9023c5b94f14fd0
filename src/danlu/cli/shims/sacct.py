"""`sacct`: past and current jobs, in Slurm's columns."""

from __future__ import annotations

import sys
import time

from danlu.cli.shims import slurm
from danlu.cli.shims.fields import fit
from danlu.cli.shims.flags import Table
from danlu.cli.shims.squeue import Row, as_json, elements
from danlu.cli.shims.trouble import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.shims.flags import Flags

USUAL = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
WIDTHS = {
    "jobid": 12,
    "start": 19,
    "end": 19,
    "submit": 19,
    "exitcode": 8,
    "nodelist": 15,
    "workdir": 30,
    "alloctres": 20,
    "reqtres": 20,
}
TITLES = {
    name.lower(): name
    for name in (
        *("JobID", "JobIDRaw", "JobName", "Partition", "Account", "AllocCPUS", "NCPUS", "ReqCPUS"),
        *("State", "ExitCode", "Elapsed", "ElapsedRaw", "Start", "End", "Submit", "User", "UID"),
        *("Group", "NodeList", "NNodes", "AllocNodes", "NTasks", "ReqMem", "MaxRSS", "AveRSS"),
        *("Timelimit", "TimelimitRaw", "AllocTRES", "ReqTRES", "Priority", "QOS", "Cluster"),
        *("WorkDir", "CPUTime", "CPUTimeRAW", "TotalCPU", "DerivedExitCode", "Reason", "Comment"),
        *("Reserved", "Planned", "ReqGRES", "AllocGRES", "Eligible", "SubmitLine", "Suspended"),
    )
}
TABLE = Table(
    {
        "accounts": "A",
        "clusters": "M",
        "delimiter": "",
        "endtime": "E",
        "format": "o",
        "jobs": "j",
        "name": "",
        "nodelist": "N",
        "partition": "r",
        "qos": "q",
        "starttime": "S",
        "state": "s",
        "uid": "",
        "units": "",
        "user": "u",
        "wckeys": "W",
    },
    {
        "allocations": "X",
        "allusers": "a",
        "brief": "b",
        "duplicates": "D",
        "help": "h",
        "helpformat": "e",
        "long": "l",
        "noconvert": "",
        "noheader": "n",
        "parsable": "p",
        "parsable2": "P",
        "truncate": "T",
        "verbose": "v",
        "version": "V",
    },
    ("json", "yaml"),
)


def sacct(words: list[str]) -> int:
    flags = TABLE.read(words)
    if flags.has("helpformat"):
        sys.stdout.write("\n".join(TITLES.values()) + "\n")
        return 0
    if flags.has("version"):
        sys.stdout.write("slurm (danlu)\n")
        return 0
    client = slurm.client()
    jobs = _chosen(client, flags)
    if flags.has("json"):
        import json

        json.dump({"jobs": [as_json(client, job) for job in jobs], "errors": []}, sys.stdout)
        sys.stdout.write("\n")
        return 0
    columns = _columns(
        "JobID,State,ExitCode" if flags.has("brief") else flags.get("format") or USUAL
    )
    rows = [[_value(name, client, job) for name, _, _ in columns] for job in jobs]
    _write(flags, columns, rows)
    return 0


def _columns(text: str) -> list[tuple[str, int, bool]]:
    """(name, width, left-aligned) from `JobID%-20,State`."""
    found = []
    for part in text.split(","):
        name, _, size = part.strip().partition("%")
        plain = name.lower()
        if not plain:
            continue
        if plain not in TITLES:
            raise Trouble(f'Invalid field requested: "{name}"', f"没有字段 {name!r}")
        left = size.startswith("-")
        width = int(size.lstrip("-")) if size.lstrip("-").isdigit() else WIDTHS.get(plain, 10)
        found.append((plain, width, left or plain == "jobid"))
    return found


def _write(flags: Flags, columns: list[tuple[str, int, bool]], rows: list[list[str]]) -> None:
    titles = [TITLES[name] for name, _, _ in columns]
    lines: list[str] = []
    if flags.has("parsable") or flags.has("parsable2"):
        mark = flags.get("delimiter") or "|"
        end = mark if flags.has("parsable") else ""
        lines = [mark.join(row) + end for row in ([] if flags.has("noheader") else [titles]) + rows]
    else:
        if not flags.has("noheader"):
            lines.append(_aligned(titles, columns))
            lines.append(" ".join("-" * width for _, width, _ in columns) + " ")
        lines += [_aligned(row, columns) for row in rows]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _aligned(row: list[str], columns: list[tuple[str, int, bool]]) -> str:
    cells = [fit(text, width, not left) for text, (_, width, left) in zip(row, columns)]  # noqa: B905
    return " ".join(cells) + " "


def _chosen(client: Any, flags: Flags) -> list[dict[str, Any]]:
    asked = flags.items("jobs")
    if asked:
        from danlu.sdk.errors import ApiError

        jobs: list[dict[str, Any]] = []
        for ref in asked:
            try:
                jobs += elements(client, ref.partition(".")[0])
            except ApiError as error:
                if error.status != 404:
                    raise
    else:
        since = _moment(flags.get("starttime")) or _midnight()
        until = _moment(flags.get("endtime"))
        jobs = list(client.iter_jobs(since=since, until=until))
    users = flags.items("user")
    if not asked and not users and not flags.has("allusers"):
        users = [client.whoami()["user"]]
    states = slurm.state_names(flags.items("state"))
    names = flags.items("name")
    found = [
        job
        for job in jobs
        if (not users or job["owner"] in users)
        and (not states or job["state"] in states)
        and (not names or job["name"] in names)
    ]
    return sorted(found, key=lambda job: int(job["seq"]))


def _midnight() -> float:
    now = time.localtime()
    return time.mktime((now.tm_year, now.tm_mon, now.tm_mday, 0, 0, 0, 0, 0, -1))


def _moment(text: str) -> float | None:
    if not text:
        return None
    if text.startswith("now"):
        return time.time() + _offset(text[3:])
    for form in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%m/%d/%y", "%m/%d"):
        try:
            found = time.strptime(text, form)
        except ValueError:
            continue
        year = found.tm_year if "%Y" in form or "%y" in form else time.localtime().tm_year
        return time.mktime((year, *found[1:6], 0, 0, -1))
    raise Trouble(f"Invalid time specification {text!r}", f"无法识别的时间 {text!r}")


def _offset(text: str) -> float:
    units = {"minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800, "seconds": 1}
    sign = -1 if text.startswith("-") else 1
    number = "".join(ch for ch in text if ch.isdigit())
    word = "".join(ch for ch in text if ch.isalpha()) or "seconds"
    unit = next((size for name, size in units.items() if name.startswith(word)), 1)
    return sign * int(number or 0) * unit


def _value(name: str, client: Any, job: dict[str, Any]) -> str:
    row = Row(client, job)
    limit = slurm.seconds_of(row.spec.get("time_limit"))
    ran = slurm.elapsed(job)
    cpus = slurm.cpus(row.spec)
    found: dict[str, Any] = {
        "jobid": slurm.number(job),
        "jobidraw": job["seq"],
        "jobname": job["name"],
        "partition": job["queue"],
        "account": job.get("group") or "",
        "alloccpus": cpus,
        "ncpus": cpus,
        "reqcpus": cpus,
        "state": slurm.state(job)[0],
        "exitcode": _code(job),
        "derivedexitcode": _code(job),
        "elapsed": slurm.clock(ran, short=False),
        "elapsedraw": int(ran),
        "cputime": slurm.clock(ran * cpus, short=False),
        "cputimeraw": int(ran * cpus),
        "start": slurm.moment(job.get("started_at"), "Unknown"),
        "end": slurm.moment(job.get("ended_at"), "Unknown"),
        "submit": slurm.moment(job.get("submitted_at"), "Unknown"),
        "eligible": slurm.moment(job.get("submitted_at"), "Unknown"),
        "user": job["owner"],
        "group": job.get("group") or "",
        "nodelist": ",".join(job.get("nodes") or ()) or "None assigned",
        "nnodes": row.value("D"),
        "allocnodes": row.value("D"),
        "ntasks": job.get("task_count") or 1,
        "reqmem": row.value("m"),
        "timelimit": slurm.clock(limit, short=False),
        "timelimitraw": "UNLIMITED" if limit is None else int(limit // 60),
        "alloctres": _tres(row.spec, cpus),
        "reqtres": _tres(row.spec, cpus),
        "reqgres": row.value("b"),
        "allocgres": row.value("b"),
        "priority": job["priority"],
        "qos": "normal",
        "cluster": "danlu",
        "workdir": row.value("Z"),
        "reason": row.value("r"),
    }
    return str(found.get(name, ""))


def _tres(spec: dict[str, Any], cpus: int) -> str:
    first = slurm.roles(spec)[0]
    parts = [f"cpu={cpus}", f"mem={first.get('memory', 0)}", f"node={first.get('count', 1)}"]
    count, model = slurm.gpus(first)
    if count:
        total = count * int(first.get("count", 1))
        parts.append(f"gres/gpu:{model}={total}" if model else f"gres/gpu={total}")
    return ",".join(parts)


def _code(job: dict[str, Any]) -> str:
    """status:signal."""
    code = job.get("exit_code") or 0
    if code > 128 and job["state"] != "succeeded":
        return f"0:{code - 128}"
    return f"{code}:0"
