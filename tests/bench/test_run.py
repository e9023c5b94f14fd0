"""bench/run as a person meets it."""

import json
import os
import subprocess
import time
from pathlib import Path

from bench.main import NAMES

ROOT = Path(__file__).resolve().parents[2]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "bench" / "run", *words], capture_output=True, text=True)


def test_without_a_name_every_benchmark_is_listed_on_a_line() -> None:
    done = run()
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert all(len(line.split()) > 3 for line in lines)


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    done = run("troughput")
    assert done.returncode == 2
    assert "troughput" in done.stderr
    assert "throughput" in done.stderr
    assert done.stdout == ""


def test_a_round_number_below_one_is_refused() -> None:
    assert run("startup", "--rounds", "0").returncode == 2


def test_startup_runs_against_a_real_server_and_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [ROOT / "bench" / "run", "startup", "--json", "--rounds", "1"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["what"].split(",")[0].split(" (")[0] for row in rows] == [
        "danlu --version",
        "danlu jobs",
    ]
    for row in rows:
        assert row["danlu"] > 0
        assert row["anchor"] > 0
        assert row["anchor_name"] == "python -c pass"
        assert row["met"] in (True, False)
    assert list(tmp_path.iterdir()) == []
    # Helpers see by themselves that their server is gone.
    deadline = time.monotonic() + 180
    while left := _processes_naming(str(tmp_path)):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def _processes_naming(text: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended meanwhile
        line = b" ".join(words).decode(errors="replace")
        if text in line:
            found.append(line)
    return found
