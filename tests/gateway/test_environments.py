"""Environments over SSH: by their names, for those they are shared with."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.gateway.client import Client, SshServer, eventually
from tests.gateway.test_refusals import refused
from tests.support.tools import give, tools_venv


@pytest.fixture(scope="module")
def frank(door: SshServer) -> Client:
    give(door.data, tools_venv())
    return door.person("frank")


@pytest.fixture(scope="module")
def grace(door: SshServer) -> Client:
    return door.person("grace")


def start(client: Client, name: str) -> dict[str, Any]:
    client.call("POST", "/environments", {"name": name})
    path = f"/environments/{name}"
    eventually(lambda: client.call("GET", path)["state"] == "running")
    client.job = name
    found: dict[str, Any] = client.call("GET", path)
    return found


def test_a_name_leads_to_what_runs_and_after_a_restart_too(frank: Client) -> None:
    start(frank, "dev")
    assert frank.said("echo $DANLU_JOB") == b"frank/dev-1\n"
    assert frank.said("echo in", to="frank+dev.0@127.0.0.1") == b"in\n"
    frank.call("POST", "/environments/dev/stop")
    eventually(lambda: frank.call("GET", "/environments/dev")["state"] == "stopped")
    refused(frank, "frank+dev", "danlu env start dev")
    frank.call("POST", "/environments/dev/start")
    eventually(lambda: frank.call("GET", "/environments/dev")["state"] == "running")
    assert frank.said("echo $DANLU_JOB") == b"frank/dev-2\n"


def test_the_command_line_takes_the_name(frank: Client, door: SshServer) -> None:
    start(frank, "cli")
    env = {"DANLU_TOKEN": frank.token}
    done = door.cli("exec", "cli", "--", "echo", "in", env=env)
    assert done.stdout == b"in\n", done
    config = door.cli("ssh-config", env=env).stdout.decode()
    assert "Host cli.danlu\n" in config
    assert "User frank+cli\n" in config


def test_those_it_is_shared_with_come_in_and_have_to_go_at_once(
    frank: Client, grace: Client
) -> None:
    start(frank, "pair")
    refused(grace, "grace+frank+pair", "There is no job frank/pair")
    frank.call("PUT", "/environments/pair/shares/grace")
    to = "grace+frank+pair@127.0.0.1"
    assert grace.ssh("--", "whoami", to=to).stdout == b"frank\n"
    words = grace.words("--", "echo ready; exec sleep 1000", to=to)
    kept = frank.open("--", "echo ready; exec cat")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as within:
        assert within.stdout is not None
        assert kept.stdout is not None
        assert within.stdout.readline() == b"ready\n"
        assert kept.stdout.readline() == b"ready\n"
        frank.call("DELETE", "/environments/pair/shares/grace")
        _, said = within.communicate(timeout=60)
    assert within.returncode == 255
    assert b"may no longer enter" in said
    refused(grace, "grace+frank+pair", "There is no job frank/pair")
    out, _ = kept.communicate(b"still here\n", timeout=60)
    assert out == b"still here\n"


def test_a_share_is_cut_after_a_restart_of_the_server_too(
    frank: Client, grace: Client, door: SshServer
) -> None:
    start(frank, "later")
    frank.call("PUT", "/environments/later/shares/grace")
    to = "grace+frank+later@127.0.0.1"
    words = grace.words("--", "echo ready; exec sleep 1000", to=to)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as within:
        assert within.stdout is not None
        assert within.stdout.readline() == b"ready\n"
        door.kill()
        door.start()
        frank.call("DELETE", "/environments/later/shares/grace")
        _, said = within.communicate(timeout=60)
    assert b"may no longer enter" in said
