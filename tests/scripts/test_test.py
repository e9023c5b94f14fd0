"""`scripts/test` runs what failed a second time, and tells luck from failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "test"
PASSES = "def test_that_passes():\n    pass\n"
FAILS = "def test_that_fails():\n    assert False\n"
# Fails the first time, whoever runs it.
LUCKY = """
import pathlib
import pytest
@pytest.mark.parametrize("word", [{words}])
def test_of_luck(word):
    tried = pathlib.Path(__file__).with_suffix(f".tried{{len(word)}}{{ord(word[0])}}")
    before = tried.exists()
    tried.touch()
    assert before
"""


# The plugins of our own tests take longer to load than these tests to run.
_LIGHT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist"}


def lucky(*words: str) -> str:
    return LUCKY.format(words=", ".join(repr(word) for word in words))


class Suite:
    """A tiny project with the script in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir()
        shutil.copy(SCRIPT, folder / "scripts" / "test")
        self.write("tests/test_fine.py", PASSES)
        self.write("tests/reliability/test_fine_too.py", PASSES)

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        venv = Path(sys.executable).parent.parent
        return subprocess.run(
            ["sh", "scripts/test", *words],
            cwd=self.folder,
            env={**kept, "VENV": str(venv), **_LIGHT},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def flaky(done: subprocess.CompletedProcess[str]) -> list[str]:
    start = "flaky: "
    return [line[len(start) :] for line in done.stdout.splitlines() if line.startswith(start)]


def test_what_passes_at_once_runs_once(suite: Suite) -> None:
    done = suite.run()
    assert done.returncode == 0, done.stdout
    assert "second time" not in done.stdout
    assert done.stdout.count("1 passed") == 2


def test_a_test_of_luck_passes_the_second_time_and_is_named(suite: Suite) -> None:
    suite.write("tests/test_luck.py", lucky("a b", "::"))
    done = suite.run()
    assert done.returncode == 0, done.stdout
    assert flaky(done) == [
        "tests/test_luck.py::test_of_luck[a b]",
        "tests/test_luck.py::test_of_luck[::]",
    ]


def test_a_reliability_test_of_luck_is_named_too(suite: Suite) -> None:
    suite.write("tests/reliability/test_luck.py", lucky("a"))
    done = suite.run()
    assert done.returncode == 0, done.stdout
    assert flaky(done) == ["tests/reliability/test_luck.py::test_of_luck[a]"]


@pytest.mark.parametrize("where", ["tests/test_bad.py", "tests/reliability/test_bad.py"])
def test_what_fails_twice_fails(suite: Suite, where: str) -> None:
    suite.write(where, FAILS)
    done = suite.run()
    assert done.returncode == 1, done.stdout
    assert flaky(done) == []


def test_one_that_fails_twice_fails_all_however_lucky_the_others(suite: Suite) -> None:
    suite.write("tests/test_luck.py", lucky("a", "b"))
    suite.write("tests/test_bad.py", FAILS)
    done = suite.run()
    assert done.returncode == 1, done.stdout
    assert "second time" in done.stdout
    assert flaky(done) == []
    assert "test_fine_too" not in done.stdout


def test_more_than_five_failures_are_not_put_down_to_luck(suite: Suite) -> None:
    suite.write("tests/test_luck.py", lucky(*"abcdef"))
    done = suite.run()
    assert done.returncode == 1, done.stdout
    assert "second time" not in done.stdout


def test_a_file_that_cannot_be_read_fails_at_once(suite: Suite) -> None:
    suite.write("tests/test_broken.py", "import nothing_of_this_name\n")
    done = suite.run()
    assert done.returncode != 0, done.stdout
    assert "second time" not in done.stdout


def test_a_run_that_stops_at_its_first_failure_is_not_saved_by_luck(suite: Suite) -> None:
    suite.write("tests/test_luck.py", lucky("a"))
    done = suite.run("-x")
    assert done.returncode != 0, done.stdout
    assert flaky(done) == []


def test_words_for_pytest_choose_the_tests(suite: Suite) -> None:
    suite.write("tests/test_bad.py", FAILS)
    done = suite.run("-k", "passes")
    assert done.returncode == 0, done.stdout


def test_what_failed_in_an_earlier_run_does_not_count(suite: Suite) -> None:
    suite.write("tests/test_bad.py", FAILS)
    assert suite.run().returncode == 1
    (suite.folder / "tests" / "test_bad.py").unlink()
    suite.write("tests/test_luck.py", lucky("a"))
    done = suite.run()
    assert done.returncode == 0, done.stdout
    assert len(flaky(done)) == 1
