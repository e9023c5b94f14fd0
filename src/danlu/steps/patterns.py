"""Slurm's file name patterns (%j and so on), with Danlu's values if Slurm's are not set."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PATTERN = re.compile(r"%(\d{0,2})([a-zA-Z%])")
_NO_ARRAY = "4294967294"


def expand(pattern: str, env: Mapping[str, str], task: int = 0, step: str = "batch") -> str:
    number = env.get("DANLU_JOB", "0").rpartition("-")[2]  # owner/name-3, owner/name-3.7
    job = env.get("SLURM_JOB_ID", number)
    name = env.get("SLURM_JOB_NAME") or env.get("DANLU_JOB_NAME", "job")
    node = env.get("SLURMD_NODENAME") or env.get("DANLU_NODE", "")
    values = {
        "%": "%",
        "A": env.get("SLURM_ARRAY_JOB_ID", job.partition(".")[0]),
        "a": env.get("SLURM_ARRAY_TASK_ID") or env.get("DANLU_ARRAY_INDEX", _NO_ARRAY),
        "J": job if step == "batch" else f"{job}.{step}",
        "j": job,
        "N": node,
        "n": env.get("SLURM_NODEID", "0"),
        "s": step,
        "t": str(task),
        "u": env.get("USER", ""),
        "x": name,
    }

    def one(match: re.Match[str]) -> str:
        width, letter = match.groups()
        value = values.get(letter)
        if value is None:
            return match[0]
        return value.zfill(int(width)) if width and value.isdigit() else value

    return _PATTERN.sub(one, pattern)
