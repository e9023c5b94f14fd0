"""What happens is told as it happens: whole, in order, once, also over a restart."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from danlu import Client
from danlu.sdk.stream import Blocks
from tests.api.harness import Harness, client, eventually
from tests.api.people_harness import PeopleHarness, Someone
from tests.support.server import DanluServer

Event = dict[str, Any]


@contextmanager
def listening(
    harness: Harness, headers: dict[str, str] | None = None, **query: Any
) -> Iterator[Iterator[Event]]:
    with harness.http.stream("GET", "/stream", params=query, headers=headers or {}) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _events(answer)


def _events(answer: httpx.Response) -> Iterator[Event]:
    blocks = Blocks()
    for piece in answer.iter_raw():
        for kind, text in blocks.feed(piece):
            yield {"type": kind, "id": blocks.last_id, **json.loads(text)}


def until_ended(events: Iterator[Event], job: Event) -> list[Event]:
    found = []
    for event in events:
        if event["type"] == "job" and event["job"]["id"] == job["id"]:
            found.append(event)
            if event["kind"] == "ended":
                return found
    raise AssertionError("the stream ended")


def test_the_life_of_a_job_is_told_in_order_with_its_states(harness: Harness) -> None:
    with listening(harness) as events:
        hello = next(events)
        assert hello["type"] == "hello"
        job = harness.submit(command="sleep 0.2; exit 3", name="told")
        life = until_ended(events, job)
    assert [(event["kind"], event["job"]["state"]) for event in life] == [
        ("submitted", "queued"),
        ("placed", "starting"),
        ("started", "running"),
        ("ended", "failed"),
    ]
    assert {event["job"]["ref"] for event in life} == {job["ref"]}
    assert all(event["en"] and event["zh"] for event in life)
    numbers = [event["seq"] for event in life]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > hello["seq"]
    assert life[-1]["id"] == str(numbers[-1])


@pytest.mark.parametrize("way", ["header", "query"])
def test_who_comes_back_gets_exactly_what_was_missed(harness: Harness, way: str) -> None:
    job = harness.run("true", name="missed")
    kinds = [(event["seq"], event["kind"]) for event in harness.events(job)]
    for place, (seq, _) in enumerate(kinds[:-1]):
        if way == "header":
            asked: dict[str, Any] = {"headers": {"Last-Event-ID": str(seq)}}
        else:
            asked = {"after": seq}
        with listening(harness, jobs=job["id"], **asked) as events:
            assert next(events)["seq"] == seq
            got = [(event["seq"], event["kind"]) for event in until_ended(events, job)]
        assert got == kinds[place + 1 :]


def test_only_what_was_asked_for_comes(harness: Harness) -> None:
    with listening(harness) as events:
        start = next(events)["seq"]
    one, other = harness.run("true", name="one"), harness.run("true", name="other")
    with listening(harness, jobs=other["ref"].replace("/", "~"), after=start) as events:
        assert {event["job"]["ref"] for event in until_ended(events, other)} == {other["ref"]}
    with listening(harness, jobs=f"{one['id']},{other['id']}", after=start) as events:
        refs = [event["job"]["ref"] for event in until_ended(events, other)]
        assert set(refs) == {other["ref"]}
    with listening(harness, kind="ended,placed", after=start) as events:
        got = list(itertools.islice((e["kind"] for e in events if e["type"] == "job"), 4))
        assert sorted(got) == ["ended", "ended", "placed", "placed"]
    with listening(harness, owner="nobody", after=start, beat=1) as events:
        assert next(events)["type"] == "hello"


def test_an_array_is_followed_by_its_name(harness: Harness) -> None:
    first = harness.submit_all({"command": "true", "name": "row", "array": "0-2"})[0]
    ref = first["ref"].rpartition(".")[0].replace("/", "~")
    with listening(harness, jobs=ref, after=0) as events:
        ended = itertools.islice((e for e in events if e.get("kind") == "ended"), 3)
        assert len({event["job"]["ref"] for event in ended}) == 3


def test_wrong_questions_are_answered_as_errors(harness: Harness) -> None:
    def status(path: str, **headers: str) -> int:
        with harness.http.stream("GET", path, headers=headers) as answer:
            return answer.status_code

    assert status("/stream?jobs=nothing-1") == 404
    assert status("/stream?after=-1") == 422
    assert status("/stream?beat=0") == 422
    assert status("/stream", **{"Last-Event-ID": "yesterday"}) == 422
    with client(harness.server, None) as stranger:
        assert stranger.get("/stream").status_code == 401


def test_a_place_that_is_not_known_begins_with_now(harness: Harness) -> None:
    with listening(harness, after=2**61) as events:
        hello = next(events)
        assert hello["reset"]
        job = harness.submit(command="true", name="afterwards")
        assert until_ended(events, job)[0]["seq"] > hello["seq"]


def test_silence_is_filled_with_signs_of_life_that_move_the_place_on(harness: Harness) -> None:
    job = harness.run("true", name="quiet")
    last = harness.events(job)[-1]["seq"]
    with harness.http.stream("GET", "/stream", params={"beat": 1, "owner": "nobody"}) as answer:
        text = b""
        for piece in answer.iter_raw():
            text += piece
            if text.count(b": beat") > 2:
                break
    blocks = Blocks()
    assert [kind for kind, _ in blocks.feed(text)] == ["hello"]
    assert int(blocks.last_id or 0) >= last


def test_every_measurement_of_the_gpus_is_told_in_few_bytes(harness: Harness) -> None:
    with listening(harness, nodes="true") as events:
        usage = next(event for event in events if event["type"] == "usage")
    sizes = {node["name"]: len(node["gpus"]) for node in harness.get("/nodes")["nodes"]}
    assert {name: len(gpus) for name, gpus in usage["nodes"].items()} == sizes
    assert [None, None] in usage["nodes"]["n1"], "declared, so not measured"
    assert harness.get("/nodes")["nodes"][0]["gpus"][0]["busy"] is None


def test_nodes_come_whole_at_first_and_then_when_their_gpus_change(harness: Harness) -> None:
    with listening(harness, nodes="true") as events:
        first = next(event for event in events if event["type"] == "nodes")
        assert [node["name"] for node in first["nodes"]] == ["n1", "n2"]
        job = harness.submit(command="sleep 1000", name="gpu", gpus="1:A100")
        # An earlier test's job may still be giving its GPUs back.
        for event in events:
            if event["type"] == "nodes" and "n2" in [node["name"] for node in event["nodes"]]:
                (changed,) = (node for node in event["nodes"] if node["name"] == "n2")
                held = [gpu["job"] for gpu in changed["gpus"] if gpu["state"] == "used"]
                if held == [job["ref"]]:
                    break
        harness.stop(job, now=True)
        for event in events:
            if event["type"] == "nodes" and event["nodes"]:
                gpus = event["nodes"][0]["gpus"]
                if all(gpu["state"] == "free" for gpu in gpus):
                    break


def test_brief_news_of_known_nodes_have_only_what_may_change(harness: Harness) -> None:
    with listening(harness, nodes="true", brief="true") as events:
        first = next(event for event in events if event["type"] == "nodes")
        assert all("cpus" in node and "model" in node["gpus"][0] for node in first["nodes"])
        job = harness.submit(command="sleep 1000", name="gpu", gpus="1:A100")
        (used,) = _used_on(events, "n2", job["ref"])
        assert used.keys() - {"since"} == {"state", "jobs", "owner"}  # since when it runs
        assert used["jobs"] == [job["ref"]]
        harness.stop(job, now=True)
        for event in events:
            if event["type"] == "nodes" and event["nodes"]:
                node = event["nodes"][0]
                assert node.keys() == {"name", "up", "cpus_free", "memory_free", "gpus"}
                if all(gpu == {"state": "free"} for gpu in node["gpus"]):
                    break


def _used_on(events: Iterator[Event], name: str, ref: str) -> list[Event]:
    for event in events:
        for node in event["nodes"] if event["type"] == "nodes" else ():
            used = [gpu for gpu in node["gpus"] if gpu["state"] == "used"]
            if node["name"] == name and [gpu["jobs"] for gpu in used] == [[ref]]:
                return used
    raise AssertionError("the stream ended")


def refs_told(person: Someone, last: Event, **query: Any) -> set[str]:
    """Of which jobs somebody is told, up to an event that they may see."""
    told = set()
    with person.http.stream("GET", "/stream", params=query) as answer:
        assert answer.status_code == 200
        for event in _events(answer):
            if event["type"] == "job":
                told.add(event["job"]["ref"])
                if event["job"]["id"] == last["id"]:
                    return told
    raise AssertionError("the stream ended")


def test_everybody_is_told_of_what_they_may_see_and_of_nothing_else(
    harness: Harness, people_harness: PeopleHarness
) -> None:
    group = people_harness.group()
    member, leader = people_harness.person(group), people_harness.person(leads=group)
    outsider = people_harness.person()
    with listening(harness) as events:
        after = next(events)["seq"]
    hidden = outsider.submit(name="hidden")
    own, shared = member.submit(name="own", group=None), member.submit(name="shared", group=group)
    ends = {person.name: person.submit(name="end") for person in (member, leader, outsider)}

    def told(person: Someone) -> set[str]:
        return refs_told(person, ends[person.name], after=after) - {ends[person.name]["ref"]}

    grouped = {job["ref"] for job in (own, shared) if job["group"] == group}
    assert told(member) == {own["ref"], shared["ref"]}
    assert told(leader) - {ends[member.name]["ref"]} == grouped
    assert told(outsider) == {hidden["ref"]}
    everything = refs_told(people_harness.admin, ends[outsider.name], after=after)
    assert {hidden["ref"], own["ref"], shared["ref"]} <= everything
    with member.http.stream("GET", f"/stream?jobs={hidden['id']}") as answer:
        assert answer.status_code == 404


def test_a_stream_ends_when_its_token_does(harness: Harness, people_harness: PeopleHarness) -> None:
    member = people_harness.person()
    session = people_harness.session(member)
    with session.http.stream("GET", "/stream", params={"beat": 1}) as answer:
        pieces = answer.iter_raw()
        assert b"hello" in next(pieces)
        session.do("POST", "/logout")
        for piece in pieces:
            assert b"beat" in piece


def test_nothing_is_lost_or_doubled_while_the_server_is_killed_and_comes_back(
    tmp_path: Path,
) -> None:
    server = DanluServer(tmp_path / "data").start()
    try:
        got: list[Event] = []
        total = 60
        lost: list[Exception] = []

        def listen() -> None:
            with Client(server.url, server.token) as danlu:
                for event in danlu.stream(hello=True, on_lost=lost.append):
                    got.append(dict(event))
                    if event.get("job", {}).get("name") == "last" and event["kind"] == "ended":
                        return

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        eventually(lambda: got)
        for number in range(total):
            server.submit(name=f"job{number}", command="true")
            if number in (15, 35):
                server.kill()
                server.start()
        harness = Harness(server)
        eventually(lambda: not harness.get("/jobs", active="true")["jobs"])
        harness.run("true", name="last")
        listener.join(180)
        assert not listener.is_alive()
        told = [(event["seq"], event["kind"]) for event in got if event["type"] == "job"]
        jobs = harness.get("/jobs", limit=1000)["jobs"]
        true = sorted((e["seq"], e["kind"]) for job in jobs for e in harness.events(job))
        assert told == true
        assert lost
    finally:
        server.cleanup()


def test_a_reader_that_does_not_read_costs_no_memory_and_misses_nothing(tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data").start()
    try:
        for _ in range(3):
            server.submit(name="many", command="true", held=True, array="0-2999")
        first = server.get("/jobs?limit=1")["jobs"][0]
        before = _resident(server)
        readers = [_slow_reader(server) for _ in range(40)]
        for _ in range(100):  # in between they are served as far as they can be
            server.get("/nodes")
        # All of it for all of them would be more than 150 MB of text.
        assert _resident(server) - before < 60 * 1024 * 1024
        for reader in readers[:2]:
            seen = _read_events(reader, 9_000)
            assert [event["seq"] for event in seen] == list(range(1, 9_001))
            assert seen[-1]["job"]["ref"] == first["ref"]
        for reader in readers:
            reader.close()
    finally:
        server.stop()


def _slow_reader(server: DanluServer) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", server.port))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    head = f"GET /danlu/v1/stream?after=0 HTTP/1.0\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    link.sendall(head.encode())
    return link


def _read_events(link: socket.socket, count: int) -> list[Event]:
    blocks, found = Blocks(), []
    link.settimeout(120)
    held = b""
    while b"\r\n\r\n" not in held:
        held += link.recv(4096)
    piece = held.partition(b"\r\n\r\n")[2]
    while len(found) < count:
        found += [json.loads(text) for kind, text in blocks.feed(piece) if kind == "job"]
        piece = link.recv(1 << 20) if len(found) < count else b""
    return found


def _resident(server: DanluServer) -> int:
    assert server.process is not None
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if "VmRSS" in line) * 1024


def test_the_command_line_follows_a_job_to_its_end(harness: Harness) -> None:
    job = harness.submit(command="sleep 0.3", name="followed")
    done = harness.server.cli("events", "-f", job["ref"])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(harness.events(job))
    assert "Completed" in lines[-1]
    again = harness.server.cli("events", "-f", "--json", job["ref"])
    kinds = [json.loads(line)["kind"] for line in again.stdout.splitlines()]
    assert kinds == harness.kinds(job)


def test_the_command_line_follows_everything(harness: Harness) -> None:
    command = [sys.executable, "-m", "danlu.cli", "events", "-f"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=harness.server.env, text=True
    ) as following:
        assert following.stdout is not None
        told = threading.Event()

        def submit() -> None:
            mine = Harness(harness.server)
            while not told.is_set():
                mine.run("true", name="seen")

        submitting = threading.Thread(target=submit)
        submitting.start()
        line = following.stdout.readline()
        told.set()
        submitting.join()
        assert line.startswith("admin/seen-")
        following.terminate()


def test_a_watched_list_is_shown_again_when_it_changes(harness: Harness) -> None:
    command = [sys.executable, "-m", "danlu.cli", "jobs", "--watch", "--quiet"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=harness.server.env, text=True
    ) as watching:
        assert watching.stdout is not None
        job = harness.submit(command="sleep 1000", name="watched")
        while job["ref"] not in watching.stdout.readline():
            pass
        harness.stop(job, now=True)
        again = harness.submit(command="sleep 1000", name="newer")
        while again["ref"] not in watching.stdout.readline():
            pass
        watching.terminate()
