"""What goes on when the server or the gateway is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.client import Client, SshServer, eventually


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    server = SshServer(tmp_path_factory.mktemp("ssh-kill") / "data").start()
    client = server.person("alice")
    client.run()
    yield client
    server.cleanup()


@contextlib.contextmanager
def inside(client: Client) -> Iterator[subprocess.Popen[bytes]]:
    """A shell that repeats what it is told."""
    with client.open("--", "echo ready; exec cat") as shell:
        try:
            assert shell.stdout is not None
            assert shell.stdout.readline() == b"ready\n"
            yield shell
        finally:
            shell.kill()


def repeats(shell: subprocess.Popen[bytes], word: bytes) -> bool:
    assert shell.stdin is not None
    assert shell.stdout is not None
    shell.stdin.write(word + b"\n")
    shell.stdin.flush()
    return shell.stdout.readline() == word + b"\n"


def test_a_shell_and_a_transfer_outlive_the_server(kit: Client, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(os.urandom(1 << 20) * 40)
    port = str(kit.server.ssh_port)
    with inside(kit) as shell:
        copying = subprocess.Popen(
            ["scp", *kit.options, "-l", "160000", "-P", port, large, f"{kit.address}:large"]
        )
        eventually(lambda: kit.ssh("--", "test -s large").returncode == 0)
        gateway = kit.server.gateway
        kit.server.kill()
        assert copying.poll() is None, "it is still copying"
        assert repeats(shell, b"while it is away")
        waiting = kit.open("--", "echo in")
        time.sleep(1.0)
        assert waiting.poll() is None, "it waits for the server"
        kit.server.start()
        assert waiting.communicate(timeout=60)[0] == b"in\n"
        assert copying.wait(60) == 0
        assert kit.said("wc -c < large").split() == [str(large.stat().st_size).encode()]
        assert repeats(shell, b"and after")
        assert kit.server.gateway == gateway
        assert kit.server.get("/server")["ssh_port"] == kit.server.ssh_port


def test_who_lost_access_while_the_server_was_away_is_cut_off(kit: Client) -> None:
    other = kit.server.person("mallory")
    other.run()
    with inside(other) as shell:
        kit.server.post("/users/mallory/disable")
        kit.server.kill()
        kit.server.start()
        assert shell.wait(60) == 255


def test_a_killed_gateway_harms_no_task(kit: Client) -> None:
    with inside(kit) as shell:
        gateway = kit.server.gateway
        assert gateway is not None
        os.kill(gateway, signal.SIGKILL)
        eventually(lambda: kit.ssh("--", "echo in").stdout == b"in\n")
        assert shell.wait(60) == 255
        assert kit.server.gateway != gateway
    assert kit.call("GET", f"/jobs/{kit.job}")["state"] == "running"
    kinds = lambda: [each["kind"] for each in kit.call("GET", "/tokens")["tokens"]]  # noqa: E731
    eventually(lambda: "ssh" not in kinds())


def test_an_older_gateway_serves_those_it_has_and_no_others(kit: Client) -> None:
    with inside(kit) as shell:
        older = kit.server.gateway
        kit.server.stop()
        config = kit.server.config.read_text()
        port = kit.server.ssh_port
        kit.server.config.write_text(config.replace(f"127.0.0.1:{port}", f"localhost:{port}"))
        kit.server.start()
        assert kit.said("echo in") == b"in\n"
        eventually(lambda: kit.server.gateway not in (None, older))
        assert kit.said("echo in") == b"in\n"
        assert repeats(shell, b"still here")
    eventually(lambda: not _lives(older or 0))


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_who_does_not_read_costs_no_memory(kit: Client) -> None:
    """The output is endless; the client reads nothing of it, nor the task of what it is sent."""

    def memory() -> int:
        text = Path(f"/proc/{kit.server.gateway}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0])

    assert kit.said("echo in") == b"in\n"
    with open("/dev/zero", "rb") as zeros:
        stalled = [kit.open("--", "cat /dev/zero") for _ in range(3)]
        stalled += [kit.open("--", "sleep 1000", stdin=zeros) for _ in range(3)]
        try:
            before, level = memory(), 0
            while abs(memory() - level) > 512:  # until nothing moves any more
                level = memory()
                time.sleep(1.0)
            assert memory() - before < 100_000, "kilobytes"
            assert kit.said("echo in") == b"in\n"
        finally:
            for each in stalled:
                each.kill()
                each.communicate()
