"""A terminal with a name outlives its connection, for whoever opened it and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from tests.api.harness import PATIENCE, Harness, Job, eventually
from tests.api.people_harness import PeopleHarness, Someone
from tests.api.sockets import INPUT, execute, finish, refusal
from tests.engines.harness import token
from tests.support.processes import processes_with
from tests.support.server import DanluServer

LEAVE = bytes([6])


@pytest.fixture
def harness(server: DanluServer) -> Iterator[Harness]:
    harness = Harness(server)
    yield harness
    harness.clear()
    harness.http.close()


@pytest.fixture
def people(harness: Harness) -> Iterator[PeopleHarness]:
    people = PeopleHarness(harness)
    yield people
    people.close()


@pytest.fixture
def alice(people: PeopleHarness) -> Someone:
    return people.person()


@pytest.fixture
def running(harness: Harness, alice: Someone) -> Job:
    return harness.until(alice.submit(command="sleep 1000", held=False), "running")


def shell(harness: Harness, job: Job, who: Someone, name: str = "") -> ClientConnection:
    return execute(harness, job, "sh", tty=True, name=name, bearer=who.token)


def seen(socket: ClientConnection, words: bytes) -> bytes:
    return finish(socket, lambda done: words in done.out).out


def test_a_shell_goes_on_after_a_lost_connection(
    harness: Harness, alice: Someone, running: Job
) -> None:
    with shell(harness, running, alice, "one") as socket:
        socket.send(INPUT + b"kept=yes; echo be$kept\n")
        seen(socket, b"beyes")
    with shell(harness, running, alice, "one") as socket:
        assert b"beyes" in seen(socket, b"beyes")  # what it printed last
        socket.send(INPUT + b"echo still-$kept\n")
        seen(socket, b"still-yes")
        socket.send(INPUT + b"exit 7\n")
        assert finish(socket).code == 7
    with shell(harness, running, alice, "one") as socket:
        socket.send(INPUT + b"echo fresh-$kept-\n")
        seen(socket, b"fresh--")


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_shell_outlives_the_server(tmp_path: Path, how: str) -> None:
    own = DanluServer(tmp_path / "data").start()
    try:
        harness = Harness(own)
        job = harness.until(harness.submit(command="sleep 1000"), "running")
        with execute(harness, job, "sh", tty=True, name="one") as socket:
            socket.send(INPUT + b"kept=yes; echo be$kept\n")
            seen(socket, b"beyes")
            getattr(own, how)()
            own.start()
        with execute(harness, job, "sh", tty=True, name="one") as socket:
            seen(socket, b"beyes")
            socket.send(INPUT + b"echo still-$kept; exit 7\n")
            done = finish(socket)
            assert (b"still-yes" in done.out, done.code) == (True, 7)
        harness.http.close()
    finally:
        own.cleanup()


def test_signing_out_leaves_it_for_the_next_time(
    harness: Harness, people: PeopleHarness, alice: Someone, running: Job
) -> None:
    once, again = people.session(alice), people.session(alice)
    with shell(harness, running, once, "one") as socket:
        socket.send(INPUT + b"kept=yes; echo be$kept\n")
        seen(socket, b"beyes")
        once.do("POST", "/logout")
        with pytest.raises(ConnectionClosed):
            while True:
                socket.recv(timeout=PATIENCE)
    with shell(harness, running, again, "one") as socket:
        seen(socket, b"beyes")


def test_closing_it_ends_the_shell(harness: Harness, alice: Someone, running: Job) -> None:
    mark = token()
    with shell(harness, running, alice, "one") as socket:
        socket.send(INPUT + f"sh -c 'sleep 1000; :' {mark}\n".encode())
        eventually(lambda: processes_with(mark) or None)
        socket.send(LEAVE)
        with pytest.raises(ConnectionClosed):
            while True:
                socket.recv(timeout=PATIENCE)
    eventually(lambda: True if not processes_with(mark) else None)


def test_without_a_name_it_ends_with_its_connection(
    harness: Harness, alice: Someone, running: Job
) -> None:
    mark = token()
    with shell(harness, running, alice) as socket:
        socket.send(INPUT + f"sh -c 'sleep 1000; :' {mark}\n".encode())
        eventually(lambda: processes_with(mark) or None)
    eventually(lambda: True if not processes_with(mark) else None)


def test_a_second_page_takes_over(harness: Harness, alice: Someone, running: Job) -> None:
    with shell(harness, running, alice, "one") as first:
        first.send(INPUT + b"a=1; echo b$a\n")
        seen(first, b"b1")
        with shell(harness, running, alice, "one") as second:
            with pytest.raises(ConnectionClosed):
                while True:
                    first.recv(timeout=PATIENCE)
            second.send(INPUT + b"echo c$a\n")
            seen(second, b"c1")


def test_nobody_else_gets_into_it(
    harness: Harness, people: PeopleHarness, alice: Someone, running: Job
) -> None:
    with shell(harness, running, alice, "one") as socket:
        socket.send(INPUT + b"secret=x; echo b$secret\n")
        seen(socket, b"bx")
    bob = people.person()
    path = f"/jobs/{running['id']}/exec"
    code, _ = refusal(harness, path, argv='["sh"]', tty=True, name="one", bearer=bob.token)
    assert code == 4404
    # An admin may enter the task, but this is another shell.
    with shell(harness, running, people.admin, "one") as socket:
        socket.send(INPUT + b"echo fresh-$secret-\n")
        assert b"bx" not in seen(socket, b"fresh--")
    code, reason = refusal(
        harness, path, argv='["sh"]', tty=True, name="x" * 65, bearer=alice.token
    )
    assert (code, "64" in reason) == (4403, True)


def test_who_is_disabled_loses_a_shell_that_nobody_watches(
    harness: Harness, people: PeopleHarness, alice: Someone, running: Job
) -> None:
    mark = token()
    with shell(harness, running, alice, "one") as socket:
        socket.send(INPUT + f"sh -c 'sleep 1000; :' {mark}\n".encode())
        eventually(lambda: processes_with(mark) or None)
    assert processes_with(mark)
    people.admin.do("POST", f"/users/{alice.name}/disable")
    eventually(lambda: True if not processes_with(mark) else None)
