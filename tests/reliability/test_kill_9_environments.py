"""`kill -9` the server while environments start and change: none is lost, nothing runs twice."""

from __future__ import annotations

import http.client
import os
import random
import threading
import time
import urllib.error
from collections.abc import Callable
from typing import Any

from danlu.spec.ids import uuid7
from tests.support.server import PATIENCE, DanluServer
from tests.support.tools import give, tools_venv

KILLS = int(os.environ.get("DANLU_TEST_KILLS", "50")) // 4
ENVIRONMENTS = 6


def answered(call: Callable[[], Any]) -> Any:
    """Asks again until there is an answer, as the command line does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline
        try:
            return call()
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise AssertionError(error.read().decode()) from None
        except (OSError, ValueError, http.client.HTTPException):
            pass
        time.sleep(0.05)


class Worker(threading.Thread):
    """Somebody who creates an environment, and then stops, starts and changes it."""

    def __init__(self, server: DanluServer, number: int, over: threading.Event) -> None:
        super().__init__()
        self.name_of_it = f"dev{number}"
        self.failure: BaseException | None = None
        self._server = server
        self._over = over
        self._chosen = random.Random(number)

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.failure = error

    def _work(self) -> None:
        order = {"name": self.name_of_it, "id": uuid7(), "cpus": 1, "memory": "64M"}
        answered(lambda: self._server.post("/environments", order, timeout=10))
        path = f"/environments/{self.name_of_it}"
        while not self._over.is_set():
            act = self._chosen.choice(("stop", "start", "start", "change", "change"))
            if act == "change":
                wanted = self._chosen.randrange(1, 4)
                body = {"cpus": wanted, "restart": True}
                answered(lambda body=body: self._server.call("PATCH", path, body, timeout=10))
                found = answered(lambda: self._server.get(path, timeout=10))
                assert found["request"]["cpus"] == wanted, "acknowledged, and lost"
            else:
                answered(lambda act=act: self._server.post(f"{path}/{act}", {}, timeout=10))
            time.sleep(self._chosen.uniform(0, 0.2))
        answered(lambda: self._server.post(f"{path}/start", {}, timeout=10))


def test_kills_lose_no_environment_and_start_none_twice(server: DanluServer) -> None:
    give(server.data, tools_venv())
    over, chosen = threading.Event(), random.Random(3)
    workers = [Worker(server, number, over) for number in range(ENVIRONMENTS)]
    for worker in workers:
        worker.start()
    for _ in range(KILLS):
        server.wait_until_up()
        time.sleep(chosen.uniform(0.0, 0.8))
        server.kill()
        server.launch()
    server.wait_until_up()
    over.set()
    for worker in workers:
        worker.join(PATIENCE)
        assert worker.failure is None, worker.failure
    deadline = time.monotonic() + PATIENCE
    while True:
        found = server.get("/environments")["environments"]
        if all(each["state"] == "running" for each in found):
            break
        assert time.monotonic() < deadline, [(each["name"], each["state"]) for each in found]
        time.sleep(0.1)
    assert sorted(each["name"] for each in found) == sorted(w.name_of_it for w in workers)
    active = server.get("/jobs?active=true&limit=1000")["jobs"]
    assert {job["id"] for job in active} == {each["job"]["id"] for each in found}
    for each in found:
        spec = server.get(f"/jobs/{each['job']['id']}/spec?format=json")
        assert spec["cpus"] == each["request"]["cpus"]
