"""TLS and plain HTTP at one port, and doors with names of their own."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.client import Client
from tests.gateway.sites import alice, program
from tests.gateway.web import Door, WebServer, entered, opened
from tests.support.certificates import make_certificate

__all__ = ["alice", "program"]

NAME = "gpu.lab.example"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    hosts = f'hosts = ["{NAME}", "127.0.0.1", "localhost"]\n'
    server = WebServer(tmp_path_factory.mktemp("tls") / "data", hosts).start()
    yield server
    server.cleanup()


def test_the_same_port_speaks_tls(alice: Client, program: tuple[str, int]) -> None:
    door = opened(alice, program[0], {"port": program[1]}, host=NAME, tls=True)
    answer = door.enter()
    assert answer.status == 303
    cookie = next(each for each in answer.all("set-cookie") if "door" in each)
    assert cookie.startswith("__Host-danlu-door-")
    assert "; Secure" in cookie
    answer = door.ask("/")
    assert answer.told_field("x-forwarded-proto") == ["https"]
    assert answer.told_field("cookie") == []
    assert entered(alice, program[0], {"port": program[1]}).ask("/").status == 200


def test_a_cookie_made_under_tls_is_none_without(alice: Client, program: tuple[str, int]) -> None:
    door = entered(alice, program[0], {"port": program[1]}, host=NAME, tls=True)
    assert Door(door.port, "", cookies=door.cookies).ask("/").status == 401


def test_plain_http_is_only_for_this_machine(alice: Client, program: tuple[str, int]) -> None:
    door = opened(alice, program[0], {"port": program[1]}, host=NAME)
    answer = door.ask("/a?b=c")
    assert answer.status == 307
    assert answer.field("location") == f"https://{NAME}:{door.port}/a?b=c"
    assert door.ask("/", method="POST", body=b"x").status == 400
    assert door.ask("/", {"Host": f"localhost:{door.port}"}).status == 401


def test_the_certificate_stays_and_is_private(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    door = opened(alice, program[0], {"port": program[1]})
    pem = site.data / "gateway/web.pem"
    assert pem.stat().st_mode & 0o077 == 0
    context = ssl.create_default_context(cafile=str(pem))
    for name in ("localhost", NAME, "127.0.0.1"):
        with (
            socket.create_connection(("127.0.0.1", door.port)) as link,
            context.wrap_socket(link, server_hostname=name) as tls,
        ):
            assert tls.version() == "TLSv1.3"
    before = pem.read_bytes()
    site.end_gateway()
    other = opened(alice, program[0], {"port": program[1]}, tls=True)
    assert other.ask("/").status == 401
    assert pem.read_bytes() == before


def test_a_certificate_of_the_admin(tmp_path: Path) -> None:
    made = make_certificate(tmp_path)
    files = f'tls_cert = "{made.cert}"\ntls_key = "{made.key}"\n'
    server = WebServer(tmp_path / "data", files, certificate=made).start()
    try:
        alice = server.person("alice")
        ref, port = server.program(alice)
        door = opened(alice, ref, {"port": port})
        with (
            socket.create_connection(("127.0.0.1", door.port)) as link,
            made.client.wrap_socket(link, server_hostname="localhost") as tls,
        ):
            assert tls.getpeercert() is not None
        renewed = make_certificate(tmp_path)
        os.utime(renewed.cert)
        with (
            socket.create_connection(("127.0.0.1", door.port)) as link,
            renewed.client.wrap_socket(link, server_hostname="localhost") as tls,
        ):
            assert tls.getpeercert() is not None, "the renewed one is used at once"
    finally:
        server.cleanup()


def test_doors_with_names_share_a_port_and_nothing_else(tmp_path: Path) -> None:
    server = WebServer(tmp_path / "data", 'web_domain = "jobs.localhost"\n').start()
    try:
        alice = server.person("alice")
        ref, port = server.program(alice)
        made = alice.call("POST", f"/jobs/{ref}/doors", {"port": port})
        label, _, rest = made["host"].partition(".")
        assert rest == "jobs.localhost"
        one = Door(made["port"], made["path"], made["host"])
        assert one.enter().status == 303
        assert one.ask("/").status == 200
        made = alice.call("POST", f"/jobs/{ref}/doors", {"port": 1})
        two = Door(made["port"], made["path"], made["host"], cookies=one.cookies)
        assert two.port == one.port
        assert two.host != one.host
        assert two.ask("/").status == 401
        assert Door(one.port, "", cookies=one.cookies).ask("/").status == 404
        stranger = Door(one.port, "", f"{label}.example.org", cookies=one.cookies)
        assert stranger.ask("/").status == 421
        for number in range(2, 20):
            alice.call("POST", f"/jobs/{ref}/doors", {"port": number})
        assert two.ask("/").status == 404, "it gave way to others of the same person"
    finally:
        server.cleanup()


def test_a_proxy_of_the_admin_tells_who_comes_and_how(tmp_path: Path) -> None:
    """Requests of many people may share its connections."""
    lines = f'hosts = ["{NAME}", "127.0.0.1"]\nproxies = ["127.0.0.1"]\n'
    server = WebServer(tmp_path / "data", lines).start()
    try:
        alice = server.person("alice")
        ref, port = server.program(alice)
        door = opened(alice, ref, {"port": port}, host=NAME)
        tls = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "1.2.3.4, 10.0.0.7"}
        with door.kept() as ask:
            made = ask(door.path, tls)
            assert made.status == 303
            cookie = next(each for each in made.all("set-cookie") if "danlu-door" in each)
            assert cookie.startswith("__Host-")
            fields = {**tls, "Cookie": cookie.partition(";")[0]}
            answer = ask("/", fields)
            assert answer.told_field("x-forwarded-for") == ["10.0.0.7"]
            assert answer.told_field("x-forwarded-proto") == ["https"]
            assert ask("/", tls).status == 401, "somebody else on the same connection"
            assert ask("/", fields).status == 200
            assert ask("/", {"Cookie": fields["Cookie"]}).status == 307, "not encrypted"
    finally:
        server.cleanup()
