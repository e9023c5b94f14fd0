"""`kill -9` the server at any instant while its tasks run in containers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.conftest import SLOTS
from tests.reliability.kills import survive
from tests.support.containers import BUSYBOX, ContainerDaemon, busybox_image, docker, podman
from tests.support.folders import let_in
from tests.support.server import DanluServer

KILLS = int(os.environ.get("DANLU_TEST_KILLS", "8"))
JOBS = int(os.environ.get("DANLU_TEST_JOBS", "24"))


@pytest.fixture(params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> Iterator[ContainerDaemon]:
    daemon: ContainerDaemon = docker() if request.param == "docker" else podman()
    try:
        daemon.start()
        daemon.import_image(BUSYBOX, busybox_image())
        yield daemon
    finally:
        daemon.remove()


def test_kills_under_load_lose_nothing_and_run_nothing_twice(
    daemon: ContainerDaemon, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    let_in(runs)
    config = (
        f'[engine]\ncontainers = "{daemon.kind}"\ncontainer_socket = "{daemon.socket}"\n'
        f'[volumes.runs]\nsource = "{runs}"\n{SLOTS}'
    )
    server = DanluServer(tmp_path / "data", config).start()
    try:
        problems = survive(server, runs, KILLS, JOBS, inside="/mnt/runs", longest=8, image=BUSYBOX)
        assert not problems, "\n".join(problems[:20])
    finally:
        server.cleanup()
