"""Folders of a test that tasks can reach: as root they run as their users, not as the tester."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from pathlib import Path


def let_in(folder: Path) -> Path:
    """Everybody may pass the tester's own folders on the way, and use this one."""
    if os.geteuid() == 0:
        folder.chmod(0o777)
        for path in folder.parents:
            found = path.stat()
            if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_ISVTX | 0o011):
                path.chmod(stat.S_IMODE(found.st_mode) | 0o011)
    return folder


def is_open(path: str) -> bool:
    """Whether everybody gets to it."""
    real = Path(path).resolve()
    ways = {*Path(path).absolute().parents, *real.parents}
    return real.exists() and all(folder.stat().st_mode & 0o001 for folder in ways)


def files_with(folder: Path, text: bytes) -> list[str]:
    """Files below it that hold this; what goes while we look is passed over."""
    found = []
    for top, _, names in os.walk(folder):
        for path in (Path(top, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and text in path.read_bytes():
                    found.append(str(path.relative_to(folder)))
    return found


def open_python() -> str:
    """A Python that tasks can start: the checkout may be in a folder of root's own."""
    candidates = [sys.executable, f"{sys.base_prefix}/bin/python3", "/usr/bin/python3"]
    if os.geteuid() != 0:
        return sys.executable
    return next(filter(is_open, candidates), None) or shutil.which("python3") or "python3"
