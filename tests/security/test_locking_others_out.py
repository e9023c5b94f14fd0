"""Somebody who guesses passwords, not to get in but so that nobody else does."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PASSWORD, PROXY, PeopleHarness, caller
from tests.security.conftest import ServerMaker
from tests.support.server import DanluServer

CONFIG = f'[server]\nproxies = ["{PROXY}"]\ncircle_of_trust = true\n'
HOME = "192.0.2.7"


@pytest.fixture(scope="module")
def proxied(make_server: ServerMaker) -> DanluServer:
    return make_server("proxied", CONFIG)


@pytest.fixture(scope="module")
def member(proxied: DanluServer) -> str:
    return PeopleHarness(Harness(proxied)).person().name


def sign_in(server: DanluServer, name: str, password: str, address: str) -> int:
    with caller(server, None, address) as http:
        return http.post("/login", json={"user": name, "password": password}).status_code


def test_with_guesses_from_a_thousand_addresses(proxied: DanluServer, member: str) -> None:
    """They fill the queue for checking passwords; those known at their address do not wait in it,
    even after a restart of the server."""
    assert sign_in(proxied, member, PASSWORD, HOME) == 200
    proxied.stop()
    proxied.start()
    over, numbers, refused = threading.Event(), itertools.count(), list[int]()

    def guess() -> None:
        with caller(proxied, None) as http:
            while not over.is_set():
                number = next(numbers) % 1000
                try:
                    answer = http.post(
                        "/login",
                        json={"user": f"user{number}", "password": "no"},
                        headers={"X-Forwarded-For": f"10.1.{number >> 8}.{number & 255}"},
                    )
                except httpx.HTTPError:
                    continue
                refused.append(answer.status_code)

    with ThreadPoolExecutor(30) as pool:
        for _ in range(30):
            pool.submit(guess)
        try:
            while refused.count(429) < 50:
                over.wait(0.05)
            known = [sign_in(proxied, member, PASSWORD, HOME) for _ in range(5)]
        finally:
            over.set()
    assert known == [200] * 5


def test_with_guesses_from_the_whole_of_loopback(proxied: DanluServer, member: str) -> None:
    """127.0.0.0/8 has 16 million addresses, which any task on the machine has."""
    statuses = [sign_in(proxied, f"user{n}", "no", f"127.{n >> 8}.{n & 255}.1") for n in range(60)]
    assert statuses.count(401) < 40 and statuses[-1] == 429
