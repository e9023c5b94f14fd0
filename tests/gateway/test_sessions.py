"""Shells and commands in a running task, with the real ssh."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from pathlib import Path

from tests.cli.person import Terminal
from tests.gateway.client import PASSWORD, Client, finished
from tests.support.parts import need
from tests.support.server import free_port


def test_a_command_has_its_output_errors_and_status(alice: Client) -> None:
    answer = alice.ssh("--", "echo out; echo err >&2; exit 7")
    assert (answer.stdout, answer.stderr, answer.returncode) == (b"out\n", b"err\n", 7)


def test_it_runs_as_the_task_does(alice: Client) -> None:
    said = alice.said("echo $DANLU_JOB; whoami; pwd; cat /proc/1/comm").decode().split()
    assert said[0].endswith(alice.job)
    assert said[1:3] == ["alice", "/userhome"]


def test_a_command_ended_by_a_signal_is_told_apart(alice: Client) -> None:
    answer = alice.ssh("--", "kill -TERM $$")
    assert answer.returncode == 255
    assert alice.ssh("--", "exit 143").returncode == 143


def test_fifty_megabytes_come_back_as_they_went(alice: Client) -> None:
    data = os.urandom(1 << 20) * 50
    answer = alice.ssh("--", "cat", input=data)
    assert hashlib.sha256(answer.stdout).digest() == hashlib.sha256(data).digest()


def test_a_shell_on_a_terminal_is_resized_and_interrupted(alice: Client) -> None:
    with Terminal(*alice.words("-tt"), env=os.environ, rows=30, cols=100) as terminal:
        terminal.type("stty size; echo $TERM\r")
        terminal.read_until("30 100")
        terminal.read_until("xterm-256color")
        terminal.resize(40, 120)
        os.kill(terminal.pid, signal.SIGWINCH)
        terminal.type(
            "while [ \"$(stty size)\" != '40 120' ]; do sleep 0.05; done; echo re''sized\r"
        )
        terminal.read_until("resized")
        terminal.type("sh -c 'echo asl\"\"eep; exec sleep 1000'\r")
        terminal.read_until("asleep")
        terminal.type("\x03")
        terminal.type("echo af''ter\r")
        terminal.read_until("after")
        terminal.type("exit 5\r")
        assert terminal.end() == 5


def test_a_password_will_do(alice: Client) -> None:
    assert alice.with_password(PASSWORD, "echo in").stdout == b"in\n"


def test_every_task_of_a_gang_is_entered_by_its_number(alice: Client) -> None:
    gang = Client(alice.server, alice.name, alice.token, alice.key)
    job = gang.run(name="gang", count=2)
    for number, name in ((0, job), (0, f"{job}.0"), (1, f"{job}.1")):
        to = f"alice+{name}@127.0.0.1"
        said = gang.ssh("--", "echo $DANLU_TASK_INDEX", to=to)
        assert said.stdout.split() == [str(number).encode()], said


def test_a_job_of_an_array_is_entered_by_its_own_name(alice: Client) -> None:
    array = Client(alice.server, alice.name, alice.token, alice.key)
    job = array.run(name="sweep", array="3-4")
    assert job.endswith(".3")
    assert array.said("echo $DANLU_JOB").decode().strip().endswith(job)


def test_what_vs_code_does_first(alice: Client) -> None:
    """A script on the input of a shell, beside a proxy for later."""
    script = b"uname -s\nprintf 'started %s\\n' $((1+1))\nexit 0\n"
    answer = alice.ssh("-T", "-D", str(free_port()), "--", "bash", input=script)
    assert answer.stdout == b"Linux\nstarted 2\n", answer


def test_putty_comes_in_too(alice: Client, tmp_path: Path) -> None:
    port = str(alice.server.ssh_port)
    known = ["-batch", "-hostkey", host_key(alice), "-pw", PASSWORD, "-P", port]
    plink = [need("plink", "putty-tools"), "-ssh", *known, "-l", f"alice+{alice.job}"]
    assert finished([*plink, "127.0.0.1", "echo in; exit 3"]).returncode == 3
    (tmp_path / "file").write_bytes(b"\0\xff" * 5000)
    pscp = [need("pscp", "putty-tools"), "-q", *known, tmp_path / "file"]
    copied = finished([*pscp, f"alice+{alice.job}@127.0.0.1:by-putty"])
    assert copied.returncode == 0, copied
    assert alice.said("cat by-putty") == b"\0\xff" * 5000


def host_key(client: Client) -> str:
    folder = client.server.data / "gateway"
    alice_in = client.said("true")
    assert alice_in == b""
    public = finished(["ssh-keygen", "-y", "-f", folder / "host_ed25519"]).stdout
    shown = finished(["ssh-keygen", "-l", "-f", "-"], input=public).stdout
    return shown.split()[1].decode()


def test_the_end_of_the_connection_ends_what_it_started(alice: Client) -> None:
    mark = f"10000{os.getpid()}"
    running = alice.open("--", f"echo ready; exec sleep {mark}", stdin=subprocess.DEVNULL)
    assert running.stdout is not None
    assert running.stdout.readline() == b"ready\n"
    running.kill()
    running.communicate()
    gone = (
        f"while pgrep -f 'sleep {mark[:-1]}[{mark[-1]}]' >/dev/null; do sleep 0.05; done; echo gone"
    )
    assert alice.said(gone) == b"gone\n"
