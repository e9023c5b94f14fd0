"""The same door, whatever a task runs in: images with nothing in them, and servers without root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.conftest import docker_daemon, podman_daemon, registry
from tests.gateway.client import Client, SshServer, finished
from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.parts import missing, need
from tests.support.server import free_port

__all__ = ["docker_daemon", "podman_daemon", "registry"]
NOBODY = 65534


@pytest.fixture(scope="module", params=["docker", "podman"])
def contained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    daemon: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    config = f'[engine]\ncontainers = "{daemon.kind}"\ncontainer_socket = "{daemon.socket}"\n'
    server = SshServer(tmp_path_factory.mktemp("ssh-image") / "data", config).start()
    yield server.person("alice")
    server.cleanup()


def files_go_both_ways(client: Client, folder: Path) -> None:
    data = os.urandom(200_000)
    (folder / "file").write_bytes(data)
    assert client.copy(folder / "file", ":/userhome/sent").returncode == 0
    assert client.copy(":/userhome/sent", folder / "back").returncode == 0
    assert (folder / "back").read_bytes() == data


def test_an_image_with_busybox_only(contained: Client, tmp_path: Path) -> None:
    contained.run("sleep 100000", image=BUSYBOX)
    assert contained.said("whoami; pwd; exit 0") == b"alice\n/userhome\n"
    assert contained.ssh("--", "exit 9").returncode == 9
    assert contained.ssh("--", "cat", input=b"\0\xff" * 100_000).stdout == b"\0\xff" * 100_000
    files_go_both_ways(contained, tmp_path)
    here, there = free_port(), free_port()
    serve = f"echo ready; echo hello | nc -l -s 127.0.0.1 -p {there}"
    with contained.open("-L", f"{here}:localhost:{there}", "--", serve) as inside:
        assert inside.stdout is not None
        assert inside.stdout.readline() == b"ready\n"
        asked = finished(["busybox", "nc", "127.0.0.1", str(here)])
        while asked.stdout != b"hello\n":  # it may not listen yet
            asked = finished(["busybox", "nc", "127.0.0.1", str(here)])
        inside.kill()


@pytest.fixture(scope="module")
def as_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server without root."""
    if os.geteuid() != 0:
        missing("another user", "run the tests as root")
    folder = tmp_path_factory.mktemp("ssh-nobody")
    server = SshServer(folder / "data")
    server.wrapper = (
        need("setpriv", "util-linux"),
        f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    )  # fmt: skip
    for path in (folder, server.config):
        os.chown(path, NOBODY, NOBODY)
    server.start()
    yield server.person("alice")
    server.cleanup()


def test_a_server_without_root(as_nobody: Client, tmp_path: Path) -> None:
    as_nobody.run()
    assert as_nobody.said("id -u; echo out") is not None
    assert as_nobody.ssh("--", "exit 9").returncode == 9
    data = os.urandom(100_000)
    (tmp_path / "file").write_bytes(data)
    for protocol in ("-s", "-O"):
        assert as_nobody.copy(protocol, tmp_path / "file", ":sent").returncode == 0
        assert as_nobody.copy(protocol, ":sent", tmp_path / "back").returncode == 0
        assert (tmp_path / "back").read_bytes() == data
    gateway = as_nobody.server.gateway
    assert Path(f"/proc/{gateway}").stat().st_uid == NOBODY
