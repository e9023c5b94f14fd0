"""What a build runs, in every shell that a base may have.

conda itself cannot be had from a package index, and mamba neither: a program that stands in writes
down what it was asked for. The arguments were never tried with a real conda.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from danlu.services.build_script import LACKING, Recipe, script_of
from tests.support.parts import need

STAND_IN = '#!/bin/sh\n[ "$1" = config ] && {{ printf "{channels}"; exit; }}\necho "$@" >> {said}\n'
SHELLS = (("dash",), ("bash",), ("busybox", "sh"))
NOTHING: dict[str, str] = {}


@pytest.fixture(params=SHELLS, ids=[" ".join(each) for each in SHELLS])
def shell(request: pytest.FixtureRequest) -> list[str]:
    first, *rest = request.param
    return [need(first), *rest]


def built(
    shell: list[str],
    folder: Path,
    program: str = "",
    channels: str = "",
    env: dict[str, str] = NOTHING,
) -> tuple[int, str, list[str]]:
    """Exit code, what was complained of, and what the program was asked for."""
    said = folder / "said"
    tools = folder / "bin"
    tools.mkdir()
    (tools / "grep").symlink_to(need("grep"))
    if program:
        path = tools / program
        path.write_text(STAND_IN.format(said=said, channels=channels))
        path.chmod(0o755)
    script = script_of(Recipe("x:1", "base", conda=("conda-forge::zlib=1.2", "numpy<2.1,>=2")))
    done = subprocess.run(
        [*shell, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tools), "HOME": os.devnull} | env,
    )
    asked = said.read_text().splitlines() if said.exists() else []
    return done.returncode, done.stderr, asked


PACKAGES = "conda-forge::zlib=1.2 numpy<2.1,>=2"


@pytest.mark.parametrize("program", ["conda", "mamba"])
def test_conda_packages_go_where_conda_has_its_base(
    shell: list[str], tmp_path: Path, program: str
) -> None:
    code, complaint, asked = built(shell, tmp_path, program)
    assert (code, complaint) == (0, "")
    assert asked == [f"install -y {PACKAGES}", "clean -y --all"]


def test_micromamba_is_told_where_and_from_which_channel(shell: list[str], tmp_path: Path) -> None:
    code, complaint, asked = built(shell, tmp_path, "micromamba")
    assert (code, complaint) == (0, "")
    assert asked == [f"install -y -n base -c conda-forge {PACKAGES}", "clean -y --all"]


def test_channels_that_a_base_has_set_are_kept(shell: list[str], tmp_path: Path) -> None:
    *_, asked = built(shell, tmp_path, "micromamba", r"channels:\n  - http://lab/channel\n")
    assert asked[0] == f"install -y -n base {PACKAGES}"


def test_the_conda_that_a_base_names_is_taken(shell: list[str], tmp_path: Path) -> None:
    elsewhere = {"CONDA_EXE": str(tmp_path / "bin/mine")}
    code, _, asked = built(shell, tmp_path, "mine", env=elsewhere)
    assert code == 0 and asked[0] == f"install -y {PACKAGES}"


def test_a_base_without_conda_is_told_in_both_languages(shell: list[str], tmp_path: Path) -> None:
    if any(Path(each, "bin/conda").exists() for each in ("/opt/conda", "/opt/miniforge3")):
        pytest.skip("this machine has a conda where bases have theirs")
    code, complaint, asked = built(shell, tmp_path)
    assert (code, asked) == (LACKING, [])
    assert "has neither conda nor mamba nor micromamba" in complaint
    assert "没有 conda、mamba 或 micromamba" in complaint
