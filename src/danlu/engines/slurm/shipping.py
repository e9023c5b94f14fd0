"""Puts the programs that run on compute nodes into the shared folder, once for each version."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import danlu
from danlu.engines.api import Unreachable

_SOURCE = Path(danlu.__file__).parent
_FOLDERS = ("engines/local/keeper", "engines/slurm/node", "steps", "inside")
_EMPTY = ("", "engines", "engines/local", "engines/slurm")  # packages above them
_RUN = """import gc
gc.disable()
import sys
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
from danlu.engines.slurm.node.task import main
gc.freeze()
gc.enable()
main(*sys.argv[1:])
"""
_COMPILING = 120.0  # seconds


def _files() -> Iterator[tuple[str, Path]]:
    for folder in _FOLDERS:
        for path in sorted((_SOURCE / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(_SOURCE)), path


def digest() -> str:
    found = hashlib.sha256(_RUN.encode())
    for name, path in _files():
        found.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def folder_of(shared: Path) -> Path:
    return shared / ".danlu" / f"agent-{digest()}"


def ship(shared: Path, python: str) -> str:
    """The folder with the programs. Blocks; raises Unreachable if it cannot be written."""
    target = folder_of(shared)
    if target.is_dir():
        return str(target)
    try:
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        target.parent.chmod(0o755)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=target.parent))
        _fill(draft)
        _compile(draft, python)
        _open_to_all(draft)
        try:
            draft.rename(target)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            if not target.is_dir():
                raise
    except OSError as error:
        where = f"{error.strerror} ({error.filename})"
        raise Unreachable(f"cannot write to the shared folder {shared}: {where}") from error
    return str(target)


def _fill(draft: Path) -> None:
    for package in _EMPTY:
        (draft / "danlu" / package).mkdir(parents=True, exist_ok=True)
        (draft / "danlu" / package / "__init__.py").write_text("")
    for name, path in _files():
        copy = draft / "danlu" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        copy.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
    (draft / "run.py").write_text(_RUN)


def _compile(draft: Path, python: str) -> None:
    """For the nodes' Python, as far as it is here as well: users cannot write beside the files."""
    found = dict.fromkeys(path for path in (python, sys.executable) if os.path.exists(path))
    for each in found:
        # Checked by content: a copy's time is not the original's.
        argv = [each, "-m", "compileall", "-q", "--invalidation-mode=unchecked-hash", str(draft)]
        try:
            subprocess.run(argv, timeout=_COMPILING, capture_output=True, cwd="/", check=False)
        except (OSError, subprocess.SubprocessError):
            continue


def _open_to_all(draft: Path) -> None:
    for path in (draft, *draft.rglob("*")):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
