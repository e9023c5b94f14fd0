"""Jobs saved as images, as people do it: command line, registry, the next start."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.server import DanluServer, free_port

Values = dict[str, Any]


@pytest.fixture(scope="module", params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> ContainerDaemon:
    found: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    return found


def config(daemon: ContainerDaemon, registry: bool = True) -> str:
    return (
        f'[engine]\ncontainers = "{daemon.kind}"\ncontainer_socket = "{daemon.socket}"\n'
        f"[registry]\nenabled = {str(registry).lower()}\nport = {free_port()}\n"
        'free = "50M"\n'  # where the tests' folder is in memory, it is small
    )


@pytest.fixture(scope="module")
def server(
    daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DanluServer]:
    folder = tmp_path_factory.mktemp("server")
    server = DanluServer(folder / "data", config(daemon)).start()
    yield server
    server.cleanup()


def until(what: Callable[[], Any], patience: float = 180.0) -> Any:
    deadline = time.monotonic() + patience
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def running(server: DanluServer, command: str) -> Values:
    """A job in a container that has printed `ready`."""
    job: Values = server.submit(image=BUSYBOX, command=f"{command}; echo ready; sleep 1000")
    until(lambda: b"ready" in server.cli("logs", job["ref"]).stdout)
    return job


def stop(server: DanluServer, job: Values) -> None:
    server.post(f"/jobs/{job['id']}/stop", {"now": True})
    server.wait(job)


def events(server: DanluServer, job: Values) -> list[Values]:
    found: list[Values] = server.get(f"/jobs/{job['id']}/events")["events"]
    return found


def test_a_job_is_saved_and_the_next_one_runs_from_it(server: DanluServer) -> None:
    job = running(server, "echo kept > /tmp/kept; head -c 2000000 /dev/urandom > /tmp/large")
    dry = server.cli("save", job["ref"], "mine:1", "--dry-run")
    assert dry.returncode == 0 and b"1.9" in dry.stdout, (dry.stdout, dry.stderr)
    done = server.cli("save", job["ref"], "mine:1", "--note", "what I need")
    assert done.returncode == 0, (done.stderr, server.tail())
    image = json.loads(server.cli("image", "show", "mine:1", "--json").stdout)
    assert image["source"] == "saved"
    assert image["description"] == "what I need"
    assert image["digest"].startswith("sha256:")
    assert server.get(f"/jobs/{job['id']}")["state"] == "running", "it goes on"
    told = [each["kind"] for each in events(server, job)]
    assert told.count("saved") == 1 and "saving" in told
    again = server.cli("run", "--image", image["name"], "--", "cat", "/tmp/kept")
    assert again.stdout == b"kept\n", again.stderr
    stop(server, job)


def test_save_then_stop_ends_the_command_first(server: DanluServer) -> None:
    command = "trap 'echo last > /tmp/last; exit' TERM; echo ready; while :; do sleep 0.1; done"
    job = server.submit(image=BUSYBOX, command=command, grace="20s")
    until(lambda: b"ready" in server.cli("logs", job["ref"]).stdout)
    done = server.cli("save", job["ref"], "stopped:1", "--stop")
    assert done.returncode == 0, done.stderr
    assert server.get(f"/jobs/{job['id']}")["state"] == "stopped"
    image = json.loads(server.cli("image", "show", "stopped:1", "--json").stdout)["name"]
    again = server.cli("run", "--image", image, "--", "cat", "/tmp/last")
    assert again.stdout == b"last\n", again.stderr


def test_what_cannot_be_saved_is_refused_with_a_reason(server: DanluServer) -> None:
    job = running(server, "true")
    for name, words in (
        ("root/x:1", b"You may not write to root/x"),
        ("docker.io/x/y:1", b"another registry"),
        ("UPPER", b"not a name for an image"),
    ):
        done = server.cli("save", job["ref"], name)
        assert done.returncode != 0 and words in done.stderr, (name, done.stderr)
    plain = server.submit(command="sleep 1000")
    until(lambda: server.get(f"/jobs/{plain['id']}")["state"] == "running")
    done = server.cli("save", plain["ref"], "x:1")
    assert b"without an image" in done.stderr
    stop(server, plain)
    stop(server, job)
    assert b"is not running" in server.cli("save", job["ref"], "x:1").stderr


def test_a_killed_server_says_what_became_of_a_save(
    daemon: ContainerDaemon, tmp_path: Path
) -> None:
    server = DanluServer(tmp_path / "data", config(daemon)).start()
    try:
        job = running(server, "head -c 120000000 /dev/urandom > /tmp/large")
        begun = server.post(f"/jobs/{job['id']}/save", {"image": "large:1"})
        until(lambda: server.get(f"/saves/{begun['id']}")["state"] == "saving")
        server.kill()
        server.start()
        save = server.get(f"/saves/{begun['id']}")
        assert save["state"] == "interrupted"
        assert "restarted" in save["error_en"]
        assert server.get(f"/jobs/{job['id']}")["state"] == "running"
        done = server.cli("save", job["ref"], "large:1")
        assert done.returncode == 0, done.stderr
        stop(server, job)
    finally:
        server.cleanup()


def test_without_a_registry_it_stays_on_the_node_for_those_who_may(
    daemon: ContainerDaemon, tmp_path: Path
) -> None:
    server = DanluServer(tmp_path / "data", config(daemon, registry=False)).start()
    try:
        job = running(server, "echo kept > /tmp/kept")
        dry = server.cli("save", job["ref"], "local:1", "--dry-run")
        assert b"stay on the node" in dry.stdout
        done = server.cli("save", job["ref"], "local:1")
        assert done.returncode == 0, done.stderr
        image = server.get("/images")["images"][0]["name"]
        assert image == "danlu.internal/admin/local:1"
        again = server.cli("run", "--image", image, "--", "cat", "/tmp/kept")
        assert again.stdout == b"kept\n", again.stderr
        stop(server, job)
    finally:
        server.cleanup()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a disk")
def test_saving_more_than_fits_is_refused_beforehand(
    daemon: ContainerDaemon, tmp_path: Path
) -> None:
    disk, data = tmp_path / "disk.img", tmp_path / "data"
    data.mkdir()
    with disk.open("wb") as file:
        file.truncate(300 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(disk)], check=True)
    subprocess.run(["mount", "-o", "loop", str(disk), str(data)], check=True)
    server = DanluServer(data / "danlu", config(daemon))
    try:
        server.start()
        job = running(server, "head -c 400000000 /dev/zero > /tmp/large")
        done = server.cli("save", job["ref"], "large:1")
        assert done.returncode != 0
        assert b"Not enough space" in done.stderr, done.stderr
        assert server.get("/saves")["saves"] == []
        free = os.statvfs(data)
        assert free.f_bavail * free.f_frsize > 100 << 20, "nobody's disk was filled meanwhile"
        small = server.cli("run", "--", "echo", "works")
        assert small.stdout == b"works\n"
        stop(server, job)
    finally:
        server.cleanup()
        subprocess.run(["umount", "-l", str(data)], check=True)


def test_a_cancelled_save_ends(server: DanluServer) -> None:
    job = running(server, "head -c 100000000 /dev/urandom > /tmp/large")
    begun = server.post(f"/jobs/{job['id']}/save", {"image": "cancelled:1"})
    ended = json.loads(server.cli("image", "cancel", begun["id"], "--json").stdout)
    assert ended["state"] == "cancelled"
    assert server.cli("image", "show", "cancelled:1").returncode != 0
    assert server.get(f"/jobs/{job['id']}")["state"] == "running"
    stop(server, job)
