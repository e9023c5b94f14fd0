"""Requests over a real socket: kept connections, lost ones, refusals."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.sdk import Client
from danlu.sdk.address import Address
from danlu.sdk.async_wire import AsyncWire
from danlu.sdk.errors import BadAddress, Lost, ProtocolError, Unreachable
from danlu.sdk.wire import Wire, target
from tests.sdk.little_server import answer, answering, read_request, serving


def test_several_requests_share_one_connection() -> None:
    with serving(answering(b"one", b"two")) as server:
        wire = Wire(server.url)
        assert [wire.call("GET", "/a").body, wire.call("GET", "/b").body] == [b"one", b"two"]
        assert server.accepted == 1


def test_a_kept_connection_that_the_server_closed_is_replaced() -> None:
    with serving(answering(b"one"), answering(b"two")) as server:
        wire = Wire(server.url)
        wire.call("GET", "/a")
        assert wire.call("GET", "/b").body == b"two"
        assert server.accepted == 2


def hangs_up(link: socket.socket) -> None:
    """Answers once; what is asked next it reads, perhaps does, and does not answer."""
    read_request(link)
    link.sendall(answer(b"one"))
    read_request(link)


def test_what_may_not_be_asked_twice_is_not() -> None:
    with serving(hangs_up, answering(b"two")) as server:
        wire = Wire(server.url)
        wire.call("GET", "/a")
        with pytest.raises(Lost):
            wire.call("POST", "/b", b"{}", repeatable=False)
        assert server.accepted == 1


def closing(closed: threading.Event) -> Callable[[socket.socket], None]:
    """Answers once and closes the connection."""

    def act(link: socket.socket) -> None:
        read_request(link)
        link.sendall(answer(b"one"))
        link.close()
        closed.set()

    return act


def test_a_connection_closed_meanwhile_is_noticed_before_anything_is_asked() -> None:
    closed = threading.Event()
    with serving(closing(closed), answering(b"two")) as server:
        wire = Wire(server.url)
        wire.call("GET", "/a")
        assert closed.wait(60)
        assert wire.call("POST", "/b", b"{}", repeatable=False).body == b"two"
        assert server.accepted == 2


async def test_it_is_noticed_by_a_loop_that_has_not_run_meanwhile() -> None:
    closed = threading.Event()
    with serving(closing(closed), answering(b"two")) as server:
        wire = AsyncWire(server.url, None, 60.0, None)
        await wire.call("GET", "/a", None, "", None, True)
        assert closed.wait(60)  # blocks the loop, on purpose
        answered = await wire.call("POST", "/b", b"{}", "application/json", None, False)
        assert answered.body == b"two"
        wire.close()


def test_a_job_with_an_id_is_submitted_again_if_its_answer_is_lost() -> None:
    said = b'{"jobs": []}'
    for job, again in (({"id": "x", "command": ["true"]}, True), ({"command": ["true"]}, False)):
        with serving(hangs_up, answering(said)) as server, Client(server.url, "t") as client:
            client._ask("GET", "/a")
            if again:
                client.submit(job)
            else:
                with pytest.raises(Lost):
                    client.submit(job)
            assert server.accepted == 1 + again


def test_the_request_carries_token_host_path_and_body() -> None:
    seen = []

    def act(link: socket.socket) -> None:
        seen.append(read_request(link))
        link.sendall(answer(b""))

    with serving(act) as server:
        Wire(f"{server.url}/base/", "secret").call("POST", "/jobs?x=1", b"body", "text/plain")
    first, headers, body = seen[0]
    assert first == "POST /base/jobs?x=1 HTTP/1.1"
    assert headers["authorization"] == "Bearer secret"
    assert headers["content-type"] == "text/plain"
    assert server.url.endswith(headers["host"])
    assert body == b"body"


def test_a_refusal_sent_while_a_large_body_is_still_on_its_way_is_read() -> None:
    def act(link: socket.socket) -> None:
        link.recv(100)
        link.sendall(answer(b"too large", "413 Content Too Large", "Connection: close\r\n"))
        link.shutdown(socket.SHUT_WR)
        while link.recv(1 << 20):
            pass

    with serving(act) as server:
        found = Wire(server.url).call("POST", "/jobs", b"x" * 20_000_000)
    assert (found.status, found.body) == (413, b"too large")


def test_an_answer_cut_short_is_lost() -> None:
    def act(link: socket.socket) -> None:
        read_request(link)
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")

    with serving(act) as server, pytest.raises(Lost, match="ended before the answer"):
        Wire(server.url).call("GET", "/")


def test_a_server_that_says_nothing_is_lost_after_the_timeout() -> None:
    release = threading.Event()
    with serving(lambda link: release.wait(60) and None) as server:
        with pytest.raises(Lost, match="timed out"):
            Wire(server.url, timeout=0.05).call("GET", "/")
        release.set()


def test_nobody_there_is_unreachable() -> None:
    with serving(answering()) as server:
        url = server.url
    with pytest.raises(Unreachable, match="refused"):
        Wire(url).call("GET", "/")


def test_an_unknown_host_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        Wire("http://no-such-host.invalid").call("GET", "/")


def test_a_unix_socket_works_as_well(tmp_path: Path) -> None:
    path = tmp_path / "s"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        link, _ = listener.accept()
        with link:
            answering(b"hello")(link)

    threading.Thread(target=serve, daemon=True).start()
    assert Wire(f"unix:{path}").call("GET", "/").body == b"hello"
    listener.close()


def test_a_header_cannot_be_smuggled_in() -> None:
    with pytest.raises(ProtocolError):
        Wire("http://127.0.0.1:1", "token\r\nX-Evil: 1").head("GET", "/")
    with pytest.raises(ProtocolError):
        Wire("http://127.0.0.1:1", "t").head("GET", "/a\r\nX: 1")


def test_query_values_are_encoded() -> None:
    query = {"q": "a b&c=中", "n": 3, "yes": True, "no": False, "left": None}
    assert target("/x", query) == "/x?q=a%20b%26c%3D%E4%B8%AD&n=3&yes=true&no=false"


@pytest.mark.parametrize(
    ("text", "host", "port", "tls"),
    [
        ("http://lab", "lab", 80, False),
        ("https://lab", "lab", 443, True),
        ("http://10.0.0.1:8080/", "10.0.0.1", 8080, False),
        ("lab:8080", "lab", 8080, False),
        ("http://[::1]:9", "::1", 9, False),
        ("http://[fe80::1]", "fe80::1", 80, False),
    ],
)
def test_addresses_are_read(text: str, host: str, port: int, tls: bool) -> None:
    address = Address(text)
    assert (address.host, address.port, address.tls) == (host, port, tls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://",
        "ftp://lab",
        "http://lab:x",
        "http://lab:0",
        "http://lab:99999",
        "unix:",
        "http://user@lab",
        "http://a b",
        "http://[::1]x",
        "http://:80",
        "http://a\nb",
    ],
)
def test_bad_addresses_are_refused(text: str) -> None:
    with pytest.raises(BadAddress):
        Address(text)


def test_a_literal_address_needs_no_slow_imports() -> None:
    code = """
import sys
from danlu.sdk.errors import Unreachable
from danlu.sdk.wire import Wire
for url in ("http://127.0.0.1:1", "http://localhost:1"):
    try:
        Wire(url).call("GET", "/")
    except Unreachable:
        pass
slow = {"socket", "ssl", "http", "urllib", "email", "encodings.idna", "re", "enum", "typing"}
print(sorted(slow & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout == "[]\n"
