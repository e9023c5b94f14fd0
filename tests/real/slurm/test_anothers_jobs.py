"""A member who wants to end others' Slurm jobs: their own records and comments are their words."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.slurm import users
from danlu.engines.slurm.users import User
from tests.real.slurm.server import SlurmServer
from tests.real.slurm.test_server import ended, running, submit
from tests.support.slurm import Slurm
from tests.support.waiting import until

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root stops the jobs of others")


@pytest.fixture(scope="module")
def site(shared_slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmServer]:
    server = SlurmServer(shared_slurm, tmp_path_factory.mktemp("hostile")).start()
    yield server
    server.cleanup()
    shared_slurm.tidy()


@root
def test_a_claim_with_anothers_number_does_not_stop_their_job(
    site: SlurmServer, slurm: Slurm
) -> None:
    """The server cancelled whatever number the user had written into the claim."""
    number = slurm.sbatch(slurm.people["bob"], "--wrap=sleep 600")
    until(lambda: slurm.job(number)["JobState"] == "RUNNING")
    ann = site.member(slurm.people["ann"])
    # Her task writes the claim anew, and takes the record away in which it would be told to stop.
    shared = site.data.parent / "shared"
    command = (
        f'sleep 3; for d in "{shared}"/*/run/*; do rm -f "$d"/claim "$d"/0.claim "$d"/0.new; '
        f'echo {number} >"$d/claim"; done; trap "" TERM; '
        "while :; do sleep 1; done"
    )
    job = running(ann, submit(ann, command=command))
    claim = until(lambda: next(iter(shared.glob("*/run/*/claim")), None), 30)
    assert claim is not None
    until(lambda: claim.read_text() == f"{number}\n")
    time.sleep(1.0)  # until the server has looked at it several times
    ann.call("POST", f"/jobs/{job['id']}/stop", {"grace": 0})

    def decided() -> bool:
        mine = ann.call("GET", f"/jobs/{job['id']}")["state"]
        return mine == "stopped" or slurm.job(number)["JobState"] != "RUNNING"

    until(decided)
    assert slurm.job(number)["JobState"] == "RUNNING"
    assert ended(ann, job)["state"] == "stopped"
    slurm.as_user(slurm.people["bob"], "scancel", str(number))


@root
def test_a_folder_that_somebody_else_made_does_not_keep_its_owner_out(tmp_path: Path) -> None:
    """Anybody may make folders in the shared one, also under another's name."""
    home = tmp_path / "bob-41002"
    home.mkdir()
    os.chown(home, 41_001, 41_001)
    (home / "run").symlink_to("/etc")
    users._offer(str(home), User("bob", 41_002, 41_002))
    assert home.stat().st_uid == 41_002 and not list(home.iterdir())
    (home / "mine").touch()
    users._offer(str(home), User("bob", 41_002, 41_002))
    assert [path.name for path in home.iterdir()] == ["mine"]
