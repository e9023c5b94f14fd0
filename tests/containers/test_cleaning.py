"""Images nobody uses are removed, and no others; folders brought along are seen in containers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.containers import ContainerDaemon, busybox_image
from tests.support.server import DanluServer

UNUSED, HELD, RUNNING, FOREIGN = (
    f"danlu-clean-{name}:1" for name in ("unused", "held", "running", "foreign")
)


@pytest.fixture(scope="module", params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> ContainerDaemon:
    found: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    for name in (UNUSED, HELD, RUNNING, FOREIGN):
        found.import_image(name, busybox_image())
    return found


@pytest.fixture(scope="module")
def server(
    daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DanluServer]:
    config = (
        f'[engine]\ncontainers = "{daemon.kind}"\ncontainer_socket = "{daemon.socket}"\n'
        '[disks]\nimages = "1s"\n'
    )
    server = DanluServer(tmp_path_factory.mktemp("cleaning") / "data", config).start()
    yield server
    server.cleanup()


def test_only_images_that_jobs_used_long_ago_are_removed(
    server: DanluServer, daemon: ContainerDaemon
) -> None:
    for image in (UNUSED, HELD):
        assert server.cli("run", "--image", image, "--", "true").returncode == 0
    held = server.submit(image=HELD, command=["true"], held=True)
    running = server.submit(image=RUNNING, command=["sleep", "600"])
    while server.get(f"/jobs/{running['id']}")["state"] != "running":
        time.sleep(0.05)
    time.sleep(1.5)  # longer than images are kept here

    listed = json.loads(server.cli("disk", "clean", "--dry-run", "--json").stdout)
    assert [item["name"] for item in listed["items"]] == [UNUSED]
    assert daemon.has_image(UNUSED)

    done = json.loads(server.cli("disk", "clean", "--yes", "--json").stdout)
    assert [(item["name"], item["removed"]) for item in done["items"]] == [(UNUSED, True)]
    there = [daemon.has_image(name) for name in (UNUSED, HELD, RUNNING, FOREIGN)]
    assert there == [False, True, True, True]
    report = server.get("/disks")
    assert report["last_cleaning"]["by"] == "admin"
    kinds = {place["kind"] for disk in report["disks"] for place in disk["places"]}
    assert {"data", daemon.kind} <= kinds
    for job in (held, running):
        server.post(f"/jobs/{job['id']}/stop", {"now": True})


def test_a_folder_is_brought_along_into_a_container(server: DanluServer, tmp_path: Path) -> None:
    (tmp_path / "word").write_text("carried\n")
    words = ("run", "--quiet", "--image", HELD, "--carry", "--", "sh", "-c")
    done = server.cli(*words, "cat word; echo new > made; pwd", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    word, place = done.stdout.decode().split()
    assert word == "carried"
    assert place.startswith("/userhome/carried/sh-")
