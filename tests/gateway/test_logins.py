"""`ssh USER@host` without a job: a small task of one's own, whatever else runs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.client import Client, SshServer, eventually
from tests.support.parts import need

SMALL = """
[[nodes]]
name = "n1"
cpus = 2
memory = "4G"
gpus = "1:RTX3090"

[login]
memory = "256M"
cpus = 0.5
processes = 64
idle = "6s"
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    server = SshServer(tmp_path_factory.mktemp("ssh-login") / "data", SMALL).start()
    yield server
    server.cleanup()


@pytest.fixture
def ivan(small: SshServer) -> Client:
    return Home(small.person(f"ivan{os.urandom(3).hex()}"))


class Home(Client):
    """Goes to no job."""

    def __init__(self, known: Client) -> None:
        super().__init__(known.server, known.name, known.token, known.key)

    @property
    def address(self) -> str:
        return f"{self.name}@127.0.0.1"

    def logins(self, **query: Any) -> list[dict[str, Any]]:
        words = "&".join(f"{key}={value}" for key, value in query.items())
        found = self.call("GET", f"/jobs?owner={self.name}&active=true&{words}")["jobs"]
        return [job for job in found if job["name"] == "login"]


def test_files_come_and_go_without_a_job(ivan: Client, tmp_path: Path) -> None:
    assert ivan.said("whoami; pwd").split() == [ivan.name.encode(), b"/userhome"]
    data = os.urandom(300_000)
    (tmp_path / "file").write_bytes(data)
    for protocol in ("-s", "-O"):
        assert ivan.copy(protocol, tmp_path / "file", ":sent").returncode == 0
        assert ivan.copy(protocol, ":sent", tmp_path / f"back{protocol}").returncode == 0
        assert (tmp_path / f"back{protocol}").read_bytes() == data
    shell = " ".join(["ssh", *ivan.options, "-p", str(ivan.server.ssh_port)])
    rsync = [need("rsync"), "-a", "-e", shell, f"{tmp_path}/", f"{ivan.address}:synced/"]
    subprocess.run(rsync, check=True)
    assert ivan.said("cat synced/file") == data
    home = ivan.server.data / "home" / ivan.name
    assert (home / "synced" / "file").read_bytes() == data


def test_nobody_elses_folder_is_reached_by_sftp_or_scp(ivan: Client, tmp_path: Path) -> None:
    """By a link in one's own folder, by climbing, by the path on the machine; in and out."""
    kate = Home(ivan.server.person(f"kate{os.urandom(3).hex()}"))
    ivan.said("true")
    kate.said("echo secret of kate > diary")
    data = ivan.server.data
    hers = data / "home" / kate.name
    (data / "home" / ivan.name / "way").symlink_to(hers)
    (data / "home" / ivan.name / "up").symlink_to(f"../{kate.name}")
    (tmp_path / "planted").write_text("planted")
    ways = ("way", "up", f"../{kate.name}", str(hers), f"/mnt/user/{kate.name}")
    for protocol in ("-s", "-O"):
        for way in ways:
            got = ivan.copy(protocol, f":{way}/diary", tmp_path / "got")
            assert got.returncode != 0 and not (tmp_path / "got").exists(), (protocol, way)
            put = ivan.copy(protocol, tmp_path / "planted", f":{way}/planted")
            assert put.returncode != 0, (protocol, way)
    assert sorted(each.name for each in hers.iterdir() if each.name[0] != ".") == ["diary"]
    assert kate.said("cat diary") == b"secret of kate\n"


def test_it_is_there_when_the_cluster_is_full_and_takes_nothing_from_it(ivan: Home) -> None:
    other = ivan.server.person(f"judy{os.urandom(3).hex()}")
    other.run(gpus=1, cpus=2, memory="4G")
    waiting = other.call("POST", "/jobs", {"command": "true", "cpus": 1, "name": "next"})
    assert ivan.said("echo in") == b"in\n"
    job = waiting["jobs"][0]
    assert other.call("GET", f"/jobs/{job['id']}")["state"] == "queued"
    totals = other.call("GET", "/cluster")
    assert totals["gpus"]["used"] == 1, totals
    why = str(other.call("GET", f"/jobs/{job['id']}/why"))
    assert f"{other.name}/" in why, why
    assert ivan.name not in why, "who is connected is nobody else's business"
    other.call("POST", f"/jobs/{other.job}/stop", {"now": True})
    # Nothing is kept for it, so what waits has room while it runs.
    eventually(lambda: other.call("GET", f"/jobs/{job['id']}")["state"] == "succeeded")
    assert len(ivan.logins()) == 1


