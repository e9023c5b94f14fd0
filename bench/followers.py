"""Many readers of growing logs: whether every byte arrives, and how late."""

from __future__ import annotations

import os
import resource
import selectors
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import interpreter
from danlu.sdk.parser import Parser
from danlu.sdk.wire import Wire

# Each line: its number, when it was sent (nanoseconds), and bytes that are not valid text.
PRINTER = """
import os, sys, time
count, pause = int(sys.argv[1]), float(sys.argv[2])
start = time.monotonic()
for number in range(count):
    time.sleep(max(0, start + number * pause - time.monotonic()))
    rest = bytes(byte for byte in range(128, 192)) + b"%06d" % (number * number)
    os.write(1, b"%d %d %s\\n" % (number, time.time_ns(), rest))
"""


@dataclass(slots=True)
class Stream:
    """One reader: what arrived, piece by piece, and when."""

    fd: int
    close: Callable[[], object]
    parser: Parser | None = None  # of the HTTP answer, if it is one
    pieces: list[tuple[int, bytes]] = field(default_factory=list)

    def body(self) -> list[tuple[int, bytes]]:
        if self.parser is None:
            return self.pieces
        return [(at, self.parser.feed(data)) for at, data in self.pieces]

    def delays(self, count: int) -> list[float] | None:
        """Delay of each line in seconds; None unless exactly the expected bytes arrived."""
        text = b""
        delays: list[float] = []
        for at, data in self.body():
            *lines, text = (text + data).split(b"\n")
            for line in lines:
                number, _, rest = line.partition(b" ")
                sent, _, filler = rest.partition(b" ")
                if number != b"%d" % len(delays) or filler != _filler(len(delays)):
                    return None
                delays.append((at - int(sent)) / 1e9)
        complete = not text and len(delays) == count
        ended = self.parser is None or (self.parser.done and self.parser.status == 200)
        return delays if complete and ended else None


def _filler(number: int) -> bytes:
    return bytes(range(128, 192)) + b"%06d" % (number * number)


def printer(count: int, pause: float) -> list[str]:
    return [interpreter.for_tasks(), "-I", "-S", "-c", PRINTER, str(count), str(pause)]


def follow_http(wire: Wire, path: str) -> Stream:
    link = socket.create_connection((wire.address.host, wire.address.port))
    link.sendall(wire.head("GET", path, {"Connection": "close"}))
    link.setblocking(False)
    return Stream(link.fileno(), link.close, Parser("GET"))


def follow_file(path: Path) -> Stream:
    tail = subprocess.Popen(["tail", "-c", "+1", "-f", str(path)], stdout=subprocess.PIPE)
    assert tail.stdout is not None
    output = tail.stdout
    os.set_blocking(output.fileno(), False)

    def close() -> None:
        tail.terminate()
        tail.wait()
        output.close()

    return Stream(output.fileno(), close)


def collect(
    streams: Sequence[Stream], finished: Callable[[Stream], bool], tick: Callable[[], None]
) -> None:
    """Reads all until each has ended or is finished; calls `tick` about once a second.

    Only records times: parsing here would distort the measurement.
    """
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.fd, selectors.EVENT_READ, stream)
        ticked = quiet_since = time.monotonic()
        while selector.get_map():
            events = selector.select(1)
            now = time.monotonic()
            if events:
                quiet_since = now
            elif now - quiet_since > 60:
                return
            if now - ticked >= 1:
                tick()
                ticked = now
            for key, _ in events:
                data = os.read(key.fd, 1 << 18)
                if data:
                    key.data.pieces.append((time.time_ns(), data))
                if not data or finished(key.data):
                    selector.unregister(key.fd)


def raise_file_limit(needed: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise RuntimeError(f"{needed} open files needed, {hard} allowed; see ulimit -n")
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
