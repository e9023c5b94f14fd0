"""A Python that tasks can execute: under root they run as their users, who cannot enter /root."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def for_tasks() -> str:
    if os.geteuid() != 0:
        return sys.executable
    candidates = (sys.executable, f"{sys.base_prefix}/bin/python3", "/usr/bin/python3")
    found = next(filter(is_open, candidates), None) or shutil.which("python3")
    if found is None or not is_open(found):
        raise SystemExit(
            f"bench: tasks run as their users, who cannot execute {sys.executable}; "
            "install another python3 (apt-get install python3), or run this without root"
        )
    return found


def is_open(path: str) -> bool:
    """Whether all users can reach it: the folders of each link, and those of its target."""
    real = Path(path).resolve()
    folders = {*Path(path).absolute().parents, *real.parents}
    return real.exists() and all(folder.stat().st_mode & 0o001 for folder in folders)
