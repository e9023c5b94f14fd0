"""Bytes that nobody should send, for as long as one likes: for the suite and for scripts/fuzz."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from danlu.engines.local.keeper import frames, terminal
from danlu.engines.local.keeper.keeper import profile
from danlu.engines.local.keeper.spawner import Spawner
from danlu.steps import frames as step_frames
from danlu.steps import greeting
from tests.security import http_heads


class Unstarting(Spawner):
    """Does all but start keepers."""

    def _start_all(self, folder: str, tasks: list[Any], *_: Any) -> list[tuple[int, int]]:
        return [(0, 0) for task in tasks if profile(task)]


LAUNCH = {
    "attempt": "a",
    "epoch": 1,
    "gang": "{}",
    "tasks": [
        {
            **{"index": 0, "logs": [], "mounts": [{"source": "/tmp"}], "devices": [], "drop": True},
            **{"shm": 1, "memory": 1, "cpus": 1.0, "pids": 9},
            **{"uid": None, "gid": None, "groups": []},
        }
    ],
}


def keepers_frames(chance: random.Random) -> None:
    """Whatever comes, in whatever pieces: frames of at most the limit, or a ValueError."""
    whole = b"".join(_frame(chance) for _ in range(chance.randrange(6))) + _noise(chance)
    reader, got = frames.Reader(), []
    at = 0
    try:
        while at < len(whole):
            step = chance.randrange(1, 5000)
            got += reader.feed(whole[at : at + step])
            at += step
    except ValueError:
        return
    assert all(len(body) <= frames.LIMIT for _, body in got)
    packed = b"".join(frames.pack(kind, body) for kind, body in got)
    assert whole.startswith(packed)
    for kind, body in got:
        if kind == frames.RESIZE:
            ours, theirs = os.openpty()
            terminal.resize(ours, body)
            os.close(ours)
            os.close(theirs)


def spawners_messages(chance: random.Random) -> None:
    """Every message that is not a launch gets an answer, and nothing is started."""
    text = json.dumps(_mutated(LAUNCH, chance)).encode()
    if chance.random() < 0.5:
        cut = chance.randrange(len(text) + 1)
        text = text[:cut] + _noise(chance) + text[cut + chance.randrange(4) :]
    with tempfile.TemporaryDirectory(prefix="danlu-fuzz-") as data:
        os.mkdir(f"{data}/run")
        spawner = Unstarting.__new__(Unstarting)
        spawner._data, spawner._run = data, f"{data}/run"
        answer = spawner.answer(text)
        assert answer.get("error") in (None, "refused", "failed", "exists"), answer
        json.dumps(answer)
        assert os.listdir(data) == ["run"]
        assert len(os.listdir(f"{data}/run")) <= 2


def step_protocol(chance: random.Random) -> None:
    """A node that hears noise instead of a greeting lets nobody in, and comes to an end."""
    ours, theirs = socket.socketpair()
    said = _noise(chance)[: chance.randrange(200)]

    def stranger() -> None:
        try:
            ours.sendall(said)
            ours.shutdown(socket.SHUT_WR)
            while ours.recv(4096):
                pass
        except OSError:
            pass

    thread = threading.Thread(target=stranger)
    thread.start()
    with theirs:
        side = greeting.welcome if chance.random() < 0.5 else greeting.greet
        assert not side(theirs, "key")
    thread.join()
    ours.close()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(said)
        ours.shutdown(socket.SHUT_WR)
        while (frame := step_frames.receive(theirs)) is not None:
            assert len(frame[2]) <= len(said)


TARGETS: dict[str, Callable[[random.Random], None]] = {
    "keeper": keepers_frames,
    "spawner": spawners_messages,
    "http": http_heads.one_connection,
    "steps": step_protocol,
}


def run(name: str, seconds: float, seed: int) -> int:
    """How many tries there were. A failure tells the seed of its try; memory must not grow."""
    target, tries, end = TARGETS[name], 0, time.monotonic() + seconds
    tracemalloc.start()
    held = 0
    while time.monotonic() < end:
        try:
            target(random.Random(f"{seed}.{tries}"))
        except BaseException as error:
            error.add_note(f"target {name}, seed {seed}, try {tries}")
            raise
        tries += 1
        if tries == 200:
            held = tracemalloc.get_traced_memory()[0]
    grown = tracemalloc.get_traced_memory()[0] - held
    tracemalloc.stop()
    assert tries < 200 or grown < 8 << 20, f"{name}: {grown} bytes more than at the beginning"
    return tries


def _frame(chance: random.Random) -> bytes:
    kind = chance.choice(b"EAire12xZ\x00")
    body = _noise(chance)
    length = len(body) if chance.random() < 0.8 else chance.randrange(1 << 32)
    return struct.pack("!cI", bytes([kind]), length) + body


def _noise(chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice((0, 1, 3, 4, 5, 40, 3000)))


def _mutated(value: object, chance: random.Random) -> object:
    """The same, with something else somewhere in it."""
    if chance.random() < 0.15:
        return chance.choice([None, -1, 1e300, "", "../x", "\0", [], {}, True, 2**70, [[]] * 3])
    if isinstance(value, dict):
        kept = {name: _mutated(each, chance) for name, each in value.items()}
        if kept and chance.random() < 0.1:
            kept.pop(chance.choice(list(kept)))
        return kept
    if isinstance(value, list):
        return [_mutated(each, chance) for each in value] * chance.choice((1, 1, 1, 0, 3))
    return value
