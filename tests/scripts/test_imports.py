"""import-linter keeps the layers: a forbidden import fails `make lint`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
APART = {"cli", "sdk", "steps", "inside"}  # have contracts of their own
LINT = Path(sys.executable).with_name("lint-imports")


def _copy(folder: Path) -> Path:
    shutil.copy(REPO / "pyproject.toml", folder)
    pages = REPO / "src" / "danlu" / "web"

    def only_code(parent: str, names: list[str]) -> set[str]:
        return {name for name in names if name == "__pycache__" or Path(parent, name) == pages}

    shutil.copytree(REPO / "src", folder / "src", ignore=only_code)
    return folder / "src" / "danlu"


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
    )


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
        (
            "api.jobs",
            "from danlu.store import calls",
            "Routes ask services: none reaches into the store, the control loop or the files"
            " BROKEN",
        ),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, module: str, line: str, broken: str) -> None:
    file = _copy(tmp_path) / f"{module.replace('.', '/')}.py"
    file.write_text(f"{file.read_text()}\n{line}\n")
    result = _lint(tmp_path)
    assert result.returncode == 1, result.stderr
    assert [line for line in result.stdout.splitlines() if line.endswith("BROKEN")] == [broken]
    target = line.split()[1]
    assert f"danlu.{module} -> {target}" in result.stdout


def test_a_room_without_a_place_among_the_others_is_found(tmp_path: Path) -> None:
    room = _copy(tmp_path) / "attic"
    room.mkdir()
    (room / "__init__.py").write_text("")
    result = _lint(tmp_path)
    assert result.returncode != 0
    assert "attic" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("contract", "named", "free"),
    [
        ("Only the server knows", "source_modules", {"server", "engines", *APART}),
        ("What runs inside tasks", "forbidden_modules", {"steps", "inside"}),
        ("The command line stays light", "forbidden_modules", {"cli", "sdk", "steps"}),
        ("Deciding is pure", "forbidden_modules", {"sched", "spec", "steps"}),
    ],
)
def test_a_contract_names_all_rooms_it_is_about(contract: str, named: str, free: set[str]) -> None:
    """`free`: the rooms it does not restrict, or lets be imported."""
    settings = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["importlinter"]
    (found,) = (each for each in settings["contracts"] if each["name"].startswith(contract))
    assert {name.removeprefix("danlu.") for name in found[named]} == _rooms() - free


def _rooms() -> set[str]:
    source = REPO / "src" / "danlu"
    rooms = {path.parent.name for path in source.glob("*/__init__.py")}
    return rooms | {path.stem for path in source.glob("*.py") if path.stem != "__init__"}
