"""The web terminal: how long a key takes to the task and back, over the page's own WebSocket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlencode

from websockets.sync.client import ClientConnection, connect

from bench.measure import Options, percentile, timed
from bench.server import Danlu
from bench.table import Goal, Row

INPUT, STDOUT = b"\0", b"\x01"


def rows(options: Options) -> Iterator[Row]:
    with Danlu(8) as danlu, danlu.client() as client:
        job = client.submit({"name": "box", "command": "sleep 100000", "cpus": 1})["jobs"][0]
        while client.show(job["id"])["state"] != "running":
            pass
        with _terminal(danlu, job["id"]) as socket:
            key = timed(lambda: _key(socket))
            for _ in range(20):
                key()
            found = [key() for _ in range(options.times(300, 100))]
    what = "web terminal, a key and its echo, p95, ms"
    yield Row(what, percentile(found, 0.95) * 1000, goal=Goal("at most", 10, "ms"))


def _terminal(danlu: Danlu, job: str) -> ClientConnection:
    query = urlencode({"argv": json.dumps(["cat"]), "tty": "true", "name": "bench"})
    url = f"{danlu.url.replace('http', 'ws', 1)}/danlu/v1/jobs/{job}/exec?{query}"
    headers = {"Authorization": f"Bearer {danlu.token}"}
    return connect(url, additional_headers=headers, proxy=None)


def _key(socket: ClientConnection) -> None:
    socket.send(INPUT + b"x")
    while socket.recv(timeout=60) != STDOUT + b"x":
        pass
