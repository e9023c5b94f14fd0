"""A task that needs no keeper while it is young: bash starts it, and the keeper takes over later.

Python needs longer to start than many commands to run. So the batch script's own shell starts the
command of a simple task. If it ends soon, the shell notes how; if not, the shell becomes the keeper
(exec: the same process, so the command stays its child). Whatever the shell is not sure of, a
folder or program that is missing for example, it leaves to the keeper from the beginning.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from danlu.engines.local.tools import OWN_MOUNTS
from danlu.engines.slurm.node import places
from danlu.spec.job import RunAs, Stdin

SHELL = "/bin/bash"
NAME = "quick.sh"  # per task in the attempt's folder, and what they have in common
_COMMON = "danlu/engines/slurm/node/quick.sh"
_WAITS = "0.005 0.01 0.02 0.03 0.05 0.08 0.1"  # seconds, 0.3 in all
_LEAST_CAP = 1 << 20  # of the log: more than a pipe holds
_LONGEST = 88  # bytes of a folder for sockets, whose paths have at most 107
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Variables that bash has its own meaning for, and those of quick.sh.
_TAKEN = re.compile(
    r"BASH.*|COMP_.*|COMPREPLY|DIRSTACK|ENV|EPOCH.*|EUID|FUNCNAME|GLOBIGNORE|GROUPS|HIST.*|IFS"
    r"|LINENO|MAILCHECK|OPT.*|PIPESTATUS|POSIXLY_CORRECT|PPID|PS4|RANDOM|SECONDS|SHELLOPTS|SHLVL"
    r"|SRANDOM|TMOUT|UID|_|[a-z]"
)


def is_simple(task: Mapping[str, Any], has_secrets: bool) -> bool:
    """Whether the shell can start it. `task`: as it is read on its node."""
    return (
        os.path.exists(SHELL)  # here, and then most likely there
        and not has_secrets
        and task["gang"] == 1
        and not task["port_count"]
        and task["stdin"] == Stdin.NONE
        and task["run_as"] in (RunAs.ARGV, RunAs.SHELL)
        and "image_run" not in task
        and len(task["logs"]) == 1
        and task["log_cap"] >= _LEAST_CAP
        and len(task["processes"]) == 1
        and _can_set(task["processes"][0])
        and _is_text(task)
        and not any(mount["name"] in OWN_MOUNTS for mount in task["mounts"])
    )


def _can_set(env: Mapping[str, str]) -> bool:
    names = all(_NAME.fullmatch(name) and not _TAKEN.fullmatch(name) for name in env)
    return names and all(folder.startswith("/") for folder in env["PATH"].split(":"))


def _is_text(task: Mapping[str, Any]) -> bool:
    """Words that are no UTF-8 reach a task as JSON only."""
    try:
        "".join((*task["words"], *task["processes"][0].values(), task["workdir"])).encode()
    except UnicodeEncodeError:
        return False
    return True


def layout(task: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """What the attempt's folder has to have before the script runs."""
    linked = "DANLU_VOLUMES" in task["processes"][0]
    return {
        "run": _is_short(folder),
        "logs": os.path.basename(os.path.dirname(task["logs"][0])),
        "volumes": [[each["name"], each["source"]] for each in task["mounts"]] if linked else None,
    }


def _is_short(folder: str) -> bool:
    return len(os.fsencode(f"{folder}/run")) <= _LONGEST


def text(task: Mapping[str, Any], folder: str, agent: str, keeper: Sequence[str]) -> str:
    """The task's own part."""
    env = {name: value for name, value in task["processes"][0].items() if name != "DANLU_RUN"}
    is_shell = task["run_as"] == RunAs.SHELL
    words = ["bash", "-c", *task["words"]] if is_shell else task["words"]
    lines = [
        "n=${SLURMD_NODENAME:-$HOSTNAME} o=",
        f"w={_quote(task['workdir'])}",
        f"l={_quote(task['logs'][0])}",
        f"m={task.get('mark', '')}",
        f"u={task['umask']:04o} h=({_WAITS})",
        f"r={'$d/run' if _is_short(folder) else ''}",
        f"k=({_quoted(keeper)})",
        f"volumes=({_quoted(mount['source'] for mount in task['mounts'])})",
        f"folders=({_quoted(env['PATH'].split(':'))})",
        "own() {",
        *_exports(env),
        "}",
        f"set -- {_quoted(words)}",
        f". {_quote(f'{agent}/{_COMMON}')}",
    ]
    return "\n".join(lines) + "\n"


def mark(attempt_id: str) -> int:
    """A number that no other process on the node has as its limit of file locks."""
    return int(hashlib.sha256(attempt_id.encode()).hexdigest()[:12], 16) + (1 << 48)


def _exports(env: Mapping[str, str]) -> Iterator[str]:
    """Marks for this node are replaced by its name: a task alone has no other peer."""
    for name, value in env.items():
        quoted = _quote(value)
        for mark in (places.host_mark(0), places.name_mark(0)):
            quoted = quoted.replace(mark, "'\"$n\"'")
        yield f"export {name}={quoted}"


def _quoted(words: Sequence[str] | Iterator[str]) -> str:
    return " ".join(_quote(word) for word in words)


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
