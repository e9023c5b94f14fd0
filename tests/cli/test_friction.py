"""Small things that cost a first day: names, ports, mounts, ids, clocks."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from tests.api.harness import eventually
from tests.cli.person import Person
from tests.support.server import DanluServer


def test_a_job_may_have_a_chinese_name(server: DanluServer) -> None:
    done = server.cli("run", "-n", "训练", "--", "sh", "-c", "echo $DANLU_JOB")
    assert done.stdout.decode() == "admin/训练-1\n"
    assert server.cli("logs", "训练-1").stdout == done.stdout
    assert server.cli("show", "admin/训练-1").returncode == 0
    assert "admin/训练-1" in server.cli("jobs", "--all", "--name", "训练").stdout.decode()


@pytest.mark.parametrize("name", ["../x", "a b", "a/b", "-x", "\u202ex", "x\u200b", ""])
def test_a_name_cannot_be_a_path_or_invisible(server: DanluServer, name: str) -> None:
    assert server.cli("run", "-n", name, "--", "true").returncode == 2


@pytest.mark.parametrize("make", [uuid.uuid1, uuid.uuid4])
def test_any_uuid_may_be_a_jobs_id(server: DanluServer, make: object) -> None:
    assert callable(make)
    job = {"id": str(make()), "name": "own-id", "command": "true"}
    first = server.cli("submit", "-", input=json.dumps(job).encode())
    again = server.cli("submit", "-", input=json.dumps(job).encode())
    assert first.returncode == again.returncode == 0, first.stderr
    assert first.stdout == again.stdout
    assert server.get(f"/jobs/{job['id']}")["name"] == "own-id"


def test_a_port_number_is_explained(server: DanluServer) -> None:
    done = server.cli("run", "--port", "8080", "--", "true")
    assert done.returncode == 2
    assert "PORT_WEB" in done.stderr.decode()


def test_a_folder_of_the_machine_is_answered_with_the_volumes(server: DanluServer) -> None:
    done = server.cli("run", "--mount", "/etc:/x", "--", "true")
    assert done.returncode == 2
    told = done.stderr.decode()
    assert "only volumes can be mounted; available: gdata" in told
    assert "user, userhome" in told


def test_a_command_that_is_not_found_names_the_way_to_ones_environment(
    server: DanluServer,
) -> None:
    done = server.cli("run", "--", "no-such-program")
    assert done.returncode == 127
    assert "--carry-env" in done.stderr.decode()


def test_watching_ticks(server: DanluServer) -> None:
    job = server.submit(name="ticking", command="sleep 600")
    eventually(lambda: server.get(f"/jobs/{job['id']}")["state"] == "running")
    with Person(server, "jobs", "--watch") as person:
        for _ in range(3):  # nothing happens, and yet the screen is drawn
            person.read_until("\x1b[H\x1b[J")
            person.read_until("admin/ticking-1")
        person.type("\x03")
        person.end()
    server.cli("stop", "ticking-1", "--now")


def test_a_folder_members_cannot_enter_is_warned_about(server: DanluServer, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    closed.chmod(0o700)
    tmp_path.chmod(0o755)
    apart = server.get("/users")["users"][0]["uid"] is not None
    done = server.cli("volume", "add", "closed", str(closed))
    assert done.returncode == 0, done.stderr
    assert ("chmod o+rx" in done.stderr.decode()) == apart
    closed.chmod(0o755)
    server.cli("volume", "remove", "closed")
