"""import-linter keeps the layers: a forbidden import fails `make lint`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def _copy(folder: Path) -> Path:
    shutil.copy(REPO / "pyproject.toml", folder)
    only_code = shutil.ignore_patterns("__pycache__", "web")
    shutil.copytree(REPO / "src", folder / "src", ignore=only_code)
    return folder / "src" / "danlu"


def test_control_may_not_import_a_concrete_engine(tmp_path: Path) -> None:
    module = _copy(tmp_path) / "control" / "planner.py"
    module.write_text(f"{module.read_text()}\nfrom danlu.engines.local import engine\n")
    result = subprocess.run(
        [LINT, "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1, result.stderr
    broken = [line for line in result.stdout.splitlines() if line.endswith("BROKEN")]
    assert broken == ["Only the server knows concrete engines BROKEN"]
    assert "danlu.control.planner -> danlu.engines.local" in result.stdout
