"""WebSockets into tasks, as a client holds them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.api.harness import PATIENCE, Harness, Job

INPUT, STDOUT, STDERR, RESIZE, EXIT, END = (bytes([kind]) for kind in range(6))


def dial(harness: Harness, path: str, bearer: str | None = None, **query: Any) -> ClientConnection:
    url = harness.server.url.replace("http", "ws", 1) + f"/danlu/v1{path}?{urlencode(query)}"
    headers = {"Authorization": f"Bearer {bearer or harness.server.token}"}
    return connect(
        url, additional_headers=headers, open_timeout=PATIENCE, close_timeout=5, proxy=None
    )


def attach(harness: Harness, job: Job, **query: Any) -> ClientConnection:
    return dial(harness, f"/jobs/{job['id']}/attach", **query)


def execute(harness: Harness, job: Job, *argv: str, **query: Any) -> ClientConnection:
    return dial(harness, f"/jobs/{job['id']}/exec", argv=json.dumps(argv), **query)


def resize(rows: int, cols: int) -> bytes:
    return RESIZE + json.dumps({"rows": rows, "cols": cols}).encode()


@dataclass
class Done:
    out: bytes = b""
    err: bytes = b""
    code: int | None = None
    ended: bool = False


def finish(socket: ClientConnection, until: Callable[[Done], bool] = lambda done: False) -> Done:
    """Everything up to the exit code, or until enough was seen."""
    done = Done()
    while not done.ended and not until(done):
        frame = socket.recv(timeout=PATIENCE)
        assert isinstance(frame, bytes)
        if frame[:1] == STDOUT:
            done.out += frame[1:]
        elif frame[:1] == STDERR:
            done.err += frame[1:]
        else:
            assert frame[:1] == EXIT
            done.code, done.ended = json.loads(frame[1:])["code"], True
    return done


def refusal(harness: Harness, path: str, **query: Any) -> tuple[int, str]:
    with dial(harness, path, **query) as socket:
        try:
            frame = socket.recv(timeout=PATIENCE)
        except ConnectionClosed as closed:
            assert closed.rcvd is not None
            return closed.rcvd.code, closed.rcvd.reason
    raise AssertionError(f"it was let in: {frame!r}")
