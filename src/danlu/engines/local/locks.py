"""The lock files that the tools are made from, and the names of what is made of them.

A name changes with its lock files, so that an upgrade makes new tools beside the old ones.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from pathlib import Path

import danlu

_PACKAGE = Path(danlu.__file__).parent
_FOLDERS = (_PACKAGE / "locks", _PACKAGE.parent.parent / "requirements")
TOOLS, KERNELS, BUILDERS, NODE = "tools.txt", "kernels.txt", "builders.txt", "node.txt"
EDITOR = "code-server.txt"
_VERSION = 1  # of what is done with them
_TREE = 2  # likewise, for the tree only
PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
"""Versions of Python that become kernels without having ipykernel."""


def path_of(name: str) -> Path:
    return next((path for folder in _FOLDERS if (path := folder / name).is_file()), Path(name))


@functools.cache
def venv_hash() -> str:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return _hash((TOOLS, KERNELS, BUILDERS), version)


@functools.cache
def tree_hash() -> str:
    return _hash((TOOLS, KERNELS, BUILDERS, NODE, EDITOR), f"tree {_TREE}")


def _hash(names: tuple[str, ...], more: str) -> str:
    parts = [f"{_VERSION} {more} {os.uname().machine}".encode()]
    parts += [path_of(name).read_bytes() for name in names]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
