"""Storage of one's own through rclone, as docs/storage.md says: from a task, and as a volume."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.folders import let_in
from tests.support.member import Person
from tests.support.parts import need
from tests.support.server import DanluServer, free_port
from tests.support.waiting import until

NAME, PASSWORD = "lab", "of the microscope"
CONTENT = os.urandom(3_000_000)


class Storage:
    """A WebDAV server with a password, and what rclone has to be told of it."""

    def __init__(self, folder: Path) -> None:
        (folder / "set/day 1").mkdir(parents=True)
        (folder / "set/day 1/扫描.bin").write_bytes(CONTENT)
        address = f"127.0.0.1:{free_port()}"
        words = ["serve", "webdav", str(folder), "--addr", address, "--user", NAME]
        self._serving = subprocess.Popen(
            [need("rclone"), "--config", "/dev/null", *words, "--pass", PASSWORD],
            stderr=subprocess.DEVNULL,
        )
        hidden = subprocess.run(
            ["rclone", "obscure", PASSWORD], check=True, capture_output=True, text=True
        )
        self.password = hidden.stdout.strip()
        self.settings = {
            "RCLONE_CONFIG_LAB_TYPE": "webdav",
            "RCLONE_CONFIG_LAB_URL": f"http://{address}",
            "RCLONE_CONFIG_LAB_USER": NAME,
        }
        until(lambda: self.rclone("lsf", "lab:").returncode == 0)

    def rclone(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        env = os.environ | self.settings | {"RCLONE_CONFIG_LAB_PASS": self.password}
        command = ["rclone", "--config", "/dev/null", *words]
        return subprocess.run(command, env=env, check=False, capture_output=True)

    def close(self) -> None:
        self._serving.kill()
        self._serving.wait()


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    storage = Storage(tmp_path / "there")
    yield storage
    storage.close()


def test_a_task_copies_from_it_with_a_password_kept_as_a_secret(
    server: DanluServer, storage: Storage
) -> None:
    member = Person(server)
    assert member.cli("secret", "set", "DAV", input=storage.password.encode()).returncode == 0
    plain = [word for pair in storage.settings.items() for word in ("-e", "=".join(pair))]
    copy = ("rclone", "copy", "lab:set", "/userhome/set", "--transfers", "16")
    done = member.cli(
        "run", "--quiet", "--secret", "RCLONE_CONFIG_LAB_PASS=DAV", *plain, "--", *copy
    )
    assert done.returncode == 0, done
    arrived = server.data / "home" / member.name / "set/day 1/扫描.bin"
    assert arrived.read_bytes() == CONTENT


def test_mounted_by_the_admin_it_is_a_volume_of_whoever_asked(
    server: DanluServer, storage: Storage, tmp_path: Path
) -> None:
    need("fusermount3")
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("mounting through FUSE for others needs root and /dev/fuse")
    there = tmp_path / "mounted"
    there.mkdir()
    let_in(there)
    words = ("--allow-other", "--read-only", "--vfs-cache-mode", "full", "--daemon")
    mounted = storage.rclone("mount", "lab:", str(there), *words)
    assert mounted.returncode == 0, mounted.stderr
    member, other = Person(server), Person(server)
    try:
        asked = json.loads(
            member.cli(
                "volume", "request", "scope", "http://dav.lab/", "--kind", "webdav", "--json"
            ).stdout
        )
        done = server.cli("volume", "approve", asked["id"], str(there))
        assert done.returncode == 0, done.stderr
        file = "/mnt/scope/set/day 1/扫描.bin"
        read = member.cli("run", "--quiet", "-w", "-", "--", "cat", file)
        assert read.stdout == CONTENT, read.stderr
        write = member.cli("run", "--quiet", "-w", "-", "--", "touch", "/mnt/scope/x")
        assert write.returncode != 0 and b"Read-only" in write.stderr + write.stdout
        assert member.cli("cp", f":{file}", str(tmp_path / "back")).returncode == 0
        assert (tmp_path / "back").read_bytes() == CONTENT
        assert other.cli("ls", ":/mnt/scope").returncode == 3
    finally:
        server.cli("volume", "remove", "scope", "--yes")
        subprocess.run(["fusermount3", "-uz", str(there)], check=False)
