"""Shared by sbatch, srun and salloc: builds a job from Slurm's options and submits it."""

from __future__ import annotations

import os
import sys

from danlu.cli.shims.flags import Flags, Table
from danlu.cli.shims.trouble import say
from danlu.steps import slurm_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VALUED = {**slurm_options.VALUED, **slurm_options.VALUED_OF_JOBS}
OPTIONAL = (*slurm_options.OPTIONAL, *slurm_options.OPTIONAL_OF_JOBS)
FLAGS = {
    name: short
    for name, short in {**slurm_options.FLAGS, **slurm_options.FLAGS_OF_JOBS}.items()
    if name not in OPTIONAL
}
_OURS = ("parsable", "wait", "test-only", "quiet", "verbose", "wrap", "mpi", "label", "pty")


def table(valued: dict[str, str] | None = None, flags: dict[str, str] | None = None) -> Table:
    return Table({**VALUED, **(valued or {})}, {**FLAGS, **(flags or {})}, OPTIONAL, stop=True)


def environment(flags: Flags) -> dict[str, str]:
    """The environment to pass: all of it, as sbatch does, unless --export says otherwise."""
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
    """How the server should read the script."""
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
    """Options for the server; those of the command itself are not passed on."""
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
