"""`srun` outside a job: allocates resources, runs the command there, and follows it."""

from __future__ import annotations

import os
import sys

from danlu.cli.shims.submitting import query, table, write_notes
from danlu.cli.shims.trouble import Trouble
from danlu.steps.slurm_options import FLAGS_OF_STEPS, VALUED_OF_STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.cli.shims.flags import Flags

VALUED = ("relative", "threads", "het-group", "bcast", "jobid")
MORE_FLAGS = (
    *("allocate", "disable-status", "exact", "interactive", "label", "multi-prog", "overlap"),
    *("preserve-env", "pty", "unbuffered", "whole"),
)
SPREADS = ("ntasks", "nodes", "ntasks-per-node")


def srun(words: list[str]) -> int:
    inside = os.environ.get("DANLU_VOLUME_STEPS")
    if inside and os.environ.get("SLURM_JOB_ID"):
        os.execv(f"{inside}/bin/srun", ["srun", *words])  # noqa: S606
    flags = options().read(words)
    if flags.has("version"):
        sys.stdout.write("slurm (danlu)\n")
        return 0
    if not flags.words:
        raise Trouble("No command given to execute", "没有要运行的命令")
    return in_foreground("srun", flags, flags.words)


def options() -> Any:
    valued = {name: VALUED_OF_STEPS[name] for name in VALUED}
    flags = {name: FLAGS_OF_STEPS[name] for name in MORE_FLAGS}
    more = {"kill-on-bad-exit": "", "immediate": "", "wait-time": ""}
    return table({**valued, **more}, {**flags, "wait": ""})


def in_foreground(name: str, flags: Flags, command: list[str]) -> int:
    """Queues a job made from options and a command, and follows it until it ends."""
    from danlu.cli.attending import attend
    from danlu.cli.commands.run import stdin_kind
    from danlu.cli.options import parse
    from danlu.cli.registry import COMMON, find
    from danlu.cli.session import Session
    from danlu.cli.submission import PATIENCE

    run = find("run")
    assert run is not None
    pty = flags.has("pty")
    args = parse(run, ["--tty" if pty and sys.stdin.isatty() else "--no-tty", "--", "x"], COMMON)
    stdin = stdin_kind(args)
    # salloc leaves starting tasks to its command; srun starts them.
    several = name == "srun" and any(flags.get(option, "1") != "1" for option in SPREADS)
    words = ["srun", *_layout(flags), "--", *command] if several else command
    # Input goes to one process: the one the platform starts.
    keys: dict[str, Any] = {"stdin": stdin, "files": {}}
    if stdin == "tty" and "TERM" in os.environ:
        keys["env"] = {"TERM": os.environ["TERM"]}
    asked = query(flags, [], **keys)
    text = f"#!/bin/bash\nexec {_quoted(words)}\n"
    asked["offers"] = asked["offers"][:-1] + f',"name":"{_name(command)}"}}'
    session = Session(args)
    answer: Any = session.client.submit_text(text.encode(), "text/plain", **asked)
    if not flags.has("quiet"):
        write_notes(name, answer)
    if name == "salloc":
        sys.stderr.write(f"salloc: Granted job allocation {answer['jobs'][0]['seq']}\n")
    # The other nodes only wait for the srun inside, which also brings their output.
    code = attend(session, args, answer["jobs"], stdin, PATIENCE, first=True)
    if name == "salloc":
        sys.stderr.write(f"salloc: Relinquishing job allocation {answer['jobs'][0]['seq']}\n")
    return code


def _quoted(words: list[str]) -> str:
    """Quotes for a shell; importing shlex would cost more than all the rest."""
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def _name(command: list[str]) -> str:
    from danlu.cli.foreign import tidy

    return tidy(os.path.basename(command[0]))


def _layout(flags: Flags) -> list[str]:
    """What the inner srun must know to start the same tasks."""
    found = []
    for option in (*SPREADS, "cpus-per-task", "gpus-per-task", "relative"):
        if flags.has(option):
            found.append(f"--{option}={flags.get(option)}")
    for option in ("label", "unbuffered", "multi-prog"):
        if flags.has(option):
            found.append(f"--{option}")
    return found
