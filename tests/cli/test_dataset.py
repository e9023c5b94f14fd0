"""`danlu dataset`: proposed by a member, accepted by an admin, read by jobs, copied near them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.member import Person
from tests.support.server import DanluServer

READ = "cat /gdata/asked/train.txt 2>/dev/null || echo none"


def ask(server: DanluServer, *words: str, **more: Any) -> Any:
    done = server.cli("dataset", *words, "--json", **more)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def refused(server: DanluServer, *words: str, code: int = 2, **more: Any) -> str:
    done = server.cli(*words, **more)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stderr.decode()


@pytest.fixture
def nas(server: DanluServer, tmp_path: Path) -> Iterator[Path]:
    tmp_path.chmod(0o755)
    folder = tmp_path / "nas"
    (folder / "sets" / "words").mkdir(parents=True)
    (folder / "sets" / "words" / "train.txt").write_text("one\ntwo\n")
    server.cli("volume", "add", "nas", str(folder), "--on-request")
    yield folder
    for found in ask(server, "list")["datasets"]:
        server.cli("dataset", "remove", found["name"], "--yes")
    server.cli("volume", "remove", "nas", "--yes")
    server.cli("volume", "remove", "fast", "--yes")


def test_a_dataset_is_added_counted_and_read_only(server: DanluServer, nas: Path) -> None:
    found = ask(
        server, "add", "words", "--volume", "nas", "--folder", "sets/words", "--licence",
        "CC0", "--how", "one word a line", "--wait",
    )  # fmt: skip
    assert (found["state"], found["files"], found["bytes"]) == ("ready", 1, 8)
    assert found["path"] == "/gdata/words"
    shown = server.cli("dataset", "show", "words").stdout.decode()
    for word in ("CC0", "one word a line", found["fingerprint"]):
        assert word in shown
    assert "words" in server.cli("dataset").stdout.decode()
    read = server.cli("run", "--quiet", "-w", "-", "--", "cat", "/gdata/words/train.txt")
    assert read.stdout == b"one\ntwo\n"
    write = server.cli("run", "--quiet", "-w", "-", "--", "touch", "/gdata/words/new")
    assert write.returncode != 0
    (nas / "sets/words/more.txt").write_text("three\n")
    again = ask(server, "measure", "words", "--wait")
    assert again["files"] == 2
    assert again["fingerprint"] != found["fingerprint"]


def test_a_job_asks_for_a_dataset_by_name(server: DanluServer, nas: Path) -> None:
    ask(server, "add", "asked", "--volume", "nas", "--folder", "sets/words", "--on-request")
    words = (
        "--quiet",
        "-w",
        "-",
        "--",
        "sh",
        "-c",
        READ,
    )
    assert server.cli("run", *words).stdout == b"none\n"
    assert server.cli("run", "--dataset", "asked", *words).stdout == b"one\ntwo\n"
    told = refused(server, "run", "--dataset", "nothing", "--", "true")
    assert "is not a dataset you may read; available: asked" in told


def test_a_folder_out_of_the_volume_is_refused(server: DanluServer, nas: Path) -> None:
    (nas / "out").symlink_to("/etc")
    for folder in ("../..", "out", "nowhere", "/etc"):
        refused(server, "dataset", "add", "bad", "--volume", "nas", "--folder", folder)
    refused(server, "dataset", "add", "bad", "--volume", "userhome")
    refused(server, "dataset", "add", "bad", "--volume", "no-such-volume")


def test_jobs_are_placed_where_a_fast_copy_is(
    server: DanluServer, nas: Path, tmp_path: Path
) -> None:
    ask(server, "add", "near", "--volume", "nas", "--folder", "sets/words", "--wait")
    told = refused(server, "dataset", "stage", "near", code=5)
    assert "--tier" in told
    fast = tmp_path / "fast"
    fast.mkdir()
    server.cli("volume", "add", "fast", str(fast), "--tier", "fast", "--node", "n2")
    if os.geteuid() == 0:
        fast.chmod(0o777)
        unsafe = ask(server, "stage", "near", "--wait")
        assert "others could replace" in unsafe["copies"][0]["detail_en"]
        fast.chmod(0o1777)
    staged = ask(server, "stage", "near", "--wait")
    assert (fast / ".stage").stat().st_mode & 0o077 == 0, "nobody reads it by way of the volume"
    assert [(copy["node"], copy["state"]) for copy in staged["copies"]] == [("n2", "ready")]
    (nas / "sets/words/train.txt").write_text("from the large tier\n")

    command = ("-w", "-", "--", "sh", "-c", "cat /gdata/near/train.txt")
    job = json.loads(server.cli("run", "--json", "--dataset", "near", *command).stdout)
    assert job["nodes"] == ["n2"]
    assert server.cli("logs", job["ref"]).stdout == b"one\ntwo\n", "the copy, not the original"
    events = server.get(f"/jobs/{job['id']}/events")["events"]
    assert any("near: a fast copy" in event["en"] for event in events)

    elsewhere = server.cli("run", "--json", "--dataset", "near", "--node", "n1", *command)
    other = json.loads(elsewhere.stdout)
    assert server.cli("logs", other["ref"]).stdout == b"from the large tier\n"
    events = server.get(f"/jobs/{other['id']}/events")["events"]
    assert any("no fast copy here" in event["en"] for event in events)

    assert ask(server, "unstage", "near")["copies"] == []
    assert list((fast / ".stage").iterdir()) == []


def test_a_volume_is_measured(server: DanluServer, nas: Path) -> None:
    done = server.cli("volume", "measure", "nas", "--json")
    if b"Invalid argument" in done.stderr or b"not supported" in done.stderr:
        pytest.skip("this file system knows no O_DIRECT")
    found = json.loads(done.stdout)
    assert found["read_speed"] > 0
    assert found["write_speed"] > 0
    assert "/s reading" in server.cli("volume", "show", "nas").stdout.decode()


def test_a_member_proposes_and_an_admin_decides(server: DanluServer, nas: Path) -> None:
    member = Person(server)
    proposed = json.loads(
        member.cli(
            *("dataset", "propose", "wish", "--volume", "nas", "--folder", "sets/words"),
            *("--title", "All words", "--licence", "CC0", "--json"),
        ).stdout
    )
    assert (proposed["state"], proposed["usable"]) == ("proposed", False)
    assert b"1 proposal waits" in server.cli("dataset").stderr
    assert member.cli("dataset", "accept", "wish").returncode == 4
    refusal = ask(server, "reject", "wish", "--reason", "too small")
    assert refusal["state"] == "rejected"
    assert b"too small" in member.cli("dataset", "show", "wish").stdout
    assert b"rejected your proposal wish: too small" in member.cli("dataset").stderr
    assert b"your proposal" not in Person(server).cli("dataset").stderr
    again = json.loads(
        member.cli("dataset", "propose", "wish", "--licence", "CC BY 4.0", "--json").stdout
    )
    assert again["decided_at"] is None
    assert again["state"] == "proposed"
    assert (again["title"], again["licence"]) == ("All words", "CC BY 4.0"), (
        "what was not said stays"
    )
    assert (again["volume"], again["folder"]) == ("nas", "sets/words")
    assert ask(server, "accept", "wish", "--wait")["files"] == 1
    news = member.cli("dataset").stderr
    assert b"admin has accepted your proposal wish" in news and b"/gdata/wish" in news
    assert b"your proposal" not in Person(server).cli("dataset").stderr
    read = member.cli("run", "--quiet", "-w", "-", "--", "cat", "/gdata/wish/train.txt")
    assert read.stdout == b"one\ntwo\n"


def test_a_dataset_of_a_closed_volume_is_hidden_from_others(
    server: DanluServer, nas: Path, tmp_path: Path
) -> None:
    server.cli("group", "add", "closed")
    server.cli("volume", "set", "nas", "--group", "closed")
    ask(server, "add", "theirs", "--volume", "nas", "--folder", "sets/words")
    outsider = Person(server)
    assert b"theirs" not in outsider.cli("dataset").stdout
    assert outsider.cli("dataset", "show", "theirs").returncode == 3
    assert outsider.cli("run", "--dataset", "theirs", "--", "true").returncode == 2
    listed = outsider.cli("run", "--quiet", "-w", "-", "--", "ls", "/gdata")
    assert b"theirs" not in listed.stdout
    assert b"theirs" not in outsider.cli("ls", "/gdata").stdout
    assert outsider.cli("ls", "/gdata/theirs").returncode == 3


def test_storage_of_ones_own_is_asked_for_and_becomes_a_volume(
    server: DanluServer, nas: Path
) -> None:
    member, other = Person(server), Person(server)
    asked = json.loads(
        member.cli("volume", "request", "scope", "nas.lab:/export/scope", "--json").stdout
    )
    assert asked["state"] == "open"
    assert member.cli("volume", "approve", asked["id"], str(nas)).returncode == 4
    assert asked["id"].encode() not in other.cli("volume", "requests").stdout
    assert asked["id"].encode() in server.cli("volume", "requests").stdout
    secret = member.cli("volume", "request", "leaky", "https://me:password@dav.lab/x")
    assert secret.returncode == 2
    assert b"password" in secret.stderr
    done = server.cli("volume", "approve", asked["id"], str(nas))
    assert done.returncode == 0, done.stderr
    read = member.cli("run", "--quiet", "-w", "-", "--", "cat", "/mnt/scope/sets/words/train.txt")
    assert read.stdout == b"one\ntwo\n"
    assert b"scope" not in other.cli("volume", "list").stdout
    assert server.cli("volume", "reject", asked["id"]).returncode == 5
    server.cli("volume", "remove", "scope", "--yes")


def test_what_is_proposed_has_to_be_there(server: DanluServer, nas: Path) -> None:
    member = Person(server)
    words = ("dataset", "propose", "ghost", "--volume", "nas", "--folder")
    (nas / "closed/inner").mkdir(parents=True)
    (nas / "closed").chmod(0o700)
    for folder in ("none", "sets/words/train.txt", "closed/inner"):
        done = member.cli(*words, folder)
        assert done.returncode == 2, done
        assert f"no folder '{folder}' in volume nas that you can read".encode() in done.stderr
    assert all(each["name"] != "ghost" for each in ask(server, "list")["datasets"])
    done = member.cli(*words, "sets/words", "--json")
    assert json.loads(done.stdout)["state"] == "proposed"
