"""The client against a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.sdk import ApiError, Client, uuid7
from tests.support.server import DanluServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("sdk") / "data").start()
    yield server
    server.cleanup()


@pytest.fixture
def client(server: DanluServer) -> Iterator[Client]:
    with Client(server.url, server.token) as client:
        yield client


def test_a_job_is_submitted_followed_and_waited_for(client: Client) -> None:
    job = client.submit({"command": ["sh", "-c", "echo hello; exit 4"], "name": "first"})["jobs"][0]
    assert b"".join(client.logs(job["id"], follow=True)) == b"hello\n"
    ended = client.wait(job["id"])
    assert (ended["state"], ended["exit_code"]) == ("failed", 4)
    assert client.show("first-1")["attempts"][0]["number"] == 1
    assert client.why(job["ref"])["state"] == "failed"
    assert [event["kind"] for event in client.events(job["ref"])]
    assert client.search(job["ref"], "hell")["matches"][0]["text"] == "hello"


def test_the_text_of_a_job_file_may_be_submitted(client: Client) -> None:
    jobs = client.submit("name: one\ncommand: 'true'\n---\nname: two\ncommand: 'true'\n")["jobs"]
    assert [job["name"] for job in jobs] == ["one", "two"]


def test_the_same_id_is_the_same_job(client: Client) -> None:
    job = {"command": ["true"], "name": "once", "id": uuid7()}
    assert client.submit(job)["jobs"][0]["ref"] == client.submit(job)["jobs"][0]["ref"]
    assert len(client.jobs(name="once", state="queued,starting,running,succeeded")["jobs"]) == 1


def test_a_refusal_tells_code_words_and_details(client: Client) -> None:
    with pytest.raises(ApiError) as missing:
        client.show("nothing-1")
    assert (missing.value.status, missing.value.code) == (404, "not_found")
    assert missing.value.message_zh != missing.value.message_en
    with pytest.raises(ApiError) as wrong:
        client.submit({"command": ["true"], "gpus": "lots"})
    assert wrong.value.details[0]["key"] == "gpus"


def test_pages_of_jobs_follow_each_other(client: Client) -> None:
    for _ in range(3):
        client.submit({"command": ["true"], "name": "paged", "held": True})
    states = "queued"
    first = client.jobs(name="paged", state=states, limit=2)
    rest = client.jobs(name="paged", state=states, limit=2, before=first["next"])
    numbers = [job["number"] for job in (*first["jobs"], *rest["jobs"])]
    assert numbers == [3, 2, 1]
    assert rest["next"] is None


def test_a_job_is_held_released_stopped_and_run_again(client: Client) -> None:
    job = client.submit({"command": ["sleep", "600"], "name": "cycle", "held": True})["jobs"][0]
    assert client.wait(job["id"], timeout=0.05)["state"] == "queued"
    assert client.release(job["id"])[0]["held"] is False
    while client.show(job["id"])["state"] != "running":
        time.sleep(0.01)
    assert client.stop(job["id"], now=True)
    assert client.wait(job["id"])["state"] == "stopped"
    again = client.rerun(job["id"])["jobs"][0]
    assert again["number"] == 2
    client.stop(again["id"], now=True)
    assert client.spec(job["id"])["command"] == ["sleep", "600"]
    assert "sleep" in client.spec_yaml(job["id"])


def test_a_command_runs_beside_a_task(client: Client) -> None:
    job = client.submit({"command": ["sleep", "600"], "name": "beside"})["jobs"][0]
    while client.show(job["id"])["state"] != "running":
        time.sleep(0.01)
    running = client.exec(job["id"], ["sh", "-c", "cat; echo bad >&2; exit 6"])
    running.write(b"good")
    assert running.finish() == (6, b"good", b"bad\n")
    client.stop(job["id"], now=True)


def test_the_place_itself_is_described(client: Client) -> None:
    assert client.whoami()["user"] == "admin"
    assert client.nodes()[0]["up"]
    assert client.gpus()["gpus"] == []
    assert client.server()["version"] == client.version()


def test_a_dry_run_queues_nothing(client: Client) -> None:
    found = client.submit({"command": ["true"], "name": "imagined"}, dry_run=True)
    assert found["previews"][0]["spec"]["name"] == "imagined"
    assert client.jobs(name="imagined")["jobs"] == []


def test_a_log_is_followed_over_a_killed_server(server: DanluServer, tmp_path: Path) -> None:
    client = Client(server.url, server.token)
    go_on = tmp_path / "go-on"
    wait = f"until [ $i != 100 ] || [ -e {go_on} ]; do sleep 0.05; done"
    script = f"i=0; while [ $i -lt 200 ]; do {wait}; echo $i; i=$((i+1)); sleep 0.01; done"
    job = client.submit({"command": script})["jobs"][0]
    lost: list[Exception] = []
    pieces = client.logs(job["id"], follow=True, on_lost=lost.append)
    got = next(pieces)
    server.kill()
    server.start()
    go_on.touch()
    got += b"".join(pieces)
    assert got.split() == [str(i).encode() for i in range(200)]
    assert lost
    assert client.wait(job["id"])["state"] == "succeeded"
