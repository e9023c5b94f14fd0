"""`danlu run`: as if the command ran here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.folders import open_python
from tests.support.server import DanluServer


def start(server: DanluServer, *words: str, **more: object) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "danlu.cli", *words],
        env=server.env,
        cwd=more.pop("cwd", tempfile.gettempdir()),
        start_new_session=True,
        bufsize=0,  # communicate() would pass over what readline() had buffered
        **{**pipes, **more},
    )


def latest(server: DanluServer, name: str) -> dict[str, object]:
    found: dict[str, object] = server.get(f"/jobs?name={name}&limit=1")["jobs"][0]
    return found


def by_the_command(stderr: bytes) -> bytes:
    """Without what `danlu run` itself says: on a busy machine, why the command has not begun."""
    lines = stderr.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"danlu: admin/"))


@pytest.mark.parametrize("code", [0, 1, 2, 7, 255])
def test_the_exit_code_is_the_commands(server: DanluServer, code: int) -> None:
    assert server.cli("run", "--", "sh", "-c", f"exit {code}").returncode == code


def test_a_command_ended_by_a_signal_ends_with_128_and_its_number(server: DanluServer) -> None:
    done = server.cli("run", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 137
    assert b"SIGKILL" in done.stderr


def test_output_is_the_commands_byte_for_byte_and_nothing_else(server: DanluServer) -> None:
    script = "import os; os.write(1, bytes(range(256)) * 5000 + b'no newline')"
    done = server.cli("run", "--", open_python(), "-c", script)
    assert done.stdout == bytes(range(256)) * 5000 + b"no newline"
    assert by_the_command(done.stderr) == b""


def test_the_words_arrive_exactly(server: DanluServer) -> None:
    words = ["a b", "", "$HOME", "'", '"', "\\", "*", "中文", "-x", "--", "\n", "🙂"]
    script = "import sys, json; print(json.dumps(sys.argv[1:]))"
    done = server.cli("run", "--", open_python(), "-c", script, *words)
    assert json.loads(done.stdout) == words


def test_the_command_starts_in_the_present_folder(server: DanluServer, tmp_path: Path) -> None:
    assert server.cli("run", "pwd", cwd=tmp_path).stdout.decode().strip() == str(tmp_path)
    done = server.cli("run", "-w", "/", "pwd", cwd=tmp_path)
    assert done.stdout == b"/\n"


def test_the_environment_goes_along_only_when_asked(server: DanluServer) -> None:
    show = ("sh", "-c", "echo $LR-$OTHER")
    env = {"LR": "0.1", "OTHER": "x"}
    assert server.cli("run", *show, env=env).stdout == b"-\n"
    assert server.cli("run", "-e", "LR", *show, env=env).stdout == b"0.1-\n"
    assert server.cli("run", "--carry-env", "-e", "LR=9", *show, env=env).stdout == b"9-x\n"


def test_error_output_can_be_kept_apart(server: DanluServer) -> None:
    done = server.cli("run", "--split-output", "--", "sh", "-c", "echo out; echo err >&2")
    assert (done.stdout, by_the_command(done.stderr)) == (b"out\n", b"err\n")
    merged = server.cli("run", "--", "sh", "-c", "echo out; echo err >&2")
    assert (merged.stdout, by_the_command(merged.stderr)) == (b"out\nerr\n", b"")


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_input_goes_to_the_command_and_ends(server: DanluServer, size: int) -> None:
    data = os.urandom(size)
    done = server.cli("run", "--", "cat", input=data)
    assert done.stdout == data
    assert done.returncode == 0


def test_output_is_shown_while_the_command_leaves_its_input_alone(
    server: DanluServer, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"x" * 20_000_000)
    script = "echo ready; until [ -e go ]; do sleep 0.05; done; wc -c"
    with data.open("rb") as file:
        job = start(server, "run", "--", "sh", "-c", script, stdin=file, cwd=tmp_path)
    assert job.stdout
    assert job.stdout.readline() == b"ready\n"
    (tmp_path / "go").touch()
    assert job.stdout.read() == b"20000000\n"
    assert job.wait() == 0


def test_without_input_the_command_sees_its_end_at_once(server: DanluServer) -> None:
    done = server.cli("run", "--", "cat")
    assert (done.returncode, done.stdout) == (0, b"")


def test_gpus_are_given(server: DanluServer) -> None:
    done = server.cli("run", "-g", "2:A100", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert len(done.stdout.split(b",")) == 2


def test_what_cannot_be_run_is_told_on_stderr(server: DanluServer) -> None:
    done = server.cli("run", "--", "no-such-program-here")
    assert done.returncode == 127
    assert b"Command not found: no-such-program-here" in done.stderr
    chinese = server.cli("run", "--lang", "zh", "--", "no-such-program-here").stderr.decode()
    assert "：找不到命令：no-such-program-here。" in chinese, "one sentence after the other"
    assert b"PATH" in done.stderr


def test_a_job_that_waits_says_why_and_starts_when_it_can(server: DanluServer) -> None:
    hog = server.submit(name="hog", command=["sleep", "600"], gpus="4:RTX3090")
    job = start(server, "run", "-n", "second", "-g", "2:RTX3090", "--", "echo", "started")
    assert job.stderr
    first = job.stderr.readline().decode()
    assert first == f"danlu: admin/second-1: {server.get('/jobs/second-1/why')['sentence_en']}\n"
    server.post(f"/jobs/{hog['id']}/stop", {"now": True})
    out, _ = job.communicate()
    assert (job.returncode, out) == (0, b"started\n")


def test_a_job_that_waits_can_be_left(server: DanluServer) -> None:
    job = start(server, "run", "-n", "held", "--held", "--", "true")
    assert job.stderr
    assert job.stderr.readline().startswith(b"danlu: admin/held-1: ")
    job.send_signal(signal.SIGTERM)
    _, said = job.communicate()
    assert job.returncode == 143
    assert b"keeps running" in said
    assert latest(server, "held")["state"] == "queued"
    assert server.cli("stop", "held-1").returncode == 0


def test_a_job_that_can_never_start_is_refused(server: DanluServer) -> None:
    done = server.cli("run", "-n", "huge", "-g", "400", "--", "true")
    assert done.returncode == 2
    assert b"gpus" in done.stderr.lower()


def test_an_interrupt_without_a_terminal_stops_the_job(server: DanluServer) -> None:
    job = start(server, "run", "-n", "interrupted", "--", "sh", "-c", "echo up; sleep 600")
    assert job.stdout
    assert job.stdout.readline() == b"up\n"
    job.send_signal(signal.SIGINT)
    _, said = job.communicate()
    assert job.returncode == 143
    assert b"Stopping" in said
    assert latest(server, "interrupted")["state"] == "stopped"


def test_a_second_interrupt_ends_it_at_once(server: DanluServer) -> None:
    script = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    job = start(server, "run", "--grace", "1h", "-n", "stubborn", "--", "sh", "-c", script)
    assert job.stdout and job.stderr
    assert job.stdout.readline() == b"up\n"
    job.send_signal(signal.SIGINT)
    said = iter(job.stderr.readline, b"")
    assert any(b"Stopping" in line for line in said)
    job.send_signal(signal.SIGINT)
    assert any(b"Killing" in line for line in said)
    job.communicate()
    assert job.returncode == 137


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_ended_leaves_the_job_running_and_says_so(server: DanluServer, number: int) -> None:
    name = f"left-{number}"
    job = start(server, "run", "-n", name, "--", "sh", "-c", "echo up; sleep 600")
    assert job.stdout
    assert job.stdout.readline() == b"up\n"
    job.send_signal(number)
    _, said = job.communicate()
    assert job.returncode == 128 + number
    assert b"danlu logs -f" in said
    server.cli("stop", "--now", server.goes_on(name)["ref"])


def test_a_reader_that_goes_away_leaves_the_job_running(server: DanluServer) -> None:
    script = "while echo line; do sleep 0.05; done"
    job = start(server, "run", "-n", "piped", "--", "sh", "-c", script)
    assert job.stdout and job.stderr
    assert job.stdout.readline() == b"line\n"
    job.stdout.close()
    assert b"keeps running" in job.stderr.read()
    assert job.wait() == 141
    server.cli("stop", "--now", server.goes_on("piped")["ref"])


def test_detached_it_returns_at_once_with_the_jobs_name(server: DanluServer) -> None:
    done = server.cli("run", "-d", "-n", "away", "--", "true")
    assert done.stdout.decode().startswith("admin/away-1")
    as_json = server.cli("run", "-d", "--json", "-n", "away", "--", "true")
    assert json.loads(as_json.stdout)["jobs"][0]["ref"] == "admin/away-2"


def test_a_dry_run_tells_when_it_would_start_and_queues_nothing(server: DanluServer) -> None:
    done = server.cli("run", "--dry-run", "-n", "imagined", "-g", "1", "--", "true")
    assert done.returncode == 0
    assert b"imagined" in done.stdout
    assert server.get("/jobs?name=imagined")["jobs"] == []


def test_with_json_the_ended_job_is_printed_instead_of_its_output(server: DanluServer) -> None:
    done = server.cli("run", "--json", "--", "sh", "-c", "echo hi; exit 3")
    assert json.loads(done.stdout)["exit_code"] == 3
    assert done.returncode == 3


def test_an_interrupt_is_heard_with_json_too(server: DanluServer) -> None:
    job = start(server, "run", "--json", "-n", "silent", "--", "sleep", "600")
    while not (found := server.get("/jobs?name=silent&state=running")["jobs"]):
        time.sleep(0.01)
    job.send_signal(signal.SIGINT)
    out, _ = job.communicate()
    assert json.loads(out)["id"] == found[0]["id"]
    assert json.loads(out)["state"] == "stopped"


def test_input_for_several_tasks_is_not_dropped_in_silence(server: DanluServer) -> None:
    done = server.cli("run", "--count", "2", "--", "cat", input=b"data")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"several tasks" in done.stderr


def test_several_tasks_and_arrays_are_followed_with_labels(server: DanluServer) -> None:
    tasks = server.cli("run", "--count", "2", "--", "sh", "-c", "echo rank $RANK")
    assert sorted(tasks.stdout.splitlines()) == [b"0: rank 0", b"1: rank 1"]
    array = server.cli("run", "--array", "3,5", "--", "sh", "-c", "exit $DANLU_ARRAY_INDEX")
    assert array.returncode == 5


def test_a_failed_attempt_and_its_retry_are_both_shown(server: DanluServer, tmp_path: Path) -> None:
    script = "if [ -e seen ]; then echo second; else echo first; touch seen; exit 1; fi"
    done = server.cli("run", "--retries", "1", "--", "sh", "-c", script, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"first\nsecond\n")


def test_a_killed_server_is_waited_for_and_no_byte_is_lost_or_doubled(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data").start()
    code = "import time\nfor i in range(400):\n    print(i, flush=True)\n    time.sleep(0.01)"
    job = start(server, "run", "--", open_python(), "-c", code)
    try:
        assert job.stdout
        assert job.stdout.readline() == b"0\n"
        for _ in range(2):
            server.kill()
            time.sleep(0.3)
            server.start()
        out, said = job.communicate()
        assert (b"0\n" + out).split() == [str(i).encode() for i in range(400)]
        assert job.returncode == 0
        assert b"not reachable" in said
        assert b"back" in said
    finally:
        job.kill()
        server.cleanup()


def test_a_server_that_does_not_come_back_is_given_up(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data").start()
    job = start(server, "run", "--patience", "1", "--", "sh", "-c", "echo up; sleep 600")
    try:
        assert job.stdout
        assert job.stdout.readline() == b"up\n"
        server.kill()
        _, said = job.communicate()
        assert job.returncode == 125
        assert b"did not come back" in said
    finally:
        job.kill()
        server.cleanup()
