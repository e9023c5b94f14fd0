"""A member who wants so much that nothing is left for the others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from danlu.access.errors import Clash
from danlu.access.principal import Principal
from danlu.server.settings import load
from danlu.server.values import ConfigError
from danlu.spec.codec import from_values, to_values
from danlu.spec.complete import Submission, complete
from danlu.store.database import database
from tests.api.harness import PATIENCE, Harness, client, eventually
from tests.control.harness import Harness as ControlHarness
from tests.security.conftest import ServerMaker
from tests.support.server import DanluServer

LIMITS = """
[server]
[limits]
streams = 3
terminals = 2
secrets = 3
request = 50
jobs = 130
"""


@pytest.fixture(scope="module")
def small(make_server: ServerMaker) -> DanluServer:
    return make_server("small", LIMITS)


@pytest.fixture
def http(small: DanluServer) -> Iterator[httpx.Client]:
    with client(small, small.token) as found:
        yield found


def test_with_streams_of_events(http: httpx.Client) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(http.stream("GET", "/stream")) for _ in range(4)]
        for stream in streams:
            if stream.status_code == 200:
                next(stream.iter_raw())
        assert [stream.status_code for stream in streams] == [200, 200, 200, 429]
        streams[3].read()
        assert "3 open event streams" in streams[3].json()["error"]["message_en"]

    def closed_ones_do_not_count() -> bool:
        with http.stream("GET", "/stream") as again:
            return again.status_code == 200

    assert eventually(closed_ones_do_not_count)


def test_with_signs_of_life_without_end(http: httpx.Client) -> None:
    """At 20 a second and a look into the database for each, a few streams were a load."""
    assert http.get("/stream?beat=0.05").status_code == 422


def test_with_terminals(small: DanluServer, http: httpx.Client) -> None:
    harness = Harness(small)
    job = harness.submit(command="sleep 1000")
    harness.until(job, "running")
    url = f"{small.url.replace('http', 'ws', 1)}/danlu/v1/jobs/{job['id']}/exec?argv="
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(
                connect(
                    url + json.dumps(["sh", "-c", "echo in; sleep 1000"]).replace(" ", "%20"),
                    additional_headers={"Authorization": f"Bearer {small.token}"},
                    open_timeout=PATIENCE,
                    proxy=None,
                    ssl=small.tls,
                )
            )
            for _ in range(3)
        ]
        for socket in sockets[:2]:
            assert b"in" in bytes(socket.recv(timeout=PATIENCE))
        with pytest.raises(ConnectionClosed) as closed:
            sockets[2].recv(timeout=PATIENCE)
        assert closed.value.rcvd is not None and "2 open terminals" in closed.value.rcvd.reason
    harness.stop(job, now=True)


def test_with_secrets(http: httpx.Client) -> None:
    for name in ("a", "b", "c", "a"):
        assert http.put(f"/secrets/{name}", json={"value": "x"}).status_code == 200
    assert http.put("/secrets/d", json={"value": "x"}).status_code == 429


OPENPAI = """
protocolVersion: 2
name: many
type: job
secrets: {{{values}}}
prerequisites: [{{type: dockerimage, name: image, uri: lab/python:3}}]
taskRoles:
  main:
    instances: 1
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: {gpus}}}
    commands:
      - echo {used}
