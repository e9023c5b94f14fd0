"""Containers that stay although their tasks have ended, because they are being saved."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

_LONGEST = 86400.0  # seconds; whoever held it is gone


class Held:
    """A file for each, so that a restarted server does not sweep them away."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: set[str] = set()
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                if path.stat().st_mtime > time.time() - _LONGEST:
                    self._names.add(path.name)
                else:
                    path.unlink()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, name: str) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(self._folder / name, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        self._names.add(name)

    def remove(self, name: str) -> bool:
        """Whether it was held."""
        if name not in self._names:
            return False
        self._names.discard(name)
        (self._folder / name).unlink(missing_ok=True)
        return True
