"""What a job serves, in the browser: pages, uploads, events, WebSockets."""

from __future__ import annotations

import hashlib
import http.client
import socket
import sys
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.gateway.client import Client, eventually
from tests.gateway.sites import alice, site
from tests.gateway.web import Door, WebServer, entered, opened, rest_of
from tests.support.folders import open_python
from tests.support.server import free_port

__all__ = ["alice", "site"]

LARGE = 30_000_000
ASGI = """
async def app(scope, receive, send):
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            text, data = message.get("text"), message.get("bytes")
            await send({"type": "websocket.send", "text": text, "bytes": data})
    elif scope["type"] == "http":
        size = 0
        while True:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in (b"%d " % size, scope["path"].encode()):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})
"""


@pytest.fixture(scope="module")
def door(site: WebServer, alice: Client) -> Door:
    ref, port = site.program(alice)
    return entered(alice, ref, {"port": port})


def test_a_request_arrives_as_it_was_sent(door: Door) -> None:
    answer = door.ask("/a/b?c=d%20e", {"X-Own": "1", "Accept": "text/x"}, method="DELETE")
    assert answer.status == 200
    assert answer.told["method"] == "DELETE"
    assert answer.told["target"] == "/a/b?c=d%20e"
    assert answer.told_field("x-own") == ["1"]
    assert answer.told_field("host") == [door.authority]
    assert answer.told_field("x-forwarded-proto") == ["http"]
    assert answer.told_field("x-forwarded-for") == ["127.0.0.1"]


def test_many_requests_go_over_one_connection(door: Door) -> None:
    with door.kept() as ask:
        for number in range(20):
            assert ask(f"/{number}").told["target"] == f"/{number}"
            assert ask("/", method="POST", body=b"x" * number).told["body"] == "x" * number


def test_a_connection_that_the_program_ended_is_made_again(door: Door) -> None:
    with door.kept() as ask:
        for _ in range(5):
            assert ask("/once").body == b"once"
            assert ask("/", method="POST", body=b"x").told["body"] == "x"
        assert ask("/until-close").body == b"to the end"
        assert ask("/").status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [("/chunked", b"onetwothree"), ("/until-close", b"to the end"), ("/empty", b"")],
)
def test_bodies_of_all_kinds(door: Door, path: str, body: bytes) -> None:
    with door.kept() as ask:
        assert ask(path).body == body
        assert ask(path).body == body


def test_answers_without_a_body_keep_their_length(door: Door) -> None:
    with door.kept() as ask:
        assert ask("/x", method="HEAD").field("content-length") == "1234"
        assert ask("/unchanged").status == 304
        assert ask("/").status == 200


def test_a_client_of_the_first_version_gets_the_whole_answer(door: Door) -> None:
    head = f"GET /chunked HTTP/1.0\r\nHost: {door.authority}\r\nCookie: {door.cookie}\r\n\r\n"
    answer = door.raw(head.encode())
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\nonetwothree")


