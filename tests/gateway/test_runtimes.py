"""The same door, whatever a task runs in: images with nothing in them, and servers without root."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.harness import Harness
from tests.api.sockets import INPUT, execute, finish
from tests.containers.conftest import docker_daemon, podman_daemon, registry
from tests.gateway.client import Client, SshServer
from tests.support.containers import BUSYBOX, IMAGE, ContainerDaemon
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
    folder = tmp_path_factory.mktemp("ssh-image")
    (folder / "tools").mkdir()
    shutil.copy(need("busybox", "busybox-static"), folder / "tools" / "busybox")
    config += f'[volumes.tools]\nsource = "{folder}/tools"\npath = "/tools"\n'
    server = SshServer(folder / "data", config).start()
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
    here = free_port()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        to = f"{here}:localhost:{listening.getsockname()[1]}"
        with contained.open("-L", to, "--", "echo ready; sleep 1000") as inside:
            try:
                assert inside.stdout is not None
                assert inside.stdout.readline() == b"ready\n"
                threading.Thread(target=greet, args=(listening,)).start()
                assert read_all(here) == b"hello\n"
            finally:
                inside.kill()


def test_an_image_with_nothing_at_all(contained: Client, tmp_path: Path) -> None:
    """There is no shell for commands, but files go both ways."""
    contained.run(["/tools/busybox", "sleep", "100000"], image=IMAGE, mounts=["tools:/tools:ro"])
    answer = contained.ssh("--", "echo in")
    assert answer.returncode == 127
    assert b"the image has no shell" in answer.stderr
    files_go_both_ways(contained, tmp_path)


def test_a_web_terminal_in_an_image_outlives_the_server(contained: Client) -> None:
    for each in contained.call("GET", "/jobs?active=true")["jobs"]:  # the machine may be small
        contained.call("POST", f"/jobs/{each['id']}/stop", {"now": True})
    contained.run("sleep 100000", image=BUSYBOX)
    harness = Harness(contained.server)
    job = contained.call("GET", f"/jobs/{contained.job}")
    how = {"tty": True, "name": "one", "bearer": contained.token}
    with execute(harness, job, "sh", **how) as socket:
        socket.send(INPUT + b"kept=yes; echo be$kept\n")
        finish(socket, lambda done: b"beyes" in done.out)
        contained.server.kill()
        contained.server.start()
    with execute(harness, job, "sh", **how) as socket:
        finish(socket, lambda done: b"beyes" in done.out)
        socket.send(INPUT + b"echo still-$kept; exit 7\n")
        done = finish(socket)
        assert (b"still-yes" in done.out, done.code) == (True, 7)
    harness.http.close()


def greet(listening: socket.socket) -> None:
    link, _ = listening.accept()
    with link:
        link.sendall(b"hello\n")


def read_all(port: int) -> bytes:
    data = b""
    with socket.create_connection(("127.0.0.1", port), 10) as link:
        while piece := link.recv(100):
            data += piece
    return data


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
        # The checkout may be in a folder of root's own.
        "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
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
