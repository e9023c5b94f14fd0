"""What matters here of slurm.conf, as the controller tells it (`scontrol show config`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Settings:
    tracks: bool = False  # Slurm finds all processes of a job, and ends them with it
    accounting: bool = False  # jobs that have ended are kept in a database
    private: bool = False  # not everybody sees everything


UNKNOWN = Settings()


def read(text: str) -> Settings:
    found = dict(_LINE.findall(text))
    return Settings(
        found.get("ProctrackType") == "proctrack/cgroup",  # others lose what has no parent
        found.get("AccountingStorageType") == "accounting_storage/slurmdbd",
        found.get("PrivateData", "none") not in ("none", ""),
    )
