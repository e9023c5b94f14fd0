"""`danlu key`, `danlu ssh` and `danlu ssh-config`, with the real ssh behind them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.gateway.client import OPTIONS, Client, Finished, SshServer, finished, make_key
from tests.support.server import DanluServer


@pytest.fixture(scope="module")
def frank(door: SshServer) -> Client:
    frank = door.person("frank")
    frank.run("sleep 100000", name="work", count=2)
    folder = home(frank) / ".ssh"
    folder.mkdir(mode=0o700)
    known = "".join(f"{each.replace('=', ' ')}\n" for each in OPTIONS)
    (folder / "config").write_text(f"IdentityFile {frank.key}\n{known}")
    return frank


def home(client: Client) -> Path:
    folder = client.server.folder / f"home-{client.name}"
    folder.mkdir(exist_ok=True)
    return folder


def danlu(client: Client, *words: str, **more: str) -> Finished:
    env = {"DANLU_TOKEN": client.token, "HOME": str(home(client)), **more}
    return client.server.cli(*words, env=env)


def ssh_options(client: Client) -> list[str]:
    """ssh looks for its own files in the folder that the system knows, not in HOME."""
    return ["-F", str(home(client) / ".ssh" / "config")]


def test_ssh_starts_the_systems_own(frank: Client) -> None:
    said = danlu(frank, "ssh", frank.job, *ssh_options(frank), "--", "echo $DANLU_JOB; exit 4")
    assert (said.stdout.split()[0].decode().rpartition("/")[2], said.returncode) == (frank.job, 4)
    second = danlu(frank, "ssh", f"{frank.job}.1", *ssh_options(frank), "echo $DANLU_TASK_INDEX")
    assert second.stdout == b"1\n", second


def test_without_a_job_the_last_one_is_meant(frank: Client) -> None:
    said = danlu(frank, "ssh", *ssh_options(frank), "--", "echo in")
    assert said.stdout == b"in\n", said
    assert frank.job in said.stderr.decode()


def test_without_ssh_one_is_told(frank: Client, tmp_path: Path) -> None:
    said = danlu(frank, "ssh", frank.job, PATH=str(tmp_path))
    assert said.returncode == 1
    assert b"install OpenSSH" in said.stderr
    assert f"frank+{frank.job}".encode() in said.stderr


def test_hosts_for_other_programs(frank: Client, tmp_path: Path) -> None:
    printed = danlu(frank, "ssh-config", f"{frank.job}.1").stdout.decode()
    assert f"User frank+{frank.job}.1\n" in printed
    for _ in range(2):
        assert danlu(frank, "ssh-config", "--install").returncode == 0
    config = home(frank) / ".ssh" / "config"
    assert config.read_text().count("Include") == 1
    listed = (home(frank) / ".ssh" / "danlu_config").read_text()
    assert f"Host {frank.job}.danlu\n" in listed
    assert f"Host {frank.job}.1.danlu\n" in listed
    # ssh reads an Include from the folder of the system's user: name it in full.
    config.write_text(config.read_text().replace("Include ", f"Include {home(frank)}/.ssh/"))
    (home(frank) / ".ssh" / "danlu_config").write_text("")
    renewing = {**os.environ, **frank.server.env, "DANLU_TOKEN": frank.token}
    said = finished(
        ["ssh", "-F", config, f"{frank.job}.1.danlu", "echo $DANLU_TASK_INDEX"],
        env=renewing | {"HOME": str(home(frank))},
    )
    assert said.stdout == b"1\n", said


def test_keys_are_added_listed_and_removed(frank: Client, tmp_path: Path) -> None:
    assert b"ssh-keygen" in danlu(frank, "key", "add").stderr
    make_key(tmp_path / "id")
    private = danlu(frank, "key", "add", str(tmp_path / "id"))
    assert private.returncode == 2
    assert b"was not sent" in private.stderr
    shutil.copy(tmp_path / "id.pub", home(frank) / ".ssh" / "id_ed25519.pub")
    added = danlu(frank, "key", "add", "--label", "laptop")
    assert b"SHA256:" in added.stdout, added
    (mine,) = [k for k in frank.call("GET", "/ssh-keys")["keys"] if k["label"] == "laptop"]
    assert mine["fingerprint"].encode() in danlu(frank, "key").stdout
    assert danlu(frank, "key", "remove", mine["id"]).returncode == 0
    assert b"laptop" not in danlu(frank, "key", "list").stdout
    assert danlu(frank, "key", "remove").returncode == 2


def test_sign_ins_over_ssh_are_listed(frank: Client) -> None:
    with frank.open("--", "echo ready; cat") as inside:
        assert inside.stdout is not None
        inside.stdout.readline()
        listed = danlu(frank, "token", "list").stdout.decode()
        inside.stdin and inside.stdin.close()
    assert " ssh " in listed


def test_where_ssh_is_off_one_is_told(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data", '[server]\nweb = "off"\n').start()
    try:
        said = server.cli("ssh", "job-1")
        assert said.returncode == 5
        assert b"does not accept SSH clients" in said.stderr
        assert server.get("/server")["ssh_port"] is None
        assert not (server.data / "gateway").exists()
    finally:
        server.cleanup()
