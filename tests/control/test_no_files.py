"""The control loop touches no disk: what is the node's, its engine answers; the rest is files/."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import danlu.control

ROOM = Path(danlu.control.__file__).parent
DISK = {"glob", "io", "os", "pathlib", "shutil", "stat", "subprocess", "tarfile", "tempfile"}


def touches(source: str) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.partition(".")[0] in DISK]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in DISK:
            found.append(str(node.module))
        elif isinstance(node, ast.Attribute) and node.attr == "__file__":
            found.append("__file__")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found += ["open()"] if node.func.id == "open" else []
    return found


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_a_file_of_the_control_loop_touches_no_disk(path: Path) -> None:
    assert touches(path.read_text()) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os.path", ["os.path"]),
        ("from pathlib import Path", ["pathlib"]),
        ("def f():\n    import shutil", ["shutil"]),
        ("with open('x') as f: pass", ["open()"]),
        ("import danlu.steps\nx = danlu.steps.__file__", ["__file__"]),
    ],
)
def test_such_a_use_would_be_found(source: str, found: list[str]) -> None:
    assert touches(source) == found
