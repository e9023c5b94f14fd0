"""A member who wants nobody else to get an answer."""

from __future__ import annotations

import concurrent.futures
import json
import socket
import time
from contextlib import ExitStack

import pytest

from danlu.spec.diagnose import diagnose
from danlu.spec.states import Reason
from tests.api.harness import PATIENCE, Harness, client
from tests.api.people_harness import PeopleHarness
from tests.security.witness import TOO_LONG, Witness
from tests.support.server import DanluServer


@pytest.mark.slow
def test_by_searching_a_long_log(harness: Harness, people_harness: PeopleHarness) -> None:
    """Nothing but ends of lines: each was a step on the event loop, a minute for this log."""
    eve, other = people_harness.person(), people_harness.person()
    job = eve.submit(command="head -c 60000000 /dev/zero | tr '\\0' '\\n'; echo end", held=False)
    ended = harness.wait(job)
    assert ended["state"] == "succeeded"
    with Witness(other) as witness:
        found = eve.get(f"/jobs/{job['id']}/logs/search", q="end", ignore_case="true")
    assert [(m["offset"], m["line"]) for m in found["matches"]] == [(60_000_000, 60_000_001)]
    assert not found["more"]
    assert witness.longest < TOO_LONG


def test_by_searching_many_times_at_once(people_harness: PeopleHarness) -> None:
    """One search of a person runs at a time, few wait, the others are told to come back."""
    eve = people_harness.person()
    job = eve.submit(command="seq 2000000", held=False)
    people_harness.harness.wait(job)
    path = f"/jobs/{job['id']}/logs/search?q=no-such-text"
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        statuses = list(pool.map(lambda _: eve.http.get(path).status_code, range(40)))
    assert set(statuses) == {200, 429}


@pytest.mark.parametrize("line", [b"NCCL" * 250, b"gloo" * 250, b"TCPStore" * 125])
def test_by_a_log_that_is_hard_to_read(line: bytes) -> None:
    """It costs what any other line of its length does, which is looked at as closely."""

    def seconds(text: bytes) -> float:
        best = 1e9
        for _ in range(7):
            begun = time.process_time()
            assert diagnose(1, tail=b"\n".join([text] * 30)).reason is Reason.EXIT_CODE
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(line) < 1.6 * seconds(b"in use, " * 125)


@pytest.mark.slow
def test_by_a_dry_run_of_thousands(people_harness: PeopleHarness) -> None:
    eve, other = people_harness.person(), people_harness.person()
    jobs = [{"command": "true", "gpus": 1, "name": f"j{n}"} for n in range(3000)]
    begun = time.monotonic()
    with Witness(other) as witness:
        answer = eve.http.post(
            "/jobs?dry_run=true",
            content=json.dumps(jobs),
            headers={"Content-Type": "application/json"},
        )
    assert answer.status_code in (200, 422)
    if answer.status_code == 422:
        assert "send fewer at once" in answer.json()["error"]["message_en"]
    assert witness.longest < (time.monotonic() - begun) / 2, "others were answered meanwhile"


@pytest.mark.slow
def test_by_an_array_of_thousands(people_harness: PeopleHarness) -> None:
    """Its rows, its answer of megabytes and its end: none is made on the event loop at once."""
    eve, other = people_harness.person(), people_harness.person()
    with Witness(other) as witness:
        answer = eve.http.post("/jobs", json={"command": "true", "held": True, "array": 5000})
        jobs = answer.json()["jobs"]
        assert (answer.status_code, len(jobs)) == (201, 5000)
        again = eve.http.post(f"/jobs/{jobs[0]['name']}-{jobs[0]['number']}/rerun")
        assert [job["array_index"] for job in again.json()["jobs"]] == list(range(5000))
        for job in (jobs[0], again.json()["jobs"][0]):
            ended = eve.http.post(f"/jobs/{job['name']}-{job['number']}/stop").json()["jobs"]
            assert {each["state"] for each in ended} == {"stopped"}
    assert witness.longest < TOO_LONG


def test_by_connections_that_say_nothing(server: DanluServer) -> None:
    """From the same address as the others', and far more than it may have."""
    with ExitStack() as held:
        for _ in range(600):  # a few at a time wait to be accepted
            for _ in range(8):
                held.enter_context(socket.create_connection((server.host, server.port), PATIENCE))
        with client(server, server.token) as http:
            assert http.get("/whoami").status_code == 200
