"""`kill -9` the server at any instant while it submits to Slurm: nothing lost, nothing twice."""

from __future__ import annotations

import os
from pathlib import Path

from tests.real.slurm.danlu import server_on
from tests.reliability.kills import survive
from tests.support.slurm import Slurm

KILLS = int(os.environ.get("DANLU_TEST_KILLS", "50"))
JOBS = int(os.environ.get("DANLU_TEST_JOBS", "72"))


def test_fifty_kills_lose_no_job_and_run_none_twice(slurm: Slurm, tmp_path: Path) -> None:
    runs = slurm.fresh_folder()
    runs.chmod(0o777)
    server = server_on(slurm, tmp_path / "site" / "data", slurm.people["ann"])
    try:
        problems = survive(server, runs, KILLS, JOBS, longest=3.0, spread=True)
        assert not problems, "\n".join(problems[:20])
    finally:
        server.cleanup()
