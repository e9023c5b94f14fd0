"""Disks that behave as a test needs them to."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def immutable(sign: str, path: Path) -> bool:
    """`+`: nobody may write the file, not even who has it open; `-`: as before."""
    done = subprocess.run(["chattr", f"{sign}i", str(path)], stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


@contextlib.contextmanager
def freezable_folder(usual: Path) -> Iterator[Path]:
    """A folder whose files can be made immutable under their writer: the usual one, or one on the
    checkout's disk (a tmpfs takes the order and does not follow it)."""
    if _freezes(usual):
        yield usual
        return
    cache = ROOT / ".cache"
    cache.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="test-", dir=cache))
    try:
        if not _freezes(folder):
            pytest.skip("no file system here can make a file read-only under its writer")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _freezes(folder: Path) -> bool:
    probe = folder / "probe"
    with probe.open("wb", buffering=0) as file:
        try:
            if not immutable("+", probe):
                return False
            try:
                os.write(file.fileno(), b"x")
            except OSError:
                return True
            return False
        finally:
            immutable("-", probe)
            probe.unlink()
