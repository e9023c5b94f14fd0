"""Finds Slurm's own commands: Danlu's commands of the same names may be before them on the PATH."""

from __future__ import annotations

import os

_OURS = (b"danlu.cli.shims", b"DANLU_PYTHON")
_HEAD = 4096  # bytes: ours are short scripts, Slurm's are no scripts


def real(name: str) -> str | None:
    """The path of Slurm's command; None: there is none."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", name)
        if os.path.isfile(path) and os.access(path, os.X_OK) and not _is_ours(path):
            return path
    return None


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return head.startswith(b"#!") and any(mark in head for mark in _OURS)
