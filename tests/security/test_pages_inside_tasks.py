"""A page that runs in somebody's browser, served by a task: what it can and cannot do there.

Each test does what the browser would do for such a page, or what a hostile client does."""

from __future__ import annotations

import contextlib
import json
import socket
import urllib.error
import urllib.request

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.gateway.client import PASSWORD, Client
from tests.gateway.sites import alice, site
from tests.gateway.web import Door, WebServer, entered, opened, rest_of

__all__ = ["alice", "site"]


@pytest.fixture(scope="module")
def mallory(site: WebServer) -> Client:
    return site.person("mallory")


@pytest.fixture(scope="module")
def door(site: WebServer, alice: Client) -> Door:
    ref, port = site.program(alice)
    return entered(alice, ref, {"port": port})


@pytest.fixture(scope="module")
def hostile(site: WebServer, mallory: Client) -> Door:
    ref, port = site.program(mallory)
    return entered(mallory, ref, {"port": port})


def signed_in(site: WebServer) -> str:
    """The cookie of a browser that is signed in to the platform."""
    body = json.dumps({"user": "alice", "password": PASSWORD}).encode()
    fields = {"Content-Type": "application/json", "Origin": site.url}
    asked = urllib.request.Request(f"{site.url}/danlu/v1/session", body, fields)
    with urllib.request.urlopen(asked) as answer:
        return str(answer.headers["Set-Cookie"]).partition(";")[0]


def head(door: Door, *lines: str, first: str = "GET / HTTP/1.1") -> bytes:
    all_lines = [first, f"Host: {door.authority}", f"Cookie: {door.cookie}", *lines, "", ""]
    return "\r\n".join(all_lines).encode()


# -- the viewer's cookies and tokens --------------------------------------------------------------


@pytest.mark.usefixtures("alice")
def test_no_cookie_of_the_platform_reaches_a_task(site: WebServer, hostile: Door) -> None:
    """Browsers send the cookies of a host to all of its ports."""
    platform = signed_in(site)
    sent = f"{platform}; {hostile.cookie}; theirs=1; __Host-danlu-door-x=y"
    answer = hostile.ask("/", {"Cookie": sent})
    assert answer.told_field("cookie") == ["theirs=1"]


@pytest.mark.parametrize("kind", ["Bearer", "bearer", "token"])
def test_no_token_of_the_platform_reaches_a_task(alice: Client, hostile: Door, kind: str) -> None:
    answer = hostile.ask("/", {"Authorization": f"{kind} {alice.token}"})
    assert answer.told_field("authorization") == []
    assert hostile.ask("/", {"Authorization": "Bearer own"}).told_field("authorization") == [
        "Bearer own"
    ]


@pytest.mark.usefixtures("alice")
def test_a_page_cannot_call_the_platform_with_the_viewers_cookie(
    site: WebServer, hostile: Door
) -> None:
    """The cookie is sent, as another port of a host is the same site; the origin tells."""
    for fields in (
        {"Origin": hostile.origin},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    ):
        fields = {"Cookie": signed_in(site), **fields}
        for path in ("/danlu/v1/whoami", "/danlu/v1/jobs"):
            asked = urllib.request.Request(f"{site.url}{path}", headers=fields)
            with pytest.raises(urllib.error.HTTPError) as no:
                urllib.request.urlopen(asked)
            assert no.value.code == 403


def test_the_secret_of_a_door_is_no_token(site: WebServer, door: Door) -> None:
    secret = next(value for name, value in door.cookies.items() if "door" in name)
    for fields in ({"Authorization": f"Bearer {secret}"}, {"Cookie": door.cookie}):
        asked = urllib.request.Request(f"{site.url}/danlu/v1/whoami", headers=fields)
        with pytest.raises(urllib.error.HTTPError) as no:
            urllib.request.urlopen(asked)
        assert no.value.code == 401