"""


def _with_secrets(names: list[str], gpus: int = 0) -> str:
    return OPENPAI.format(
        values=", ".join(f"{name}: v-{name}" for name in names),
        used=" ".join(f"<% $secrets.{name} %>" for name in names),
        gpus=gpus,
    )


def test_with_secrets_in_a_job_file(make_server: ServerMaker) -> None:
    """They were stored without being counted, and stayed when the job was refused."""
    server = make_server("files", "[server]\n[limits]\nsecrets = 3\n")
    native = json.dumps({"image": None})
    with client(server, server.token) as http:

        def send(names: list[str], gpus: int = 0, **query: str) -> httpx.Response:
            return http.post(
                "/jobs",
                params={"dialect": "openpai-v2", "keys": native, **query},
                content=_with_secrets(names, gpus),
                headers={"Content-Type": "application/yaml"},
            )

        def kept() -> int:
            return len(http.get("/secrets").json()["names"])

        many = send([f"s{n}" for n in range(30)])
        assert (many.status_code, kept()) == (429, 0), many.text
        assert http.get("/jobs?all=true").json()["jobs"] == []
        refused = send(["a", "b"], gpus=99)
        assert (refused.status_code, kept()) == (422, 0), refused.text
        dry = send(["a", "b"], dry_run="true")
        assert (dry.status_code, kept()) == (200, 0), dry.text
        fits = send(["a", "b"])
        assert (fits.status_code, kept()) == (201, 2), fits.text


def test_with_one_job_after_the_other(make_server: ServerMaker) -> None:
    """Only requests for several jobs were counted."""
    server = make_server("few", "[server]\n[limits]\njobs = 3\n")
    held = {"command": "true", "held": True}
    with client(server, server.token) as http, ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda _: http.post("/jobs", json=held), range(8)))
        taken = [each.json()["jobs"][0]["id"] for each in sent if each.status_code == 201]
        assert len(taken) == 3, [each.text for each in sent]
        again = http.post("/jobs", json={**held, "id": taken[0]})
        assert again.status_code == 200, "a job that is sent again is not one more"
        assert http.post("/jobs", json=held).status_code == 422
        assert http.post(f"/jobs/{taken[0]}/stop", json={}).status_code == 200
        assert eventually(lambda: http.post("/jobs", json=held).status_code == 201)


def test_with_arrays(http: httpx.Client) -> None:
    held = {"command": "true", "held": True}
    assert http.post("/jobs", json={**held, "array": 51}).status_code == 422
    many = [{**held, "array": 30}, {**held, "array": 30}]
    refused = http.post("/jobs", json=many)
    assert refused.status_code == 422 and "60 jobs" in refused.json()["error"]["message_en"]
    assert http.post("/jobs", json={**held, "array": 50}).status_code == 201
    assert http.post("/jobs", json={**held, "array": 50}).status_code == 201
    over = http.post("/jobs", json={**held, "array": 40})
    assert over.status_code == 422 and "limit of 130" in over.json()["error"]["message_en"]


def test_with_what_every_element_of_an_array_carries() -> None:
    """Each stored the list of all: 10,000 elements took half a gigabyte."""
    spec = complete({"name": "big", "command": "true", "array": "0-9999%4"})
    stored = json.dumps(to_values(spec))
    assert len(stored) < 4000
    one, other = from_values(json.loads(stored)), from_values(json.loads(stored))
    assert one == spec and one.array is not None and other.array is not None
    assert one.array.indexes is other.array.indexes, "in memory they share one list, too"


def test_with_a_long_file_for_every_element_of_an_array(
    small: DanluServer, http: httpx.Client
) -> None:
    """Each stored the whole spec: 10,000 elements of a file of 900 KB would take 9 GB."""
    asked = {"name": "wide", "command": f"echo {'x' * 100_000}", "held": True, "array": 20}
    answer = http.post("/jobs", json=asked)
    assert answer.status_code == 201
    db = database(replace(load(small.config), data=small.data).database_url).connect()
    ((stored,),) = db.execute("SELECT sum(length(spec)) FROM jobs")
    db.close()
    assert stored < 50_000
    last = answer.json()["jobs"][-1]
    assert http.get(f"/jobs/{last['id']}").json()["spec"]["command"] == asked["command"]
    found = http.get("/jobs", params={"text": "echo xxx", "limit": 100}).json()["jobs"]
    assert len(found) == 20
    small.stop()
    small.start()
    spec = http.get(f"/jobs/{last['id']}/spec", params={"format": "json"}).json()
    assert (spec["command"], spec["array"]) == (asked["command"], "19-19")
    stopped = http.post(f"/jobs/wide-{last['number']}/stop")
    assert {job["state"] for job in stopped.json()["jobs"]} == {"stopped"}


async def test_with_requests_it_does_not_wait_for(tmp_path: Path) -> None:
    """A member's large requests go one by one; those whose client has left are dropped."""
    harness = ControlHarness(tmp_path)
    await harness.open()
    eve = Principal("eve")
    asked = [Submission(complete({"name": "many", "command": "true", "held": True, "array": 30}))]

    async def gone() -> bool:
        return True

    async with harness.controller.context.workers.turn("eve"):
        waits = asyncio.create_task(harness.submitter.submit(asked, eve, "", gone))
        other = await harness.submit_as(Principal("bob"), command="true", held=True, array=30)
        await asyncio.sleep(0.05)
        assert len(other) == 30 and not waits.done()
    with pytest.raises(Clash):
        await waits
    assert {job.row.owner for job in harness.controller.context.jobs.values()} == {"bob"}
    await harness.close()


@pytest.mark.parametrize(
    "text",
    [
        '[database]\nurl = "postgresql://danlu:pw@db.lab/danlu"\n',
        '[database]\nurl = "postgresql://danlu@db.lab/danlu?sslmode=require&password=pw"\n',
        '[registries."reg.lab"]\nuser = "lab"\npassword = "pw"\n',
    ],
)
def test_a_password_that_everybody_may_read_is_refused(tmp_path: Path, text: str) -> None:
    """Whoever reads the file of the server has its database."""
    path = tmp_path / "danlu.toml"
    path.write_text(text)
    path.chmod(0o644)
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert "chmod 600" in refused.value.message.en and "chmod 600" in refused.value.message.zh
    assert "pw" not in refused.value.message.en
    path.chmod(0o640)
    load(path)


def test_with_a_character_that_the_database_does_not_take(http: httpx.Client) -> None:
    """PostgreSQL has no NUL, and said so as if it were broken."""
    for path, order in (
        ("/images", {"name": "debian:12"}),
        ("/jobs/nobody~x-1/save", {"image": "x"}),
        ("/images/build", {"name": "x", "base": "debian:12", "pip": ["numpy"]}),
    ):
        answer = http.post(path, json={**order, "description": "a\0b"})
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["details"][0]["key"] == "description", answer.text
