"""What is left of a folder brought along after its job has ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import DanluServer

CONFIG = '[carry]\nfolders = "1s"\nkeep = "3s"\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("tidy") / "data", CONFIG).start()
    yield server
    server.cleanup()


def test_a_retried_job_finds_what_it_wrote(server: DanluServer, tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("cat checkpoint && exit 0; echo half > checkpoint; exit 1\n")
    words = ("run", "--quiet", "--retries", "1", "--carry", "--", "sh", "train.sh")
    done = server.cli(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"half" in done.stdout


def test_only_what_the_job_made_stays(server: DanluServer, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("pass\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "large").write_bytes(b"x" * 100_000)
    make = "echo result > out; echo more >> code.py; pwd"
    words = ("--carry", "--json", "-n", "kept", "--", "sh", "-c", make)
    job = json.loads(server.cli("run", *words, cwd=tmp_path).stdout)
    time.sleep(4)  # longer than anything is kept here

    cleaned = json.loads(server.cli("disk", "clean", "--rule", "bundles", "--json").stdout)

    assert cleaned["bytes"] >= 100_000
    look = server.cli("run", "--quiet", "-w", "-", "--", "ls", "/userhome/carried/kept-1")
    assert look.stdout.split() == [b"code.py", b"out"]
    done = server.cli("rerun", job["ref"])
    assert done.returncode == 2, done.stderr
    assert b"--carry" in done.stderr
    again = server.cli("run", "--quiet", "--carry", "--", "cat", "code.py", cwd=tmp_path)
    assert again.stdout == b"pass\n"
