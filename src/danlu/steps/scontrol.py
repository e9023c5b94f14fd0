"""`scontrol` inside a batch job: what scripts ask it to find their master by."""

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
    raise Trouble("inside a job only `scontrol show hostnames` and `show hostlist` are answered")


def reachable(names: list[str]) -> list[str]:
    """Names that can be connected to: a node whose name nobody knows goes by its address."""
    nodes = os.environ.get("SLURM_JOB_NODELIST", "").split(",")
    addresses = dict(zip(nodes, os.environ.get("DANLU_HOSTS", "").split(",")))  # noqa: B905
    known = _known_names()
    return [name if name in known else addresses.get(name) or name for name in names]


def _known_names() -> set[str]:
    """Without asking DNS: a name server that is away takes its time to say so."""
    found = {socket.gethostname()}
    try:
        with open("/etc/hosts") as file:
            for line in file:
                found.update(line.partition("#")[0].split()[1:])
    except OSError:
        pass
    return found