@pytest.mark.parametrize("chunked", [False, True])
def test_large_files_go_both_ways(door: Door, chunked: bool) -> None:
    data = b"abcdefgh" * (LARGE // 8)
    body = iter([data[at : at + 100_000] for at in range(0, len(data), 100_000)])
    fields = {} if chunked else {"Content-Length": str(len(data))}
    path = "/" if chunked else "/count"
    if chunked:
        data = data[:3_000_000]
        body = iter([data[at : at + 100_000] for at in range(0, len(data), 100_000)])
        answer = door.ask(path, fields, method="POST", body=body)
        assert answer.told["body"] == data.decode()
    else:
        answer = door.ask(path, fields, method="POST", body=body)
        assert answer.body.decode() == hashlib.sha256(data).hexdigest()
    assert len(door.ask(f"/large?size={LARGE}").body) == LARGE


def test_who_waits_to_be_told_to_go_on_is_told(door: Door) -> None:
    head = (
        f"POST / HTTP/1.1\r\nHost: {door.authority}\r\nCookie: {door.cookie}\r\n"
        "Expect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
    )
    with door.connect() as link:
        link.sendall(head.encode())
        assert link.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        link.sendall(b"hello")
        assert b'"body": "hello"' in rest_of(link)


def test_an_early_no_reaches_who_is_still_sending(door: Door) -> None:
    link = http.client.HTTPConnection(door.host, door.port, timeout=60)
    link.putrequest("POST", "/early")
    link.putheader("Cookie", door.cookie)
    link.putheader("Content-Length", "1000000")
    link.endheaders()
    link.send(b"x" * 1000)
    assert link.getresponse().status == 413
    link.close()


def test_events_arrive_one_by_one(door: Door) -> None:
    link = http.client.HTTPConnection(door.host, door.port, timeout=60)
    link.request("GET", "/events", headers={"Cookie": door.cookie})
    answer = link.getresponse()
    assert [answer.readline() for _ in range(4)] == [b"data: 0\n", b"\n", b"data: 1\n", b"\n"]
    link.close()


def test_websockets_in_both_directions(door: Door) -> None:
    url = f"ws://{door.authority}/ws"
    with connect(url, origin=door.origin, additional_headers={"Cookie": door.cookie}) as socket:
        for word in ("hello", "x" * 60_000, "again"):
            socket.send(word)
            assert socket.recv() == word
        socket.send(b"\0\xff")
        assert socket.recv() == b"\0\xff"


def test_what_is_no_http_is_said_to_be_none(door: Door) -> None:
    for raw in (
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ):
        assert door.ask(f"/raw?hex={raw.hex()}").status == 502
    assert door.ask("/drop").status == 502


def test_an_answer_that_breaks_off_breaks_off(door: Door) -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel\r\nzz\r\n"
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        door.ask(f"/raw?hex={raw.hex()}")


def test_the_usual_server_of_python(site: WebServer, alice: Client) -> None:
    port = free_port()
    ref = alice.run([open_python(), "-m", "http.server", str(port), "--bind", "127.0.0.1"])
    door = opened(alice, ref, {"port": port})
    eventually(lambda: entered(alice, ref, {"port": port}).ask("/").status == 200)
    assert door.enter().status == 303
    with door.kept() as ask:
        assert b"Directory listing" in ask("/").body
        assert ask("/missing").status == 404


@pytest.mark.skipif(open_python() != sys.executable, reason="tasks cannot read the packages here")
def test_a_program_with_uvicorn_and_compressed_websockets(site: WebServer, alice: Client) -> None:
    port, folder = free_port(), str(site.data.parent)
    Path(folder, "asgi.py").write_text(ASGI)
    words = [open_python(), "-m", "uvicorn", "--app-dir", folder, "--port", str(port), "asgi:app"]
    ref = alice.run(words, name="asgi")
    door = entered(alice, ref, {"port": port})
    eventually(lambda: door.status() == 200)
    with door.kept() as ask:
        for size in (0, 10, 1_000_000):
            assert ask("/here", method="PUT", body=b"x" * size).body == b"%d /here" % size
    url = f"ws://{door.authority}/ws"
    with connect(url, origin=door.origin, additional_headers={"Cookie": door.cookie}) as socket:
        assert "permessage-deflate" in str(socket.response.headers)
        for word in ("hello", "x" * 500_000):
            socket.send(word)
            assert socket.recv() == word


def test_a_port_where_nothing_listens_says_so(alice: Client) -> None:
    door = entered(alice, alice.run(name="quiet"), {"port": free_port()})
    answer = door.ask("/", {"Accept": "text/html"})
    assert answer.status == 502
    assert b"Nothing in this job answers on port" in answer.body
    assert "任务中没有程序在端口".encode() in answer.body


def test_two_doors_are_two_origins_and_one_door_stays_where_it_is(
    site: WebServer, alice: Client, door: Door
) -> None:
    ref, port = site.program(alice, "other")
    other = entered(alice, ref, {"port": port})
    assert other.port != door.port
    assert opened(alice, ref, {"port": port}).port == other.port
    assert {"127.0.0.1"} == {door.host, other.host}


def test_who_hangs_up_is_not_answered_any_more(door: Door) -> None:
    """The program notices, too: its event stream ends, and the next request is served."""
    for _ in range(30):
        with door.connect() as link:
            link.sendall(
                f"GET /events HTTP/1.1\r\nHost: {door.authority}\r\n"
                f"Cookie: {door.cookie}\r\n\r\n".encode()
            )
            assert link.recv(1000)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert door.ask("/").status == 200
