"""Web doors while the server or the gateway is killed."""

from __future__ import annotations

import http.client
import os
import signal

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.gateway.client import Client, eventually
from tests.gateway.sites import alice, program, site
from tests.gateway.web import Door, WebServer, entered, opened

__all__ = ["alice", "program", "site"]

SIZE = 64 << 20


def talk(door: Door) -> ClientConnection:
    url = f"ws://{door.authority}/ws"
    return connect(url, origin=door.origin, additional_headers={"Cookie": door.cookie})


def repeats(socket: ClientConnection, word: str) -> bool:
    socket.send(word)
    return socket.recv(timeout=60) == word


def test_a_websocket_and_a_download_outlive_the_server(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    door = entered(alice, program[0], {"port": program[1]})
    loading = http.client.HTTPConnection(door.host, door.port, timeout=60)
    loading.request("GET", f"/large?size={SIZE}&pause=0.002", headers={"Cookie": door.cookie})
    with talk(door) as socket:
        assert repeats(socket, "before")
        answer = loading.getresponse()
        got = len(answer.read(1 << 20))
        gateway = site.gateway
        site.kill()
        assert repeats(socket, "while it is away")
        assert door.ask("/").status == 200, "whoever is known stays known"
        got += len(answer.read(1 << 20))
        site.start()
        assert repeats(socket, "after")
        assert got + len(answer.read()) == SIZE
        assert site.gateway == gateway
    assert opened(alice, program[0], {"port": program[1]}).port == door.port
    assert door.ask("/").status == 200


def test_who_lost_access_while_the_server_was_away_is_cut_off(site: WebServer) -> None:
    mallory = site.person("mallory")
    ref, port = site.program(mallory)
    door = entered(mallory, ref, {"port": port})
    with talk(door) as socket:
        assert repeats(socket, "inside")
        site.post("/users/mallory/disable")
        site.kill()
        site.start()
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=60)
    assert door.status() != 200


def test_cookies_are_still_good_with_the_next_gateway(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    door = entered(alice, program[0], {"port": program[1]})
    gateway = site.gateway
    assert gateway is not None
    with talk(door) as socket:
        assert repeats(socket, "inside")
        os.kill(gateway, signal.SIGKILL)
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=60)
    eventually(lambda: door.status() == 200)
    assert site.gateway not in (None, gateway)
    assert alice.call("GET", f"/jobs/{program[0]}")["state"] == "running"


def test_both_are_killed_and_the_doors_come_back_with_the_server(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    door = entered(alice, program[0], {"port": program[1]})
    site.kill()
    site.end_gateway()
    site.start()
    eventually(lambda: door.status() == 200)


def test_an_older_gateway_finishes_what_it_began(
    site: WebServer, alice: Client, program: tuple[str, int]
) -> None:
    door = entered(alice, program[0], {"port": program[1]})
    older = site.gateway
    loading = http.client.HTTPConnection(door.host, door.port, timeout=60)
    loading.request("GET", f"/large?size={SIZE}&pause=0.002", headers={"Cookie": door.cookie})
    answer = loading.getresponse()
    with talk(door) as socket:
        assert repeats(socket, "before")
        site.stop()
        text = site.config.read_text()
        site.config.write_text(text.replace('web = "127.0.0.1:', 'web = "localhost:'))
        site.start()
        eventually(lambda: site.gateway not in (None, older))
        eventually(lambda: door.status() == 200)
        assert repeats(socket, "still here")
        assert len(answer.read()) == SIZE
    assert site.gateway != older
