"""Bytes that nobody should send, for as long as one likes: for the suite and for scripts/fuzz."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import random
import signal
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
from danlu.steps import node as step_node
from tests.security import command_pipes, http_heads, registry_http, ssh_packets


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
    if chance.random() < 0.1:
        _order(chance)


ORDER = {
    "tasks": [
        {
            **{"task": 0, "local": 0, "words": ["true", "a"], "folder": "/", "gpus": 1},
            **{"env": {"PATH": os.defpath, "A": "b"}, "own": {"C": "d"}},
        }
    ]
}


def _order(chance: random.Random) -> None:
    """From one who knows the key: what is ordered ends, and says so; the rest ends the link."""
    order = json.dumps(_mutated(ORDER, chance)).encode()
    if chance.random() < 0.3:
        cut = chance.randrange(len(order) + 1)
        order = order[:cut] + _noise(chance) + order[cut + chance.randrange(4) :]
    kind = step_frames.ORDER if chance.random() < 0.95 else chance.randrange(256)
    ours, theirs = socket.socketpair()
    failed: list[threading.ExceptHookArgs] = []
    hook, threading.excepthook = threading.excepthook, failed.append
    try:
        node = threading.Thread(target=_obeys, args=(theirs,))
        node.start()
        with ours:
            step_frames.send(ours, kind, 0, order)
            for _ in range(chance.randrange(3)):
                with contextlib.suppress(OSError):  # it has hung up
                    step_frames.send(ours, step_frames.SIGNAL, 0, _signal(chance))
            while (frame := step_frames.receive(ours)) is not None:
                assert frame[0] in (step_frames.OUT, step_frames.ERR, step_frames.EXIT), frame
        node.join()
    finally:
        threading.excepthook = hook
    assert not failed, (order, failed)


def _obeys(link: socket.socket) -> None:
    with link:
        step_node.obey(link)
        link.shutdown(socket.SHUT_RDWR)


def _signal(chance: random.Random) -> bytes:
    return chance.choice((b"15", b"9", b"0", b"-1", b"99", b"9" * 40, b"", _noise(chance)))


TARGETS: dict[str, Callable[[random.Random], None]] = {
    "keeper": keepers_frames,
    "spawner": spawners_messages,
    "http": http_heads.one_connection,
    "steps": step_protocol,
    "ssh": ssh_packets.one_stream,
    "pipes": command_pipes.one_command,
    "registry": registry_http.one_connection,
}


WARM = 200  # tries until everything is loaded
SETTLED = 10_000  # tries until the largest inputs have been there
LIMIT = 30  # seconds for one try, after which it hangs
MOST_HEAP, MOST_RSS = 8 << 20, 64 << 20


def run(name: str, seconds: float, seed: int) -> int:
    """How many tries there were. A failure tells the seed of its try; nothing may be left over."""
    target, tries, end = TARGETS[name], 0, time.monotonic() + seconds
    tracemalloc.start()
    hook = signal.signal(signal.SIGALRM, _hangs)
    before = pages = None
    try:
        while time.monotonic() < end:
            signal.alarm(LIMIT)
            try:
                target(random.Random(f"{seed}.{tries}"))
            except BaseException as error:
                error.add_note(f"target {name}, seed {seed}, try {tries}")
                raise
            tries += 1
            if tries == WARM:
                before = _held()
            if tries == SETTLED:
                pages = _held()[1]
        after = _held()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, hook)
        tracemalloc.stop()
    if before is not None:
        heap, _, links, threads = (now - then for now, then in zip(after, before, strict=True))
        rss = 0 if pages is None else after[1] - pages
        assert heap < MOST_HEAP, f"{name}: {heap} bytes more than at the beginning"
        assert rss < MOST_RSS, f"{name}: {rss} bytes of memory more than at the beginning"
        assert links <= 0, f"{name}: {links} descriptors more than at the beginning"
        assert threads <= 0, f"{name}: {threads} threads more than at the beginning"
    return tries


def _hangs(*_: object) -> None:
    raise TimeoutError(f"no end after {LIMIT} s")


def _held() -> tuple[int, int, int, int]:
    """Heap, memory, descriptors and threads."""
    gc.collect()
    for _ in range(100):  # those that have been told to end
        if threading.active_count() == 1:
            break
        time.sleep(0.01)
    ctypes.CDLL(None).malloc_trim(0)  # what is free, but not yet given back, is nobody's
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    count = len(os.listdir("/proc/self/fd"))
    heap = tracemalloc.get_traced_memory()[0]
    return heap, pages * os.sysconf("SC_PAGE_SIZE"), count, threading.active_count()


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