def test_it_is_bounded(ivan: Client) -> None:
    """In processes and memory, if this machine has cgroups for it."""
    script = "for i in $(seq 100); do sleep 5 & done 2>&1; wait"
    answer = ivan.ssh("--", f"bash -c '{script}'")
    assert b"fork" in answer.stdout + answer.stderr, answer
    gluttony = "head -c 400M /dev/zero | tail -c 400M | wc -c"
    answer = ivan.ssh("--", gluttony)
    assert answer.stdout.strip() != str(400 << 20).encode(), answer
    assert ivan.said("echo in") == b"in\n"
    assert ivan.said("ls /dev/nvidia* 2>/dev/null; echo $CUDA_VISIBLE_DEVICES").split() == []


def test_there_is_one_for_each_and_it_is_seen_by_its_owner_only(ivan: Home) -> None:
    with ivan.open("--", "echo ready; cat") as first, ivan.open("--", "echo ready; cat") as second:
        assert first.stdout is not None
        assert second.stdout is not None
        assert {first.stdout.readline(), second.stdout.readline()} == {b"ready\n"}
        (job,) = ivan.logins()
        assert (job["kind"], job["state"], job["gpus"]) == ("service", "running", 0)
        stranger = Home(ivan.server.person(f"kate{os.urandom(3).hex()}"))
        assert stranger.said("echo in") == b"in\n"
        assert [job["owner"] for job in stranger.logins()] == [stranger.name]
        shown = [each["ref"] for each in stranger.call("GET", "/jobs")["jobs"]]
        assert job["ref"] not in shown
        refused = stranger.ssh("--", "echo in", to=f"{stranger.name}+{ivan.name}+login-1@127.0.0.1")
        assert (refused.stdout, refused.returncode) == (b"", 255)
        seen = ivan.server.get("/jobs?active=true")["jobs"]  # an admin's
        assert job["ref"] in [each["ref"] for each in seen]


def test_it_ends_when_nobody_is_in_it_and_not_before(ivan: Home) -> None:
    with ivan.open("--", "echo ready; cat") as inside:
        assert inside.stdout is not None
        assert inside.stdout.readline() == b"ready\n"
        (job,) = ivan.logins()
        time.sleep(9)  # longer than the limit
        assert [each["id"] for each in ivan.logins()] == [job["id"]]
        ivan.server.kill()  # nor does a server that has seen nobody come in end it
        ivan.server.start()
        time.sleep(9)
        assert [each["id"] for each in ivan.logins()] == [job["id"]]
        inside.stdin.close()  # type: ignore[union-attr]
        assert inside.wait(60) == 0
    eventually(lambda: not ivan.logins())
    assert ivan.call("GET", f"/jobs/{job['id']}")["state"] == "stopped"
    assert ivan.said("echo in") == b"in\n"
    assert [each["id"] for each in ivan.logins()] != [job["id"]]


def test_it_belongs_to_no_group(small: SshServer) -> None:
    """Also for somebody in several, who has to name one for every other job."""
    name = f"liam{os.urandom(3).hex()}"
    liam = Home(small.person(name))
    for group in (f"a{name}", f"b{name}"):
        small.post("/groups", {"name": group})
        small.call("PUT", f"/groups/{group}/members/{name}", {})
    assert liam.said(f"ls -d /mnt/share/a{name} /mnt/share/b{name}").count(b"\n") == 2
    (job,) = liam.logins()
    assert job["group"] is None


def test_the_admin_can_switch_it_off(tmp_path: Path) -> None:
    server = SshServer(tmp_path / "data", "[login]\nenabled = false\n").start()
    try:
        mallory = Home(server.person("mallory"))
        answer = mallory.ssh("--", "echo in")
        assert (answer.stdout, answer.returncode) == (b"", 255)
        assert b"mallory+JOB" in answer.stderr
    finally:
        server.cleanup()
