"""Coming back to a job: `attach`, `shell`, and "the last job" where none is named."""

from __future__ import annotations

import pytest

from tests.api.harness import eventually
from tests.cli.person import Person
from tests.support.server import DanluServer


def test_a_terminal_that_was_left_comes_back(server: DanluServer) -> None:
    with Person(server, "run", "--tty", "-n", "desk", "--", "sh") as person:
        person.read_until("$ ")
        person.type("kept=yes; echo first-$kept\r")
        person.read_until("first-yes")
        person.type("\r~.")
        person.read_until("danlu attach admin/desk-1")
        assert person.end() == 0
    with Person(server, "attach", "desk-1") as person:
        person.read_until("first-yes")
        person.type("echo again-$kept\r")
        person.read_until("again-yes")
        person.type("exit 3\r")
        assert person.end() == 3


def test_a_detached_job_with_a_terminal_can_be_used_later(server: DanluServer) -> None:
    assert server.cli("run", "-d", "--tty", "-n", "left-alone", "--", "sh").returncode == 0
    with Person(server, "attach", "left-alone-1", cols=100) as person:
        person.read_until("$ ")
        person.type("test -t 0 && echo is-a-$((1 + 1))-terminal\r")
        person.read_until("is-a-2-terminal")
        person.type("stty size\r")
        person.read_until("24 100")
        person.type("exit\r")
        assert person.end() == 0


def test_a_job_that_takes_no_input_is_followed(server: DanluServer) -> None:
    server.submit(name="deaf", command="echo here; sleep 600")
    with Person(server, "attach", "deaf-1") as person:
        person.read_until("takes no input")
        person.read_until("here")
        server.cli("stop", "deaf-1", "--now")
        assert person.end() != 0


def test_a_job_that_has_ended_is_not_attached_to(server: DanluServer) -> None:
    server.wait(server.submit(name="over", command="true"))
    done = server.cli("attach", "over-1")
    assert done.returncode == 5
    assert "danlu logs admin/over-1" in done.stderr.decode()


def test_a_shell_is_a_job_of_its_own_and_ends_with_it(server: DanluServer) -> None:
    with Person(server, "shell", "-g", "1", "-n", "bench") as person:
        person.read_until("$ ")
        person.type("echo card-$CUDA_VISIBLE_DEVICES-$DANLU_JOB\r")
        person.read_until("-admin/bench-1")
        person.type("exit\r")
        assert person.end() == 0
    job = server.get("/jobs/bench-1")
    assert (job["gpus"], job["kind"], job["state"]) == (1, "environment", "succeeded")


def test_a_shell_in_a_running_job_leaves_the_job_alone(server: DanluServer) -> None:
    job = server.submit(name="entered", command="sleep 600", env={"MARK": "inside"})
    eventually(lambda: server.get(f"/jobs/{job['id']}")["state"] == "running")
    with Person(server, "shell", "entered-1") as person:
        person.read_until("$ ")
        person.type("echo it-is-$MARK\r")
        person.read_until("it-is-inside")
        person.type("exit\r")
        assert person.end() == 0
    assert server.get("/jobs/entered-1")["state"] == "running"
    with Person(server, "shell", "entered-1", "-g", "1") as person:
        assert person.end() == 2
    server.cli("stop", "entered-1", "--now")


def test_a_shell_without_a_terminal_is_refused(server: DanluServer) -> None:
    done = server.cli("shell")
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr.decode()


@pytest.mark.parametrize("command", ["show", "why", "logs"])
def test_without_a_name_the_last_job_is_meant(server: DanluServer, command: str) -> None:
    server.wait(server.submit(name=f"last-{command}", command="echo printed"))
    done = server.cli(command)
    assert done.returncode == 0, done.stderr
    assert f"Your last job: admin/last-{command}-1" in done.stderr.decode()
    if command == "logs":
        assert done.stdout == b"printed\n"


def test_place_and_estimate_stay_current_while_a_job_waits(server: DanluServer) -> None:
    for _ in range(2):
        server.submit(name="all", command="sleep 600", gpus=4, time_limit=7200)
    with Person(server, "run", "-g", "1", "-n", "patient", "--", "echo", "my-turn") as person:
        person.read_until("number 1 in the queue")
        person.read_until("(in ")
        server.submit(name="urgent", command="true", gpus=4, priority=10)
        person.read_until("number 2 in the queue")
        server.cli("stop", "urgent-1", "all-1", "all-2", "--now")
        person.read_until("\r\x1b[Kmy-turn")
        assert person.end() == 0
