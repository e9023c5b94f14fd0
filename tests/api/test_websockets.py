"""Into a running task: its input, and more commands inside it."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from websockets.exceptions import ConnectionClosed

from danlu.engines.local.check import Abilities
from tests.api.harness import PATIENCE, Harness, Job, eventually
from tests.api.people_harness import PeopleHarness
from tests.api.sockets import (
    END,
    INPUT,
    RESIZE,
    attach,
    execute,
    finish,
    refusal,
    resize,
)
from tests.engines.harness import token
from tests.support.processes import processes_with


@pytest.fixture
def running(harness: Harness) -> Job:
    return harness.until(harness.submit(command="sleep 1000", env={"MINE": "yes"}), "running")


# -- attach -----------------------------------------------------------------------------------


def test_what_is_sent_arrives_at_the_tasks_input_and_its_end_too(harness: Harness) -> None:
    job = harness.submit(command="cat; echo over", stdin="pipe")
    harness.until(job, "running")
    blob = bytes(range(256)) * 1000
    with attach(harness, job) as socket:
        socket.send(INPUT + b"hello\n")
        eventually(lambda: harness.log(job) == b"hello\n")
        for at in range(0, len(blob), 50_000):
            socket.send(INPUT + blob[at : at + 50_000])
        socket.send(END)
        harness.wait(job)
    assert harness.log(job) == b"hello\n" + blob + b"over\n"


def test_ones_own_input_is_no_matter_for_the_audit_log_but_anothers_is(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    owner = people_harness.person()
    job = owner.submit(command="cat", stdin="pipe", held=False)
    harness.until(job, "running")
    with attach(harness, job, bearer=owner.token) as socket:
        socket.send(INPUT + b"mine\n")
        eventually(lambda: b"mine" in harness.log(job))
    assert people_harness.acts(thing=job["ref"]) == []
    with attach(harness, job) as socket:
        socket.send(INPUT + b"not mine\n")
        socket.send(END)
        harness.wait(job)
    eventually(lambda: bool(people_harness.acts(thing=job["ref"])))
    (line,) = people_harness.acts(thing=job["ref"])
    assert line["en"] == f"admin took over the input of {job['ref']}: task 0"


def test_a_command_inside_a_job_is_always_written_down(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    owner = people_harness.person()
    job = owner.submit(command="sleep 600", held=False)
    harness.until(job, "running")
    with execute(harness, job, "true", bearer=owner.token) as socket:
        finish(socket)
    eventually(lambda: bool(people_harness.acts(thing=job["ref"])))
    (line,) = people_harness.acts(thing=job["ref"])
    assert (line["act"], line["actor"], line["data"]["words"]) == (
        "job.entered",
        owner.name,
        "true",
    )


def test_input_may_be_sent_before_the_task_has_started(harness: Harness) -> None:
    job = harness.submit(command="cat", stdin="pipe", held=True)
    harness.post(job, "release")
    with attach(harness, job) as socket:
        socket.send(INPUT + b"early")
        socket.send(END)
        assert harness.wait(job)["state"] == "succeeded"
    assert harness.log(job) == b"early"


def test_input_goes_on_after_the_connection_was_lost(harness: Harness) -> None:
    job = harness.submit(command="cat", stdin="pipe")
    with attach(harness, job) as socket:
        socket.send(INPUT + b"one ")
        eventually(lambda: harness.log(job) == b"one ")
    with attach(harness, job) as socket:
        socket.send(INPUT + b"two")
        socket.send(END)
        harness.wait(job)
    assert harness.log(job) == b"one two"


def test_a_terminal_has_the_size_it_is_given(harness: Harness) -> None:
    command = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.1; done"
    job = harness.submit(command=command, stdin="tty")
    eventually(lambda: b"ready" in harness.log(job))
    with attach(harness, job) as socket:
        socket.send(resize(33, 111))
        eventually(lambda: b"33 111" in harness.log(job))


def test_a_terminal_echoes_and_ends_lines_as_terminals_do(harness: Harness) -> None:
    job = harness.submit(command="read word; [ -t 0 ] && [ -t 1 ] && echo tty:$word", stdin="tty")
    with attach(harness, job) as socket:
        socket.send(INPUT + b"abc\n")
        assert harness.wait(job)["state"] == "succeeded"
    assert harness.log(job) == b"abc\r\ntty:abc\r\n"


def test_end_of_input_at_a_terminal_is_control_d(harness: Harness) -> None:
    job = harness.submit(command="cat >/dev/null; echo over", stdin="tty")
    with attach(harness, job) as socket:
        socket.send(END)
        assert harness.wait(job)["state"] == "succeeded"
    assert harness.log(job).endswith(b"over\r\n")


def test_attaching_waits_for_the_task_to_start(harness: Harness) -> None:
    job = harness.submit(command="cat", stdin="pipe", held=True)
    with ThreadPoolExecutor(1) as other:
        opening = other.submit(attach, harness, job)
        assert harness.show(job)["state"] == "queued"
        harness.post(job, "release")
        with opening.result(PATIENCE) as socket:
            assert harness.show(job)["state"] in ("starting", "running")
            socket.send(INPUT + b"patient")
            socket.send(END)
            assert harness.wait(job)["state"] == "succeeded"
    assert harness.log(job) == b"patient"


def test_a_task_that_takes_no_input_says_so(harness: Harness, running: Job) -> None:
    with attach(harness, running) as socket:
        assert b"takes no input" in finish(socket).err
    assert harness.show(running)["state"] == "running"


# -- exec -------------------------------------------------------------------------------------


def test_a_command_runs_inside_the_task_with_its_own_streams_and_code(
    harness: Harness, running: Job
) -> None:
    command = "echo out; echo err >&2; echo $MINE $DANLU_JOB_ID; exit 42"
    with execute(harness, running, "sh", "-c", command) as socket:
        done = finish(socket)
    assert done.out == f"out\nyes {running['id']}\n".encode()
    assert done.err == b"err\n"
    assert done.code == 42
    assert harness.log(running) == b"", "it is not part of the task's log"
    assert harness.show(running)["state"] == "running"


def test_input_and_its_end_reach_the_command(harness: Harness, running: Job) -> None:
    blob = bytes(range(256)) * 2000
    with execute(harness, running, "cat") as socket:
        for at in range(0, len(blob), 64_000):
            socket.send(INPUT + blob[at : at + 64_000])
        socket.send(END)
        done = finish(socket)
    assert (done.out, done.code) == (blob, 0)


def test_much_output_comes_whole(harness: Harness, running: Job) -> None:
    with execute(harness, running, "seq", "1", "200000") as socket:
        done = finish(socket)
    assert done.out == b"".join(b"%d\n" % n for n in range(1, 200001))


def test_words_are_passed_exactly(harness: Harness, running: Job) -> None:
    words = ["a b", "", "$HOME", "*", '"', "一", "\n"]
    with execute(harness, running, "printf", "[%s]", *words) as socket:
        assert finish(socket).out == "".join(f"[{word}]" for word in words).encode()


def test_the_command_sees_what_the_task_sees(harness: Harness, abilities: Abilities) -> None:
    name = token()
    command = f'echo kept > "$HOME/from-task"; echo x > /dev/shm/mine; sleep {name}'
    job = harness.submit(command=command)
    eventually(lambda: processes_with(name))
    text = (
        'cat "$DANLU_USERHOME/from-task"; pwd; echo "$HOME";'
        " cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
    )
    with execute(harness, job, "sh", "-c", text) as socket:
        done = finish(socket)
    kept, folder, home, processes = done.out.decode().split("\n", 3)
    assert kept == "kept"
    assert folder == home
    assert f"sleep {name}" in processes
    if abilities.namespaces:
        assert home == "/userhome"
        assert "danlu.server" not in processes, "the machine's other processes are not seen"
        with execute(harness, job, "cat", "/dev/shm/mine") as socket:
            assert finish(socket).out == b"x\n"


def test_a_terminal_is_a_terminal_of_the_given_size_and_kind(
    harness: Harness, running: Job
) -> None:
    command = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size && echo $TERM; read x; stty size"
    with execute(
        harness, running, "sh", "-c", command, tty=1, rows=21, cols=77, term="vt220"
    ) as socket:
        done = finish(socket, lambda done: b"vt220" in done.out)
        assert done.out == b"21 77\r\nvt220\r\n"
        socket.send(resize(50, 100))
        socket.send(INPUT + b"\n")
        done = finish(socket)
        assert done.out.endswith(b"50 100\r\n")
        assert done.code == 0


def test_control_c_in_a_terminal_interrupts_the_command(harness: Harness, running: Job) -> None:
    # Not a shell: one that is just about to start its next command may lose the signal.
    with execute(harness, running, "cat", tty=1) as socket:
        socket.send(INPUT + b"up\n")
        finish(socket, lambda done: done.out == b"up\r\nup\r\n")
        socket.send(INPUT + b"\x03")
        assert finish(socket).code == 130
    assert harness.show(running)["state"] == "running"


def test_a_command_ends_when_its_reader_goes(harness: Harness, running: Job) -> None:
    name = token()
    with execute(harness, running, "sleep", name) as socket:
        eventually(lambda: processes_with(name))
        socket.close()
    eventually(lambda: not processes_with(name))
    assert harness.show(running)["state"] == "running"


def test_a_signal_is_told_as_a_shell_would(harness: Harness, running: Job) -> None:
    with execute(harness, running, "sh", "-c", "kill -KILL $$") as socket:
        assert finish(socket).code == 137


def test_a_program_that_does_not_exist_is_told(harness: Harness, running: Job) -> None:
    with execute(harness, running, "no-such-program") as socket:
        done = finish(socket)
    assert done.code == 127
    assert b"no-such-program" in done.err


def test_each_task_of_a_gang_can_be_entered(harness: Harness) -> None:
    job = harness.until(harness.submit(command="sleep 1000", count=2, cpus=1), "running")
    for task in (0, 1):
        with execute(harness, job, "sh", "-c", "echo $RANK", task=task) as socket:
            assert finish(socket).out == b"%d\n" % task


@pytest.mark.parametrize(
    ("rows", "cols", "term"),
    [(0, 0, ""), (-5, 10**9, "x" * 5000), (70000, 70000, "a\0b"), (24, 80, "终端")],
)
def test_a_strange_terminal_is_made_a_plain_one(
    harness: Harness, running: Job, rows: int, cols: int, term: str
) -> None:
    with execute(
        harness, running, "stty", "size", tty=1, rows=rows, cols=cols, term=term
    ) as socket:
        done = finish(socket)
    assert done.code == 0
    assert re.fullmatch(rb"[1-9]\d* [1-9]\d*\r\n", done.out)


def test_frames_that_mean_nothing_do_no_harm(harness: Harness, running: Job) -> None:
    for frame in (
        "text",
        b"",
        b"\x09what",
        RESIZE + b"{",
        RESIZE + b'{"rows": "x"}',
        b"\xff" * 100,
    ):
        with execute(harness, running, "sh", "-c", "read x; echo $x") as socket:
            socket.send(frame)
            try:
                socket.send(INPUT + b"word\n")
                finish(socket)
            except ConnectionClosed:
                pass  # sent away: also fine
    with execute(harness, running, "echo", "fine") as socket:
        assert finish(socket).out == b"fine\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ("[]", "argv"),
        ("words", "argv"),
        ("[1]", "argv"),
        ('["a\\u0000b"]', "argv"),
        ('["\\ud800"]', "argv"),
        ('{"a": 1}', "argv"),
    ],
)
def test_what_is_no_command_is_refused_with_a_reason(
    harness: Harness, running: Job, argv: str, said: str
) -> None:
    code, reason = refusal(harness, f"/jobs/{running['id']}/exec", argv=argv)
    assert code == 4403
    assert said in reason


def test_what_does_not_run_cannot_be_entered(harness: Harness, running: Job) -> None:
    ended = harness.run("true")
    held = harness.submit(command="true", held=True)
    argv = json.dumps(["true"])
    for job in (ended, held):
        code, reason = refusal(harness, f"/jobs/{job['id']}/exec", argv=argv)
        assert (code, reason) == (4404, "It is not running")
    assert refusal(harness, f"/jobs/{ended['id']}/attach")[0] == 4404
    assert refusal(harness, "/jobs/nobody-1/exec", argv=argv) == (4404, "There is no job nobody-1")
    assert refusal(harness, f"/jobs/{running['id']}/exec", argv=argv, task=7)[0] == 4404
