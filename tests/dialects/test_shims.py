"""Installing the foreign commands: never in front of a real one unless told."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import pytest

from danlu.cli import shims
from danlu.cli.shims.main import NAMES
from tests.dialects.harness import ShimHarness


def test_a_real_command_is_left_alone_unless_told(
    shim_harness: ShimHarness, tmp_path: Path
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "squeue").write_text("#!/bin/sh\necho the real one\n")
    (real / "squeue").chmod(0o755)
    env = {"PATH": f"{real}:/nowhere"}
    done = shim_harness.danlu("shims", "install", "--dir", str(tmp_path / "a"), env=env)
    assert done.returncode == 0
    assert not (tmp_path / "a" / "squeue").exists()
    assert (tmp_path / "a" / "sbatch").exists()
    assert str(real / "squeue") in done.stderr
    over = shim_harness.danlu("shims", "install", "--over", "--dir", str(tmp_path / "b"), env=env)
    assert (tmp_path / "b" / "squeue").exists()
    assert over.stderr.count("not in your PATH") == 1


@pytest.mark.parametrize("name", NAMES)
def test_help_submits_nothing_and_needs_no_server(shim_harness: ShimHarness, name: str) -> None:
    program = f"import sys; from danlu.cli.shims.main import main; sys.exit(main({name!r}))"
    away = {"DANLU_SERVER": "http://127.0.0.1:1"}
    done = shim_harness.run(sys.executable, "-c", program, "--help", env=away)
    assert done.returncode == 0, done.stderr
    assert name in done.stdout


def test_an_option_is_not_taken_for_the_command_to_launch(shim_harness: ShimHarness) -> None:
    program = "import sys; from danlu.cli.shims.main import main; sys.exit(main('ilaunch'))"
    words = ("q", "default", "--help")
    done = shim_harness.run(sys.executable, "-c", program, *words)
    assert done.returncode == 2
    assert "usage: ilaunch" in done.stderr


def test_all_are_installed_again_over_our_own_and_removed(
    shim_harness: ShimHarness, tmp_path: Path
) -> None:
    folder = tmp_path / "c"
    env = {"PATH": str(folder)}
    for _ in range(2):
        done = shim_harness.danlu("shims", "install", "--dir", str(folder), env=env)
        assert done.stdout.count("  installed\n") == len(NAMES)
        assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)
    shim_harness.danlu("shims", "remove", "--dir", str(folder))
    assert list(folder.iterdir()) == []


def test_a_program_is_told_in_json(shim_harness: ShimHarness, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "squeue").write_text("#!/bin/sh\n")
    (real / "squeue").chmod(0o755)
    folder = tmp_path / "d"
    words = ("--json", "shims", "install", "--dir", str(folder), "sbatch", "squeue")
    done = shim_harness.danlu(*words, env={"PATH": str(real)})
    assert json.loads(done.stdout) == {
        "folder": str(folder),
        "installed": ["sbatch"],
        "left_out": {"squeue": str(real / "squeue")},
        "on_path": False,
    }
    for removed in (["sbatch"], []):
        done = shim_harness.danlu("--json", "shims", "remove", "--dir", str(folder))
        assert json.loads(done.stdout) == {"folder": str(folder), "removed": removed}
    assert "None of these" in shim_harness.danlu("shims", "remove", "--dir", str(folder)).stdout


def test_an_unknown_name_is_refused(shim_harness: ShimHarness) -> None:
    assert shim_harness.danlu("shims", "install", "qsub").returncode == 2
    assert shim_harness.danlu("shims", "dance").returncode == 2


SLOW = {
    *(
        "argparse",
        "asyncio",
        "dataclasses",
        "email",
        "enum",
        "functools",
        "http",
        "inspect",
        "json",
    ),
    *("logging", "pathlib", "re", "shutil", "ssl", "subprocess", "tempfile", "threading", "typing"),
    *("urllib", "uuid"),
}


@pytest.mark.parametrize(
    "words",
    [
        ["squeue"],
        ["squeue", "-h", "-o", "%i %T"],
        ["scancel", "-n", "nothing"],
        ["sinfo"],
        ["sbatch", "--parsable", "--wrap", "true"],
        ["zlaunch", "--list"],
        ["ilaunch", "q", "default", "true"],
        ["srun", "true"],
    ],
    ids=" ".join,
)
def test_they_start_as_fast_as_danlu_itself(shim_harness: ShimHarness, words: list[str]) -> None:
    code = (
        "import sys; before = set(sys.modules); from danlu.cli.shims.main import main;"
        "code = main(sys.argv[1], sys.argv[2:]);"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr); sys.exit(code)"
    )
    done = shim_harness.run(sys.executable, "-c", code, *words)
    assert done.returncode == 0, done.stderr
    # Before it, on a busy machine, stands why the job has not begun.
    imported = set(done.stderr.splitlines()[-1].split())
    assert imported & SLOW == set()
    assert not [name for name in imported if name.startswith(("danlu.spec", "danlu.server"))]


def test_what_they_say_themselves_exists_in_both_languages() -> None:
    """`Trouble` and `chosen` take the sentence twice; the second is Chinese."""
    found = 0
    for path in sorted(Path(shims.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(getattr(node, "func", None), "id", "")
            if not isinstance(node, ast.Call) or name not in ("Trouble", "chosen"):
                continue
            if not isinstance(node.args[0], ast.Constant | ast.JoinedStr):
                continue  # the server's own words, which come in both
            texts = [ast.unparse(argument) for argument in node.args[:2]]
            found += 1
            assert re.search("[\u4e00-\u9fff]", texts[1]), f"{path.name}: {texts}"
    assert found > 40
