"""To stop a neighbour's job of several nodes, by what is sent to its waiting node."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.steps import frames, greeting, srun

ROOT = Path(__file__).parents[2] / "src" / "danlu" / "steps" / "run.py"
KEY = "k" * 64


class Node:
    """A waiting node, as it runs inside a task."""

    def __init__(self, home: Path) -> None:
        env = {
            **os.environ,
            **{"DANLU_USERHOME": str(home), "DANLU_ATTEMPT_ID": "a", "DANLU_TASK_INDEX": "1"},
            **{"DANLU_HOSTS": "127.0.0.1,127.0.0.1", "DANLU_PEERS": "127.0.0.1:0,127.0.0.1:0"},
        }
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT), "danlu-node"], env=env, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        assert b"waits for srun" in self.process.stdout.readline()
        address, self.key = (home / ".danlu/steps/a/1").read_text().split()
        host, _, port = address.rpartition(":")
        self.address = (host, int(port))

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=30)

    @property
    def memory(self) -> int:
        """In MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) >> 10


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    node.process.kill()
    node.process.wait()


def runs(node: Node, text: str) -> bytes:
    """What srun would do."""
    with node.connect() as link:
        assert greeting.greet(link, node.key)
        task = {"task": 0, "local": 0, "words": ["echo", text], "env": {}, "own": {}}
        order = {"tasks": [{**task, "folder": "/", "gpus": None}]}

        frames.send(link, frames.ORDER, 0, json.dumps(order).encode())
        said = b""
        while (frame := frames.receive(link)) is not None and frame[0] != frames.EXIT:
            said += frame[2]
        return said


def test_large_frames_of_strangers_are_not_kept(node: Node) -> None:
    before = node.memory
    links = [node.connect() for _ in range(20)]
    for link in links:
        link.settimeout(1)
        try:
            link.sendall(
                bytes([frames.ORDER]) + (0).to_bytes(4, "big") + (60 << 20).to_bytes(4, "big")
            )
            link.sendall(bytes(8 << 20))
        except OSError:
            pass  # refused: that is what is wanted
    assert node.memory - before < 20
    assert runs(node, "still here") == b"still here\n"
    for link in links:
        link.close()


def test_a_crowd_that_says_nothing_keeps_nobody_out(node: Node) -> None:
    links = [node.connect() for _ in range(30)]
    assert runs(node, "still here") == b"still here\n"
    for link in links:
        link.close()


def test_a_crowd_that_says_a_little_now_and_then_keeps_nobody_out(node: Node) -> None:
    """More links than the node has places, each short of a timeout, for ever."""
    over = threading.Event()

    def drip() -> None:
        while not over.is_set():
            try:
                with node.connect() as link:
                    while not over.is_set():
                        link.sendall(b"a")
                        over.wait(1)
            except OSError:
                over.wait(0.2)

    try:
        for _ in range(200):
            threading.Thread(target=drip, daemon=True).start()
        over.wait(2)
        for number in range(3):
            assert runs(node, f"still here {number}") == f"still here {number}\n".encode()
    finally:
        over.set()


def test_a_greeting_has_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not begin again with every byte."""
    monkeypatch.setattr(greeting, "PATIENCE", 0.5)
    for side in (greeting.welcome, greeting.greet):
        ours, theirs = socket.socketpair()
        over, said = threading.Event(), []

        def drip(link: socket.socket = ours, over: threading.Event = over) -> None:
            while not over.wait(0.2) and len(said) < 31:  # noqa: B023
                link.sendall(b"a")
                said.append(1)  # noqa: B023

        thread = threading.Thread(target=drip)
        thread.start()
        with ours, theirs:
            assert not side(theirs, KEY)
            over.set()
            thread.join()
        assert len(said) < 31, side


def test_srun_calls_again_when_it_was_turned_away(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first two of its links have to make room for others."""
    monkeypatch.setenv("DANLU_USERHOME", str(tmp_path))
    monkeypatch.setenv("DANLU_ATTEMPT_ID", "a")
    with socket.create_server(("127.0.0.1", 0)) as door:
        (tmp_path / ".danlu/steps/a/1").write_text(
            f"127.0.0.1:{door.getsockname()[1]} {node.key}\n"
        )

        def answer() -> None:
            for admitted in (False, False, True):
                link, _ = door.accept()
                with link:
                    greeting.welcome(link, node.key, lambda admitted=admitted: admitted)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        srun._reach(1).close()
        thread.join()


def test_an_order_that_is_none_ends_its_link_only(node: Node) -> None:
    for order in (b"", b"{", b"[]", b'{"tasks": [{}]}', b'{"tasks": [{"words": [1]}]}'):
        with node.connect() as link:
            assert greeting.greet(link, node.key)
            frames.send(link, frames.ORDER, 0, order)
            assert frames.receive(link) is None
    assert runs(node, "still here") == b"still here\n"


def test_a_wrong_key_runs_nothing_and_learns_nothing(node: Node) -> None:
    with node.connect() as link:
        assert not greeting.greet(link, "x" * 64)
    ours, theirs = socket.socketpair()
    heard = bytearray()

    def false_node() -> None:
        heard.extend(theirs.recv(1 << 16))
        theirs.sendall(bytes(64))
        theirs.close()

    thread = threading.Thread(target=false_node)
    thread.start()
    assert not greeting.greet(ours, KEY)
    thread.join()
    assert len(heard) == 32
    assert KEY.encode() not in heard
    assert node.process.poll() is None
