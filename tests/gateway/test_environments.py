"""Environments over SSH: by their names, for those they are shared with."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.gateway.client import Client, SshServer, eventually
from tests.gateway.test_refusals import refused
from tests.support.tools import give, tools_venv


@pytest.fixture(scope="module")
def fiona(door: SshServer) -> Client:
    give(door.data, tools_venv())
    return door.person("fiona")


@pytest.fixture(scope="module")
def gilles(door: SshServer) -> Client:
    return door.person("gilles")


def start(client: Client, name: str) -> dict[str, Any]:
    client.call("POST", "/environments", {"name": name})
    path = f"/environments/{name}"
    eventually(lambda: client.call("GET", path)["state"] == "running")
    client.job = name
    found: dict[str, Any] = client.call("GET", path)
    return found


def test_a_name_leads_to_what_runs_and_after_a_restart_too(fiona: Client) -> None:
    start(fiona, "dev")
    assert fiona.said("echo $DANLU_JOB") == b"fiona/dev-1\n"
    assert fiona.said("echo in", to="fiona+dev.0@127.0.0.1") == b"in\n"
    fiona.call("POST", "/environments/dev/stop")
    eventually(lambda: fiona.call("GET", "/environments/dev")["state"] == "stopped")
    refused(fiona, "fiona+dev", "danlu env start dev")
    fiona.call("POST", "/environments/dev/start")
    eventually(lambda: fiona.call("GET", "/environments/dev")["state"] == "running")
    assert fiona.said("echo $DANLU_JOB") == b"fiona/dev-2\n"


def test_the_command_line_takes_the_name(fiona: Client, door: SshServer) -> None:
    start(fiona, "cli")
    env = {"DANLU_TOKEN": fiona.token}
    done = door.cli("exec", "cli", "--", "echo", "in", env=env)
    assert done.stdout == b"in\n", done
    config = door.cli("ssh-config", env=env).stdout.decode()
    assert "Host cli.danlu\n" in config
    assert "User fiona+cli\n" in config
    key = fiona.call("GET", "/server")["ssh_host_key"]
    assert config.startswith(f"# The server's host key (ED25519): {key}\n")
    shown = door.cli("env", "show", "cli", env=env).stdout.decode()
    assert f"  ssh -p {door.ssh_port} fiona+cli@127.0.0.1\n" in shown
    assert "SSH host key" in shown
    assert key in shown


def test_those_it_is_shared_with_come_in_and_have_to_go_at_once(
    fiona: Client, gilles: Client
) -> None:
    start(fiona, "pair")
    refused(gilles, "gilles+fiona+pair", "There is no job fiona/pair")
    fiona.call("PUT", "/environments/pair/shares/gilles")
    to = "gilles+fiona+pair@127.0.0.1"
    assert gilles.ssh("--", "whoami", to=to).stdout == b"fiona\n"
    words = gilles.words("--", "echo ready; exec sleep 1000", to=to)
    kept = fiona.open("--", "echo ready; exec cat")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as within:
        assert within.stdout is not None
        assert kept.stdout is not None
        assert within.stdout.readline() == b"ready\n"
        assert kept.stdout.readline() == b"ready\n"
        fiona.call("DELETE", "/environments/pair/shares/gilles")
        _, said = within.communicate(timeout=60)
    assert within.returncode == 255
    assert b"may no longer enter" in said
    refused(gilles, "gilles+fiona+pair", "There is no job fiona/pair")
    out, _ = kept.communicate(b"still here\n", timeout=60)
    assert out == b"still here\n"


def test_a_share_is_cut_after_a_restart_of_the_server_too(
    fiona: Client, gilles: Client, door: SshServer
) -> None:
    start(fiona, "later")
    fiona.call("PUT", "/environments/later/shares/gilles")
    to = "gilles+fiona+later@127.0.0.1"
    words = gilles.words("--", "echo ready; exec sleep 1000", to=to)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as within:
        assert within.stdout is not None
        assert within.stdout.readline() == b"ready\n"
        door.kill()
        door.start()
        fiona.call("DELETE", "/environments/later/shares/gilles")
        _, said = within.communicate(timeout=60)
    assert b"may no longer enter" in said