@pytest.mark.parametrize(
    "given",
    [
        "Set-Cookie: danlu-1234=x; Path=/",
        "Set-Cookie: __Host-danlu-1234=x; Path=/; Secure",
        "Set-Cookie: =danlu-door-1=x",
        'Clear-Site-Data: "*"',
        "Strict-Transport-Security: max-age=31536000",
        'Alt-Svc: h2=":9999"',
        "Service-Worker-Allowed: /",
        "Public-Key-Pins: x",
    ],
)
def test_what_would_hold_for_the_whole_host_is_not_a_tasks_to_say(
    hostile: Door, given: str
) -> None:
    answer = hostile.ask("/with", {"X-Give": given})
    assert answer.body == b"given"
    name = given.partition(":")[0].lower()
    assert answer.field(name) == ""
    kept = hostile.ask("/with", {"X-Give": "Set-Cookie: own=1; Path=/"})
    assert kept.field("set-cookie") == "own=1; Path=/"


# -- other people's doors -------------------------------------------------------------------------


def test_a_page_cannot_drive_another_door(door: Door, hostile: Door) -> None:
    """With alice's cookie, as her browser would send it from mallory's page."""
    elsewhere = {"Origin": hostile.origin}
    assert door.ask("/", elsewhere, method="POST", body=b"x").status == 403
    assert door.ask("/", elsewhere).status == 403
    assert door.ask("/", {"Origin": "null"}, method="POST", body=b"x").status == 403
    for mode, dest in (("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe")):
        fields = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
        assert door.ask("/", fields).status == 403, mode
    link = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}
    assert door.ask("/", {**link, "Sec-Fetch-Dest": "document"}).status == 200
    assert door.ask("/", {"Origin": door.origin}, method="POST", body=b"x").status == 200


def test_a_page_cannot_show_another_door_in_a_frame(door: Door) -> None:
    policies = door.ask("/").all("content-security-policy")
    assert "frame-ancestors 'self'" in policies


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "hostile"])
def test_a_websocket_from_another_origin_is_refused(door: Door, hostile: Door, origin: str) -> None:
    sent = hostile.origin if origin == "hostile" else origin
    fields = {"Cookie": door.cookie, "Origin": sent}
    with (
        pytest.raises(InvalidStatus) as no,
        connect(f"ws://{door.authority}/ws", additional_headers=fields),
    ):
        pass
    assert no.value.response.status_code == 403


def test_cookies_that_a_page_adds_open_nothing_and_lock_nobody_out(
    door: Door, hostile: Door
) -> None:
    """A page on another port can set a cookie of the same name for a longer path."""
    name = next(name for name in door.cookies if "door" in name)
    theirs = next(value for key, value in hostile.cookies.items() if "door" in key)
    tossed = "; ".join(f"{name}={value}" for value in (theirs, "x", "y"))
    assert door.ask("/", {"Cookie": tossed}).status == 401
    assert door.ask("/", {"Cookie": f"{tossed}; {door.cookie}"}).status == 200


def test_another_person_gets_nowhere_with_a_door(
    site: WebServer, alice: Client, mallory: Client, door: Door
) -> None:
    assert Door(door.port, "").ask("/").status == 401
    stolen = opened(alice, alice.job, {"port": 7777})
    with pytest.raises(urllib.error.HTTPError):
        opened(mallory, f"alice/{alice.job}", {"port": 7777})
    ticket = opened(mallory, mallory.job, {"port": 7777}).path
    assert Door(stolen.port, ticket).enter().status == 401


def test_no_script_answers_in_place_of_the_door(hostile: Door) -> None:
    """A service worker for the whole origin would see the tickets of the next door there."""
    worker = {"Service-Worker": "script"}
    for path in ("/sw.js", "//sw.js", "/sw.js?x=/a/b"):
        assert hostile.ask(path, worker).status == 403, path
    assert hostile.ask("/static/sw.js", worker).status == 200


# -- names ----------------------------------------------------------------------------------------


def test_a_foreign_name_that_points_here_is_not_known(door: Door) -> None:
    for name in ("evil.example", f"evil.example:{door.port}", "127.0.0.1.evil.example"):
        assert door.ask("/", {"Host": name}).status == 421


