"""import-linter keeps the layers: a forbidden import fails `make lint`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def _copy(folder: Path) -> Path:
    shutil.copy(REPO / "pyproject.toml", folder)
    pages = REPO / "src" / "danlu" / "web"

    def only_code(parent: str, names: list[str]) -> set[str]:
        return {name for name in names if name == "__pycache__" or Path(parent, name) == pages}

    shutil.copytree(REPO / "src", folder / "src", ignore=only_code)
    return folder / "src" / "danlu"


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        (
            "control.planner",
            "from danlu.engines.local import engine",
            "Only the server knows concrete engines BROKEN",
        ),
        (
            "files.catalogue",
            "from danlu.control.context import Context",
            "Rooms import only the rooms above them BROKEN",
        ),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, module: str, line: str, broken: str) -> None:
    file = _copy(tmp_path) / f"{module.replace('.', '/')}.py"
    file.write_text(f"{file.read_text()}\n{line}\n")
    result = subprocess.run(
        [LINT, "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1, result.stderr
    assert [line for line in result.stdout.splitlines() if line.endswith("BROKEN")] == [broken]
    target = line.split()[1]
    assert f"danlu.{module} -> {target}" in result.stdout
