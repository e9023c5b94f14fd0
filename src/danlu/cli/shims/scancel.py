"""`scancel`: stops jobs by number or by filter."""

from __future__ import annotations

from danlu.cli.shims import slurm
from danlu.cli.shims.flags import Flags, Table
from danlu.cli.shims.squeue import elements
from danlu.cli.shims.trouble import Trouble, chosen, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TABLE = Table(
    {
        "account": "A",
        "clusters": "M",
        "jobname": "n",
        "name": "",
        "nodelist": "w",
        "partition": "p",
        "qos": "q",
        "reservation": "R",
        "sibling": "",
        "signal": "s",
        "state": "t",
        "user": "u",
        "wckey": "",
    },
    {
        "batch": "b",
        "ctld": "",
        "cron": "c",
        "full": "f",
        "help": "",
        "hurry": "H",
        "interactive": "i",
        "me": "",
        "quiet": "Q",
        "verbose": "v",
        "version": "V",
    },
)


def scancel(words: list[str]) -> int:
    flags = TABLE.read(words)
    signal = flags.get("signal").upper().removeprefix("SIG")
    if signal not in ("", "TERM", "15", "KILL", "9", "INT", "2"):
        raise Trouble(
            f"signal {signal} cannot be sent to a job; only TERM, INT and KILL are supported",
            f"不能向任务发送信号 {signal}；只能用 TERM、INT、KILL 结束任务",
        )
    client = slurm.client()
    asked = [word for each in flags.words for word in each.replace(",", " ").split()]
    if not asked and not _filters(flags, client):
        raise Trouble("No job identification provided", "没有指定任务")
    code = 0
    targets = _named(client, asked, flags) if asked else _filtered(client, flags)
    for ref, job in targets:
        if job is None:
            code = 1
            if not flags.has("quiet"):
                say(
                    "scancel",
                    chosen(
                        f"error: Kill job error on job id {ref}: Invalid job id specified",
                        f"error: 任务编号 {ref} 无效",
                    ),
                )
            continue
        client.stop(job["id"], now=signal in ("KILL", "9"))
    return code


def _filters(flags: Flags, client: Any) -> dict[str, list[str]]:
    found = {
        "owner": flags.items("user"),
        "name": [*flags.items("jobname"), *flags.items("name")],
        "queue": flags.items("partition"),
        "group": flags.items("account"),
        "state": sorted(slurm.state_names(flags.items("state"))),
        "nodes": flags.items("nodelist"),
    }
    if flags.has("me"):
        found["owner"].append(client.whoami()["user"])
    return {key: values for key, values in found.items() if values}


def _named(client: Any, asked: list[str], flags: Flags) -> list[tuple[str, Any]]:
    from danlu.sdk.errors import ApiError

    filters = _filters(flags, client)
    found: list[tuple[str, Any]] = []
    for ref in asked:
        whole = ref.partition(".")[0]  # a step ends with its job
        try:
            jobs = elements(client, whole)
        except ApiError as error:
            if error.status != 404:
                raise
            found.append((ref, None))
            continue
        found += [(ref, job) for job in jobs if _fits(job, filters)]
    return [(ref, job) for ref, job in found if job is None or job["state"] not in slurm.ENDED]


def _filtered(client: Any, flags: Flags) -> list[tuple[str, Any]]:
    filters = _filters(flags, client)
    if "owner" not in filters:
        # As for any user but root: only one's own jobs.
        filters["owner"] = [client.whoami()["user"]]
    jobs = client.iter_jobs(active=True)
    return [(slurm.number(job), job) for job in jobs if _fits(job, filters)]


def _fits(job: dict[str, Any], filters: dict[str, list[str]]) -> bool:
    for key, wanted in filters.items():
        if key == "nodes":
            if not set(wanted) & set(job.get("nodes") or ()):
                return False
        elif job.get(key) not in wanted:
            return False
    return True
