"""`scontrol` inside a batch job: the subcommands scripts use to find their master."""

from __future__ import annotations

import os
import socket
import sys

from danlu.steps.hostlist import expanded
from danlu.steps.main import Trouble


def scontrol(words: list[str]) -> int:
    words = [word for word in words if not word.startswith("-")]
    if words[:2] in (["show", "hostnames"], ["show", "hostname"]):
        given = words[2] if len(words) > 2 else os.environ.get("SLURM_JOB_NODELIST", "")
        sys.stdout.write("".join(f"{name}\n" for name in reachable(expanded(given))))
        return 0
    if words[:2] in (["show", "hostlist"], ["show", "hostlistsorted"]):
        sys.stdout.write(",".join(expanded(words[2] if len(words) > 2 else "")) + "\n")
        return 0
    if words[:1] in (["requeue"], ["requeuehold"]):
        # Tasks have no access to the server; retries need none.
        raise Trouble(
            "a job cannot put itself back into the queue. Submit it with danlu submit --retries N"
            " and exit with a non-zero status: it is retried, counted by SLURM_RESTART_COUNT."
            " 任务不能自己重新排队：用 danlu submit --retries N 提交，并以非 0 状态退出，"
            "平台会重试（SLURM_RESTART_COUNT 记录次数）"
        )
    raise Trouble(
        "inside a job only `scontrol show hostnames` and `show hostlist` are supported."
        " 任务中只支持 scontrol show hostnames 和 show hostlist"
    )


def reachable(names: list[str]) -> list[str]:
    """Names to connect to; a node whose name does not resolve is given by its address."""
    nodes = os.environ.get("SLURM_JOB_NODELIST", "").split(",")
    addresses = dict(zip(nodes, os.environ.get("DANLU_HOSTS", "").split(",")))  # noqa: B905
    known = _known_names()
    return [name if name in known else addresses.get(name) or name for name in names]


def _known_names() -> set[str]:
    """Without DNS, where an unreachable server would mean a long timeout."""
    found = {socket.gethostname()}
    try:
        with open("/etc/hosts") as file:
            for line in file:
                found.update(line.partition("#")[0].split()[1:])
    except OSError:
        pass
    return found
