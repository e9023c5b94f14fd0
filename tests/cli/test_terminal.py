"""`danlu run` and `danlu exec` for somebody at a terminal."""

from __future__ import annotations

import os
import signal

from tests.cli.person import Person
from tests.support.server import DanluServer

SHELL = ("sh", "-c", "stty -echo; echo ready; read line; echo got $line")


def test_the_command_has_a_terminal_of_the_same_kind_and_size(server: DanluServer) -> None:
    script = "test -t 0 && test -t 1 && echo $TERM; stty size; read x; stty size"
    with Person(server, "run", "--", "sh", "-c", script, rows=33, cols=101) as person:
        person.read_until("xterm-256color")
        person.read_until("33 101")
        person.resize(44, 122)
        os.kill(person.pid, signal.SIGWINCH)
        person.type("\r")
        person.read_until("44 122")
        assert person.end() == 0


def test_what_is_typed_reaches_the_command_and_the_mode_is_put_back(
    server: DanluServer,
) -> None:
    with Person(server, "run", "--", *SHELL) as person:
        person.read_until("ready")
        assert not person.echoes()
        person.type("hello there\r")
        person.read_until("got hello there")
        assert person.end() == 0
        assert person.echoes()


def test_the_exit_code_comes_through_a_terminal_too(server: DanluServer) -> None:
    with Person(server, "run", "--", "sh", "-c", "exit 9") as person:
        assert person.end() == 9
        assert "status 9" in person.seen


def test_control_c_asks_and_s_stops_the_job(server: DanluServer) -> None:
    with Person(server, "run", "-n", "asked-s", "--", "sh", "-c", "echo up; sleep 600") as person:
        person.read_until("up")
        person.type("\x03")
        person.read_until("[s]top")
        person.type("s")
        person.read_until("Stopping")
        assert person.end() == 143
        assert "Stopped by admin" in person.seen


def test_control_c_asks_and_d_leaves_the_job_running(server: DanluServer) -> None:
    with Person(server, "run", "-n", "asked-d", "--", "sh", "-c", "echo up; sleep 600") as person:
        person.read_until("up")
        person.type("\x03")
        person.read_until("[d]etach")
        person.type("d")
        person.read_until("keeps running")
        assert person.end() == 0
    server.cli("stop", "--now", server.goes_on("asked-d")["ref"])


def test_control_c_asks_and_any_other_key_stays(server: DanluServer) -> None:
    with Person(server, "run", "--", *SHELL) as person:
        person.read_until("ready")
        person.type("\x03")
        person.read_until("any other key")
        person.type("x")
        person.read_until("Continuing")
        person.type("still here\r")
        person.read_until("got still here")
        assert person.end() == 0


def test_control_c_twice_interrupts_the_program(server: DanluServer) -> None:
    script = "trap 'echo caught; exit 4' INT; echo up; while :; do sleep 0.1; done"
    with Person(server, "run", "--", "sh", "-c", script) as person:
        person.read_until("up")
        person.type("\x03")
        person.read_until("[i]")
        person.type("\x03")
        person.read_until("caught")
        assert person.end() == 4


def test_with_tty_every_key_goes_to_the_program(server: DanluServer) -> None:
    script = "trap 'echo caught; exit 4' INT; echo up; while :; do sleep 0.1; done"
    with Person(server, "run", "--tty", "--", "sh", "-c", script) as person:
        person.read_until("up")
        person.type("\x03")
        person.read_until("caught")
        assert person.end() == 4


def test_enter_tilde_point_leaves(server: DanluServer) -> None:
    with Person(server, "run", "--tty", "-n", "tilde", "--", *SHELL) as person:
        person.read_until("ready")
        person.type("~?")
        person.read_until("types a tilde")
        person.type("~.")
        person.read_until("keeps running")
        assert person.end() == 0
        assert person.echoes()
    server.cli("stop", "--now", server.get("/jobs?name=tilde")["jobs"][0]["ref"])


def test_control_c_asks_while_the_job_still_waits(server: DanluServer) -> None:
    with Person(server, "run", "-n", "unstarted", "--held", "--", "true") as person:
        person.read_until("admin/unstarted-1")
        person.type("\x03")
        person.read_until("[s]top")
        person.type("s")
        assert person.end() == 130
        assert server.get("/jobs/unstarted-1")["state"] == "stopped"


def test_without_a_tty_control_c_asks_as_well(server: DanluServer) -> None:
    words = ("run", "--no-tty", "-n", "plain", "--", "sh", "-c", "echo up; sleep 600")
    with Person(server, *words) as person:
        person.read_until("up")
        person.type("\x03")
        person.read_until("[s]top")
        person.type("x")
        person.read_until("Continuing")
        person.type("\x03")
        person.read_until("[s]top")
        person.type("s")
        assert person.end() == 143


def test_a_closed_terminal_leaves_the_job_running(server: DanluServer) -> None:
    with Person(server, "run", "-n", "hangup", "--", "sh", "-c", "echo up; sleep 600") as person:
        person.read_until("up")
        os.kill(person.pid, signal.SIGHUP)
        assert person.end() == 129
        assert person.echoes()
    server.cli("stop", "--now", server.goes_on("hangup")["ref"])


def test_exec_gives_a_shell_inside_a_running_job(server: DanluServer) -> None:
    job = server.submit(name="host", command=["sleep", "600"], env={"INSIDE": "yes"})
    while server.get(f"/jobs/{job['id']}")["state"] != "running":
        pass
    with Person(server, "exec", "host-1", "--", "sh", rows=31, cols=97) as person:
        person.type("echo inside=$INSIDE; stty size; exit 5\r")
        person.read_until("inside=yes")
        person.read_until("31 97")
        assert person.end() == 5
        assert person.echoes()
    piped = server.cli(
        "exec", "host-1", "--", "sh", "-c", "cat; echo err >&2; exit 3", input=b"x" * 100_000
    )
    assert (piped.returncode, piped.stdout, piped.stderr) == (3, b"x" * 100_000, b"err\n")
    alone = server.cli("exec", "host-1", "cat")
    assert (alone.returncode, alone.stdout) == (0, b"")
    server.cli("stop", "--now", "host-1")


def test_exec_into_a_job_that_does_not_run_is_refused(server: DanluServer) -> None:
    job = server.submit(name="over", command=["true"])
    server.wait(job)
    done = server.cli("exec", "over-1", "--", "ls")
    assert done.returncode == 125
    assert b"over-1" in done.stderr
    assert server.cli("exec", "no-such-job-1", "--", "ls").returncode == 125
