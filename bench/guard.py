"""What one member can take from the others: another's waiting times and the server's memory."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench import followers, processes
from bench.measure import Options, note, percentile
from bench.server import Danlu
from bench.table import Goal, Row
from bench.witness import Witness
from danlu.sdk import Client
from danlu.sdk.errors import ApiError, ProtocolError

SUMMARY = "another member's p99 and the server's memory while one member asks for too much"
CONFIG = '[server]\ncircle_of_trust = true\nproxies = ["127.0.0.1"]\n'
SLOTS = 8
HARD_LINE = "NCCL" * 200
PASSWORD = "a-long-enough-password"
PATIENCE = 600.0

Attack = Callable[["Member", int], int]
"""Does its worst; how much of it was refused."""


class Member:
    """One account and its address."""

    def __init__(self, danlu: Danlu, admin: Client, name: str) -> None:
        self.url, self.name = danlu.url, name
        first = admin.people.add_user(name, trusted=True)["password"]
        with Client(self.url, "", timeout=PATIENCE) as stranger:
            token = stranger.login(name, first)["token"]
        with Client(self.url, token, timeout=PATIENCE) as client:
            client.change_password(first, PASSWORD)
            self.token = client.login(name, PASSWORD)["token"]

    def client(self) -> Client:
        return Client(self.url, self.token, timeout=PATIENCE)

    def at_once(self, count: int, ask: Callable[[Client], Any]) -> int:
        """As many clients as that; how many were refused."""

        def one(_: int) -> bool:
            try:
                with self.client() as client:
                    ask(client)
            except (ApiError, ProtocolError, OSError):
                return True
            return False

        with ThreadPoolExecutor(count) as pool:
            return sum(pool.map(one, range(count)))

    def link(self) -> socket.socket:
        """Not from the address of the proxy, which may have any number."""
        host, _, port = self.url.rpartition("/")[2].rpartition(":")
        return socket.create_connection((host, int(port)), PATIENCE, ("127.0.0.2", 0))


def run(options: Options) -> Iterator[Row]:
    scale, part = (10, "a tenth of ") if options.quick else (1, "")
    followers.raise_file_limit(16_000 // scale)
    with Danlu(SLOTS, CONFIG) as danlu, danlu.client() as admin:
        eve, ann = Member(danlu, admin, "eve"), Member(danlu, admin, "ann")
        with _watched(danlu, ann) as calm:
            time.sleep(5 if options.quick else 10)
        yield from _rows("nothing else", calm)
        for name, attack in ATTACKS.items():
            note(name)
            with _watched(danlu, ann) as seen:
                seen.refused = _refused(attack, eve, scale)
            yield from _rows(f"{part}{name}", seen)
        note("all at once")
        with _watched(danlu, ann) as seen, ThreadPoolExecutor(len(ATTACKS)) as pool:
            found = pool.map(lambda attack: _refused(attack, eve, scale), ATTACKS.values())
            seen.refused = sum(found)
        yield from _rows(f"{part}all at once", seen)
        yield from _signing_in(danlu, ann, scale)


class Seen:
    def __init__(self) -> None:
        self.took: list[float] = []
        self.memory = 0.0
        self.refused: int | None = None


def _refused(attack: Attack, eve: Member, scale: int) -> int:
    try:
        return attack(eve, scale)
    except (ApiError, ProtocolError, OSError) as error:
        note(f"refused as a whole: {error}")
        return 1


@contextlib.contextmanager
def _watched(danlu: Danlu, ann: Member) -> Iterator[Seen]:
    seen, over = Seen(), threading.Event()

    def weigh() -> None:
        while not over.wait(0.2):
            seen.memory = max(seen.memory, processes.memory([danlu.pid])[0])

    weighing = threading.Thread(target=weigh)
    weighing.start()
    try:
        with Witness(danlu.url, ann.token) as witness:
            yield seen
        seen.took = witness.took
    finally:
        over.set()
        weighing.join()


def _rows(what: str, seen: Seen) -> Iterator[Row]:
    p99 = percentile(seen.took, 0.99) * 1000
    yield Row(f"{what}: another member, p99 (ms)", p99, goal=Goal("at most", 500, "ms"))
    yield Row(f"{what}: server, RSS (MB)", seen.memory, goal=Goal("at most", 500, "MB"))
    if seen.refused is not None:
        yield Row(f"{what}: refused (requests)", seen.refused)


def _log_search(eve: Member, scale: int) -> int:
    with eve.client() as client:
        size = 100_000_000 // scale
        command = f"head -c {size} /dev/zero | tr '\\0' '\\n'; echo end"
        (job,) = client.submit({"name": "log", "command": command})["jobs"]
        client.wait(job["id"])
    return eve.at_once(20, lambda each: list(each.search(job["id"], "no such text")))


def _array(eve: Member, scale: int) -> int:
    with eve.client() as client:
        array = {"name": "array", "command": "true", "array": 10_000 // scale}
        jobs = client.submit(array)["jobs"]
        time.sleep(10)
        client.stop(f"{jobs[0]['name']}-{jobs[0]['number']}", now=True)
    return 0


def _dry_run(eve: Member, scale: int) -> int:
    documents = [{"command": "true", "gpus": 1, "name": f"d{n}"} for n in range(10_000 // scale)]
    return eve.at_once(3, lambda client: client.submit(documents, dry_run=True))


def _failing_logs(eve: Member, scale: int) -> int:
    command = f"yes {HARD_LINE} | head -n 100000; exit 1"
    with eve.client() as client:
        jobs = client.submit([{"name": "fails", "command": command}] * (100 // scale))["jobs"]
        for job in jobs:
            client.wait(job["id"])
    return 0


def _streams(eve: Member, scale: int) -> int:
    with eve.client() as client, contextlib.ExitStack() as held:
        links, refused = [], 0
        for _ in range(1000 // scale):
            try:
                link = held.enter_context(eve.link())
                link.sendall(client.wire.head("GET", "/danlu/v1/stream"))
                links.append(link)
            except OSError:
                refused += 1
        time.sleep(10)
        return refused + sum(not _streams_on(link) for link in links)


def _streams_on(link: socket.socket) -> bool:
    link.setblocking(False)
    try:
        return b" 200 " in link.recv(64)
    except OSError:
        return False


def _exec_sessions(eve: Member, scale: int) -> int:
    with eve.client() as client:
        (job,) = client.submit({"name": "shell", "command": "sleep 1000"})["jobs"]
        while client.show(job["id"])["state"] != "running":
            time.sleep(0.1)

        def session(each: Client) -> None:
            socket = each.exec(job["id"], ["sh", "-c", "echo in; sleep 10"])
            try:
                while (said := socket.read()) == []:
                    pass
                if said is None:
                    raise ConnectionError(socket.refusal)
                time.sleep(10)
            finally:
                socket.close()

        refused = eve.at_once(200 // scale, session)
        client.stop(job["id"], now=True)
        return refused


def _silent_connections(eve: Member, scale: int) -> int:
    with contextlib.ExitStack() as held:
        links, refused = [], 0
        for _ in range(10_000 // scale):
            try:
                links.append(held.enter_context(eve.link()))
            except OSError:
                refused += 1
        time.sleep(10)
        return refused + sum(_closed(link) for link in links)


def _closed(link: socket.socket) -> bool:
    link.setblocking(False)
    try:
        link.recv(1)  # a refusal, or the end: it said nothing itself
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


ATTACKS: dict[str, Attack] = {
    "20 searches of a 100 MB log": _log_search,
    "an array of 10,000": _array,
    "dry runs of 10,000 documents": _dry_run,
    "100 logs that are hard to read": _failing_logs,
    "1,000 streams": _streams,
    "200 exec sessions": _exec_sessions,
    "10,000 silent connections": _silent_connections,
}


def _signing_in(danlu: Danlu, ann: Member, scale: int) -> Iterator[Row]:
    """From an address that is known, while 1,000 others guess."""
    over, numbers = threading.Event(), itertools.count()

    def guess() -> None:
        while not over.is_set():
            number = next(numbers) % (1000 // scale)
            _login(danlu, f"user{number}", "wrong", f"10.1.{number >> 8}.{number & 255}")

    home = "192.0.2.7"
    _login(danlu, ann.name, PASSWORD, home)
    took, refused = [], 0
    with ThreadPoolExecutor(50) as pool:
        for _ in range(50):
            pool.submit(guess)
        time.sleep(3)
        for _ in range(30 // scale):
            begun = time.perf_counter()
            refused += _login(danlu, ann.name, PASSWORD, home) != 200
            took.append(time.perf_counter() - begun)
        over.set()
    what = "while 1,000 addresses guess: a known member signs in"
    yield Row(f"{what}, longest (s)", max(took), goal=Goal("at most", 2, "s"))
    yield Row(f"{what}: refused", refused, goal=Goal("at most", 0, "times"))


def _login(danlu: Danlu, user: str, password: str, address: str) -> int:
    host, _, port = danlu.url.rpartition("/")[2].rpartition(":")
    body = json.dumps({"user": user, "password": password}).encode()
    head = (
        f"POST /danlu/v1/login HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: {address}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), PATIENCE) as link:
        link.sendall(head.encode() + body)
        answer = link.makefile("rb").readline()
    return int(answer.split()[1]) if answer else 0
