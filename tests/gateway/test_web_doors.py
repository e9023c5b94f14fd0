"""Who passes a web door, and until when."""

from __future__ import annotations

import contextlib
import urllib.error
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.gateway.client import Client, eventually
from tests.gateway.sites import alice, program, site
from tests.gateway.web import Door, WebServer, entered, opened

__all__ = ["alice", "program", "site"]


def refused(call: Any) -> int:
    with pytest.raises(urllib.error.HTTPError) as no:
        call()
    return no.value.code


@contextlib.contextmanager
def talking(door: Door) -> Iterator[ClientConnection]:
    url = f"ws://{door.authority}/ws"
    with connect(url, origin=door.origin, additional_headers={"Cookie": door.cookie}) as socket:
        socket.send("hello")
        assert socket.recv() == "hello"
        yield socket


def is_cut(socket: ClientConnection) -> None:
    with pytest.raises(ConnectionClosed):
        socket.recv(timeout=60)


def test_a_ticket_becomes_a_cookie_for_one_door(alice: Client, program: tuple[str, int]) -> None:
    door = opened(alice, program[0], {"port": program[1]})
    assert door.ask("/").status == 401
    answer = door.enter()
    assert answer.status == 303
    assert answer.field("location") == "/"
    assert answer.field("referrer-policy") == "no-referrer"
    cookie = next(each for each in answer.all("set-cookie") if "danlu-door-" in each)
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert door.ask("/").status == 200


def test_a_ticket_is_good_once_and_nowhere_else(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    door = entered(alice, program[0], {"port": program[1]})
    assert Door(door.port, door.path).enter().status == 401
    other = opened(alice, program[0], {"port": 1})
    fresh = opened(alice, program[0], {"port": program[1]})
    assert Door(other.port, fresh.path).enter().status == 401
    assert fresh.enter().status == 401, "it is spent"
    assert Door(door.port, "/.danlu/enter?ticket=").enter().status == 401
    assert Door(door.port, "/.danlu/enter").enter().status == 401


def test_only_those_who_may_enter_the_job_get_a_ticket(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    bob = site.person("bob")
    order = {"port": program[1]}
    assert refused(lambda: opened(bob, f"alice/{program[0]}", order)) == 404
    queued = alice.call("POST", "/jobs", {"command": "true", "held": True})["jobs"][0]
    assert refused(lambda: opened(alice, queued["ref"], order)) == 409
    assert refused(lambda: opened(alice, program[0], {})) == 422
    assert refused(lambda: opened(alice, program[0], {"port": 1, "door": "lab"})) == 422
    assert refused(lambda: opened(alice, program[0], {"door": "shell"})) == 422
    assert refused(lambda: opened(alice, program[0], {"port": 0})) == 422


def test_an_admin_enters_and_the_log_tells(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    found = site.post(f"/jobs/alice~{program[0]}/doors", {"port": program[1]})
    door = Door(found["port"], found["path"])
    assert door.enter().status == 303
    assert door.ask("/").status == 200
    lines = site.get("/audit?limit=20")["lines"]
    assert any(f"web port {program[1]}" in str(line) for line in lines)


def test_the_cookie_of_one_door_opens_no_other(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    door = entered(alice, program[0], {"port": program[1]})
    other = opened(alice, program[0], {"port": 1})
    secret = door.cookies[next(name for name in door.cookies if "door" in name)]
    other.enter()
    name = next(name for name in other.cookies if "door" in name)
    for value in (secret, "", "x", alice.token):
        assert Door(other.port, "", cookies={name: value}).ask("/").status == 401


@pytest.mark.parametrize("way", ["signs out", "is disabled"])
def test_whoever_loses_access_is_cut_off_at_once(site: WebServer, way: str) -> None:
    carol = site.person(f"carol{len(way)}")
    ref, port = site.program(carol)
    door = entered(carol, ref, {"port": port})
    with talking(door) as socket:
        if way == "signs out":
            carol.call("POST", "/logout")
        else:
            site.post(f"/users/{carol.name}/disable")
        is_cut(socket)
    assert door.ask("/").status in (401, 403)


def test_the_end_of_the_job_ends_its_doors(site: WebServer, alice: Client) -> None:
    ref, port = site.program(alice, "short")
    door = entered(alice, ref, {"port": port})
    with talking(door) as socket:
        alice.call("POST", f"/jobs/{ref}/stop", {"now": True})
        is_cut(socket)
    eventually(lambda: door.status() == 404)
    answer = door.ask("/", {"Accept": "text/html"})
    assert b"not running" in answer.body
    assert "没有在运行".encode() in answer.body


def test_a_port_goes_to_another_owner_last(site: WebServer) -> None:
    """Programs leave things behind in browsers, which belong to the port."""
    dave, erin = site.person("dave"), site.person("erin")
    ref, port = site.program(dave)
    first = entered(dave, ref, {"port": port})
    dave.call("POST", f"/jobs/{ref}/stop", {"now": True})
    eventually(lambda: first.status() == 404)
    other = erin.run(name="box")
    assert opened(erin, other, {"port": 1}).port != first.port
    again = dave.run(name="again")
    door = opened(dave, again, {"port": 1})
    assert door.port == first.port
    mark = {name: value for name, value in first.cookies.items() if "danlu-port" in name}
    assert Door(door.port, door.path, cookies=mark).enter().field("clear-site-data") == ""


def test_a_browser_forgets_what_another_owner_left_on_a_port(
    alice: Client, program: tuple[str, int]
) -> None:
    door = opened(alice, program[0], {"port": program[1]})
    door.cookies[f"danlu-port-{door.port}"] = "somebody-else"
    assert door.enter().field("clear-site-data") == '"cache", "storage"'


def test_the_command_prints_where_to_go(site: WebServer, alice: Client, program: Any) -> None:
    env = {"DANLU_TOKEN": alice.token}
    said = site.cli("open", program[0], str(program[1]), "--print", env=env)
    assert said.returncode == 0, said
    url = said.stdout.decode().strip()
    assert url.startswith("http://127.0.0.1:")
    port, _, path = url.removeprefix("http://127.0.0.1:").partition("/")
    assert Door(int(port), f"/{path}").enter().status == 303
    assert site.cli("open", program[0], "chess", env=env).returncode == 2
    which = site.cli("open", program[0], env=env)
    assert which.returncode == 2
    assert b"danlu open" in which.stderr
