"""Web doors: requests and bytes through the gateway, against a direct connection to the program."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from bench.measure import Options, in_turns, median
from bench.server import Danlu
from bench.table import Goal, Row

PIECE = 1 << 16
SIZE = 256 << 20
PROGRAM = """
import asyncio, sys
body = b"x" * 65536
async def serve(reader, writer):
    while line := await reader.readline():
        while (await reader.readline()).strip():
            pass
        size = int(line.split()[1][1:] or 2)
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % size)
        while size:
            writer.write(body[:size])
            size -= min(size, len(body))
            await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
"""


def rows(options: Options) -> Iterator[Row]:
    gateway = 0
    try:
        with Danlu(8) as danlu:
            rates, speeds = _measured(danlu, options)
            gateway = int(Path(danlu.folder, "data/gateway/lock").read_text())
    finally:
        if gateway:  # it outlives its server
            os.kill(gateway, signal.SIGKILL)
    yield Row(
        "web door, small requests on one connection, per second",
        median(rates["door"]),
        median(rates["direct"]),
        "straight to the program",
        Goal("at least", 1000, "per second"),
    )
    yield Row(
        "web door, one large answer, MB/s",
        median(speeds["door"]),
        median(speeds["direct"]),
        "straight to the program",
        Goal("at least", 300, "MB/s"),
    )


Found = dict[str, list[float]]


def _measured(danlu: Danlu, options: Options) -> tuple[Found, Found]:
    with danlu.client() as client:
        port = _free_port()
        program = Path(danlu.folder, "program.py")
        program.write_text(PROGRAM)
        program.chmod(0o644)
        job = client.submit(
            {"name": "site", "command": ["python3", str(program), str(port)], "cpus": 1}
        )["jobs"][0]
        while client.show(job["id"])["state"] != "running":
            time.sleep(0.02)
        _Browser(port, "")._connected().close()
        door = client.open_door(job["id"], port=port)
        cookie = entered(door["port"], door["path"])
        count, size = (1000, SIZE // 8) if options.quick else (3000, SIZE)
        through, direct = _Browser(door["port"], cookie), _Browser(port, "")
        rates = in_turns(
            options.times(5, 3),
            {"door": lambda: through.rate(count), "direct": lambda: direct.rate(count)},
        )
        speeds = in_turns(
            options.times(5, 3),
            {"door": lambda: through.speed(size), "direct": lambda: direct.speed(size)},
        )
    return rates, speeds


class _Browser:
    def __init__(self, port: int, cookie: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1:{port}\r\n" + (f"Cookie: {cookie}\r\n" if cookie else "")

    def rate(self, count: int) -> float:
        """Small requests, one after the other."""
        with self._connected() as link:
            ask = f"GET /2 HTTP/1.1\r\n{self._head}\r\n".encode()
            self._one(link, ask)
            start = time.perf_counter()
            for _ in range(count):
                self._one(link, ask)
            return count / (time.perf_counter() - start)

    def speed(self, size: int) -> float:
        with self._connected() as link:
            start = time.perf_counter()
            link.sendall(f"GET /{size} HTTP/1.1\r\n{self._head}\r\n".encode())
            got = 0
            while got < size:
                piece = len(link.recv(1 << 20))
                assert piece, "the answer broke off"
                got += piece
            return size / 1e6 / (time.perf_counter() - start)

    def _connected(self) -> socket.socket:
        while True:
            try:
                link = socket.create_connection(("127.0.0.1", self._port))
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return link
            except ConnectionRefusedError:
                time.sleep(0.05)

    def _one(self, link: socket.socket, ask: bytes) -> None:
        link.sendall(ask)
        got = b""
        while not got.endswith(b"\r\n\r\nxx"):
            piece = link.recv(PIECE)
            assert piece, got
            got += piece


def entered(port: int, path: str) -> str:
    link = http.client.HTTPConnection("127.0.0.1", port)
    link.request("GET", urlsplit(path).path + "?" + urlsplit(path).query)
    answer = link.getresponse()
    answer.read()
    assert answer.status == 303, answer.status
    return "; ".join(each.partition(";")[0] for each in answer.headers.get_all("set-cookie", []))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
