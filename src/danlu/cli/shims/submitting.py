"""What sbatch, srun and salloc share: the job as Slurm's options ask for it, sent to the server."""

from __future__ import annotations

import os
import sys

from danlu.cli.shims.flags import Flags, Table
from danlu.cli.shims.trouble import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VALUED = {
    "account": "A",
    "acctg-freq": "",
    "array": "a",
    "batch": "",
    "bb": "",
    "begin": "b",
    "chdir": "D",
    "clusters": "M",
    "comment": "",
    "constraint": "C",
    "container": "",
    "container-env": "",
    "container-image": "",
    "container-mounts": "",
    "container-name": "",
    "container-save": "",
    "container-workdir": "",
    "core-spec": "S",
    "cores-per-socket": "",
    "cpu-bind": "",
    "cpu-freq": "",
    "cpus-per-gpu": "",
    "cpus-per-task": "c",
    "deadline": "",
    "dependency": "d",
    "distribution": "m",
    "error": "e",
    "exclude": "x",
    "export": "",
    "extra-node-info": "B",
    "gid": "",
    "gpu-bind": "",
    "gpu-freq": "",
    "gpus": "G",
    "gpus-per-node": "",
    "gpus-per-socket": "",
    "gpus-per-task": "",
    "gres": "",
    "gres-flags": "",
    "hint": "",
    "input": "i",
    "job-name": "J",
    "licenses": "L",
    "mail-type": "",
    "mail-user": "",
    "mem": "",
    "mem-bind": "",
    "mem-per-cpu": "",
    "mem-per-gpu": "",
    "mincpus": "",
    "mpi": "",
    "network": "",
    "nodefile": "F",
    "nodelist": "w",
    "nodes": "N",
    "ntasks": "n",
    "ntasks-per-core": "",
    "ntasks-per-gpu": "",
    "ntasks-per-node": "",
    "ntasks-per-socket": "",
    "open-mode": "",
    "output": "o",
    "partition": "p",
    "priority": "",
    "profile": "",
    "qos": "q",
    "reservation": "",
    "signal": "",
    "sockets-per-node": "",
    "switches": "",
    "threads-per-core": "",
    "time": "t",
    "time-min": "",
    "tmp": "",
    "uid": "",
    "wait-all-nodes": "",
    "wckey": "",
    "wrap": "",
}
FLAGS = {
    "container-entrypoint": "",
    "container-mount-home": "",
    "container-readonly": "",
    "container-remap-root": "",
    "container-writable": "",
    "contiguous": "",
    "help": "h",
    "hold": "H",
    "ignore-pbs": "",
    "no-container-entrypoint": "",
    "no-container-mount-home": "",
    "no-container-remap-root": "",
    "no-requeue": "",
    "overcommit": "O",
    "oversubscribe": "s",
    "parsable": "",
    "quiet": "Q",
    "requeue": "",
    "share": "",
    "spread-job": "",
    "test-only": "",
    "use-min-nodes": "",
    "verbose": "v",
    "version": "V",
    "wait": "W",
}
OPTIONAL = (
    "exclusive",
    "get-user-env",
    "nice",
    "propagate",
    "kill-on-invalid-dep",
    "no-kill",
    "x11",
)
_OURS = ("parsable", "wait", "test-only", "quiet", "verbose", "wrap", "mpi", "label", "pty")


def table(valued: dict[str, str] | None = None, flags: dict[str, str] | None = None) -> Table:
    return Table({**VALUED, **(valued or {})}, {**FLAGS, **(flags or {})}, OPTIONAL, stop=True)


def environment(flags: Flags) -> dict[str, str]:
    """What goes along: everything, as sbatch does, unless --export says otherwise."""
    from danlu.cli.jobflags import carried_environment

    every = {
        name: value
        for name, value in carried_environment().items()
        if not name.startswith(("SLURM", "SBATCH"))
    }
    text = flags.get("export", "ALL")
    if text in ("NONE", "NIL"):
        return {}
    parts = text.split(",")
    if "ALL" in parts:
        return every
    return {part: every[part] for part in parts if part in every}


def query(flags: Flags, arguments: list[str], **keys: Any) -> dict[str, Any]:
    """How the server is to read the script."""
    from danlu.sdk.fastjson import dumps
    from danlu.sdk.ids import uuid7

    offers = {"workdir": os.getcwd(), "env": environment(flags)}
    return {
        "dialect": "sbatch",
        "option": _passed_on(flags),
        "argument": arguments,
        "keys": dumps({"id": uuid7(), **keys}),
        "offers": dumps({key: value for key, value in offers.items() if value}),
    }


def _passed_on(flags: Flags) -> list[str]:
    """Options the server reads; those of the command itself stay here."""
    found: list[str] = []
    for name in (*VALUED, *OPTIONAL, *FLAGS):
        if name in _OURS or not flags.has(name):
            continue
        value = flags.get(name)
        if name in FLAGS:
            found.append(f"--{name}")
        else:
            found.append(f"--{name}={value}" if value or name in VALUED else f"--{name}")
    return found


def write_notes(name: str, answer: Any) -> None:
    from danlu.cli.texts import pick

    for note in answer.get("notes") or []:
        say(name, str(pick(note, "")))
    sys.stderr.flush()