# -- requests in requests -------------------------------------------------------------------------

SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "lines",
    [
        [f"Content-Length: {len(SMUGGLED)}", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 3"],
        ["Content-Length: 3", f"Content-Length: {len(SMUGGLED)}"],
        ["Transfer-Encoding: identity"],
        ["Transfer-Encoding : chunked"],
        ["Transfer-Encoding:\x0bchunked"],
        ["X: y", " Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["X: y\nTransfer-Encoding: chunked"],
        ["X: y\rTransfer-Encoding: chunked"],
        ["Content-Length: 0\x00"],
    ],
)
def test_no_request_hides_in_another(door: Door, lines: list[str]) -> None:
    answer = door.raw(head(door, *lines, first="POST / HTTP/1.1") + SMUGGLED.encode())
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"smuggled" not in answer


def test_a_bare_line_feed_ends_no_line(door: Door) -> None:
    assert door.raw(head(door).replace(b"\r\n", b"\n")).startswith(b"HTTP/1.1 400 ")


def test_a_body_that_looks_like_a_request_is_a_body(door: Door) -> None:
    inner = head(door, first="GET /smuggled HTTP/1.1")
    sent = head(door, f"Content-Length: {len(inner)}", "Connection: close", first="POST / HTTP/1.1")
    answer = door.raw(sent + inner)
    assert answer.count(b"HTTP/1.1 200") == 1
    chunked = head(door, "Transfer-Encoding: chunked", "Connection: close", first="POST / HTTP/1.1")
    answer = door.raw(chunked + b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner))
    assert answer.count(b"HTTP/1.1 200") == 1


def test_nothing_but_a_websocket_is_switched_to(door: Door) -> None:
    answer = door.ask("/", {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c"})
    assert answer.status == 200
    assert answer.told_field("upgrade") == []
    assert answer.told_field("connection") == ["keep-alive"]
    raw = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
    assert door.ask(f"/raw?hex={raw.hex()}").status == 502


def test_an_answer_carries_no_second_one(hostile: Door) -> None:
    """What a program sends after its answer is never taken for the answer to the next request."""
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    raw += b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    with hostile.kept() as ask:
        assert ask(f"/raw?hex={raw.hex()}").body == b"ok"
        assert ask("/next").told["target"] == "/next"


def test_names_of_the_proxys_own_fields_cannot_be_forged(door: Door) -> None:
    fields = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https", "Forwarded": "for=6"}
    answer = door.ask("/", fields)
    assert answer.told_field("x-forwarded-for") == ["127.0.0.1"]
    assert answer.told_field("x-forwarded-proto") == ["http"]
    assert answer.told_field("forwarded") == []


# -- too much, too slow ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (["X: " + "x" * 70_000], 431),
        ([f"X{number}: x" for number in range(500)], 431),
        (["Cookie: " + "a=b; " * 20_000], 431),
    ],
)
def test_huge_heads_are_refused(door: Door, sent: list[str], status: int) -> None:
    assert door.raw(head(door, *sent)).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_long_address_is_refused(door: Door) -> None:
    answer = door.raw(head(door, first=f"GET /{'x' * 20_000} HTTP/1.1"))
    assert answer.startswith(b"HTTP/1.1 414 ")


def test_slow_heads_are_not_waited_for_and_stop_nobody(door: Door) -> None:
    with contextlib.ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(("127.0.0.1", door.port)))
            for _ in range(300)
        ]
        for link in slow:
            link.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert door.ask("/").status == 200
        link = stack.enter_context(socket.create_connection(("127.0.0.1", door.port)))
        link.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert rest_of(link).startswith(b"HTTP/1.1 408 ")
        assert door.ask("/").status == 200


def test_wrong_cookies_are_slowed_down(site: WebServer, door: Door) -> None:
    name = next(name for name in door.cookies if "door" in name)
    statuses = {Door(door.port, "", cookies={name: f"x{n}"}).ask("/").status for n in range(40)}
    assert 429 in statuses
    assert door.ask("/").status == 200, "whoever has a good one is not affected"
