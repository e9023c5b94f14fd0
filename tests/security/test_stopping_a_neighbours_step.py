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

from danlu.steps import frames, greeting

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
