"""`kill -9` the server at any instant: nothing acknowledged is lost, nothing runs twice."""

from __future__ import annotations

import os
from pathlib import Path

from tests.reliability.kills import survive
from tests.support.folders import let_in
from tests.support.server import DanluServer

KILLS = int(os.environ.get("DANLU_TEST_KILLS", "50"))
JOBS = int(os.environ.get("DANLU_TEST_JOBS", "320"))


def test_fifty_kills_under_load_lose_nothing_and_run_nothing_twice(
    server: DanluServer, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    let_in(runs)
    problems = survive(server, runs, KILLS, JOBS)
    assert not problems, "\n".join(problems[:20])
