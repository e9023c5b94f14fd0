"""200 open pages on one server: how late an update is, and the server's memory."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench import followers, processes
from bench.guard import Member
from bench.measure import Options, percentile
from bench.server import Danlu
from bench.table import Goal, Row
from bench.web_map import CONFIG
from danlu.sdk.parser import Parser

PAGES = 200
PEOPLE = 20
PATH = "/danlu/v1/stream?nodes=true"


@dataclass(slots=True)
class Reader:
    """A page's connection: what has arrived, and when each node last changed in it."""

    link: socket.socket
    parser: Parser = field(default_factory=lambda: Parser("GET"))
    text: bytes = b""
    ready: bool = False
    seen: dict[str, float] = field(default_factory=dict)

    def take(self, data: bytes, at: float) -> None:
        *blocks, self.text = (self.text + self.parser.feed(data)).split(b"\n\n")
        for block in blocks:
            name, _, rest = block.partition(b"event: nodes\ndata: ")
            del name
            if not rest:
                continue
            for node in json.loads(rest)["nodes"] if self.ready else ():
                self.seen[node["drain_reason"] or ""] = at
            self.ready = True


def rows(options: Options) -> Iterator[Row]:
    updates = 10 if options.quick else 40
    followers.raise_file_limit(4000)
    with Danlu(8, CONFIG) as danlu, danlu.client() as admin, contextlib.ExitStack() as held:
        alone = processes.memory(danlu.pids())[0]
        people = [Member(danlu, admin, f"user{n}") for n in range(PEOPLE)]
        readers = [_open(people[n % PEOPLE], held) for n in range(PAGES)]
        over = threading.Event()
        reading = threading.Thread(target=_read, args=(readers, over))
        reading.start()
        try:
            while not all(reader.ready for reader in readers):
                time.sleep(0.1)
            sent: dict[str, float] = {}
            most = 0.0
            for number in range(updates):
                reason = f"update {number}"
                sent[reason] = time.monotonic()
                admin.scheduling.drain(f"a800-{number + 1:02}", reason=reason)
                while not all(reason in reader.seen for reader in readers):
                    time.sleep(0.01)
                most = max(most, processes.memory(danlu.pids())[0])
                time.sleep(0.2)
        finally:
            over.set()
            reading.join()
        late = [reader.seen[reason] - at for reason, at in sent.items() for reader in readers]
        what = f"{PAGES} open pages, 1,600 GPUs"
        yield Row(
            f"{what}: update, p95 (ms)",
            percentile(late, 0.95) * 1000,
            goal=Goal("at most", 1000, "ms"),
        )
        yield Row(f"{what}: server, RSS (MB)", most, alone, "without pages")


def _open(member: Member, held: contextlib.ExitStack) -> Reader:
    client = held.enter_context(member.client())
    link = held.enter_context(member.link())
    link.sendall(client.wire.head("GET", PATH))
    link.setblocking(False)
    return Reader(link)


def _read(readers: list[Reader], over: threading.Event) -> None:
    with selectors.DefaultSelector() as selector:
        for reader in readers:
            selector.register(reader.link, selectors.EVENT_READ, reader)
        while not over.is_set():
            for key, _ in selector.select(0.2):
                data = key.data.link.recv(1 << 18)
                if not data:
                    raise RuntimeError("the server ended a stream")
                key.data.take(data, time.monotonic())
