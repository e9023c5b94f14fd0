"""A backup while everything runs; all that was acknowledged before is back on an empty machine."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.server.restore import main as restore_here
from tests.api.harness import Harness, eventually
from tests.api.people_harness import PeopleHarness
from tests.support.postgres import PostgresServer
from tests.support.server import DanluServer

DATABASES = ("sqlite", "postgresql")
Job = dict[str, Any]
Make = Callable[[str, str], DanluServer]


@pytest.fixture
def make(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Make]:
    """Servers by name and kind of database; whatever they run is ended with the test."""
    made: list[DanluServer] = []

    def new(name: str, kind: str) -> DanluServer:
        config = ""
        if kind == "postgresql":
            postgres: PostgresServer = request.getfixturevalue("postgres")
            config = f'[database]\nurl = "{postgres.new_database()}"\n'
        (tmp_path / name).mkdir()
        made.append(DanluServer(tmp_path / name / "data", config))
        return made[-1]

    yield new
    for server in made:
        if server.process is not None:
            server.cleanup()


def restore(server: DanluServer, file: Path, *more: str) -> subprocess.CompletedProcess[bytes]:
    return server.cli(
        "restore",
        str(file),
        "--data",
        str(server.data),
        "--config",
        str(server.config),
        *more,
    )


class Crowd:
    """People who submit all the time, and remember what was acknowledged to them."""

    def __init__(self, server: DanluServer) -> None:
        self._server = server
        self._over = threading.Event()
        self.ended: dict[str, bytes] = {}
        self.accepted: list[str] = []
        self._threads = [threading.Thread(target=self._submit, args=(i,)) for i in range(3)]
        for thread in self._threads:
            thread.start()

    def _submit(self, which: int) -> None:
        harness = Harness(self._server)
        number = 0
        while not self._over.is_set():
            number += 1
            job = harness.submit(name=f"crowd{which}", command=f"echo out of {which} {number}")
            self.accepted.append(job["id"])
            if number % 4 == 0:
                harness.wait(job)
                self.ended[job["id"]] = harness.log(job)

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.parametrize("target", DATABASES)
@pytest.mark.parametrize("origin", DATABASES)
def test_all_that_was_acknowledged_before_the_backup_is_there_after_a_restore(
    origin: str, target: str, make: Make, tmp_path: Path
) -> None:
    old, new = make("old", origin), make("new", target)
    old.start()
    harness = Harness(old)
    long = harness.until(harness.submit(name="long", command="echo began; sleep 1000"), "running")
    assert harness.http.put("/secrets/wandb", json={"value": "hidden"}).status_code == 200
    crowd = Crowd(old)
    try:
        eventually(lambda: len(crowd.ended) > 6)
        accepted, ended = list(crowd.accepted), dict(crowd.ended)
        events = {job: harness.get(f"/jobs/{job}/events")["events"] for job in accepted[:40]}
        file = tmp_path / "everything.backup"
        done = old.cli("backup", str(file))
        assert done.returncode == 0, done.stderr
        more = len(crowd.accepted)
        eventually(lambda: len(crowd.accepted) > more + 3)  # it went on all the time
    finally:
        crowd.stop()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob("*part*")] == []
    harness.clear()
    old.stop()

    done = restore(new, file)
    assert done.returncode == 0, done.stderr
    new.start()
    after = Harness(new)
    assert new.token == old.token
    assert after.get("/secrets")["names"] == ["wandb"]
    for job in accepted:
        after.get(f"/jobs/{job}")
    for job, before in events.items():
        assert after.get(f"/jobs/{job}/events")["events"][: len(before)] == before
    for job, log in ended.items():
        assert after.log({"id": job}) == log
    again = eventually(lambda: _second_attempt(after, long))
    assert again["attempts"][0]["reason"] == "lost"
    assert "restored" in after.kinds(long)
    assert after.lines(long, attempt=1) == ["began"]
    fresh = after.run("echo new life", name="crowd0")
    assert fresh["state"] == "succeeded"


def _second_attempt(harness: Harness, job: Job) -> Job | None:
    found = harness.show(job)
    return found if len(found["attempts"]) > 1 and found["state"] == "running" else None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small backup, of a server that has stopped."""
    folder = tmp_path_factory.mktemp("origin")
    server = DanluServer(folder / "data").start()
    try:
        Harness(server).run("echo kept", name="kept")
        home = server.data / "home" / "somebody" / "deep"
        home.mkdir(parents=True)
        (home / "file.txt").write_text("mine")
        (home / "link").symlink_to("/gdata/set")
        (home / "script").write_text("#!/bin/sh\n")
        (home / "script").chmod(0o751)
        shared = server.data / "volumes" / "share" / "vision"
        shared.mkdir(parents=True, exist_ok=True)
        (shared / "data.txt").write_text("ours")
        file = folder / "small.backup"
        assert server.cli("backup", str(file), "--homes").returncode == 0
        return file.read_bytes()
    finally:
        server.stop()


@pytest.fixture
def backup(whole: bytes, tmp_path: Path) -> Path:
    file = tmp_path / "small.backup"
    file.write_bytes(whole)
    return file


def snapshot(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")} if folder.exists() else set()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda data: data[: len(data) // 2], "cut off"),
        (lambda data: data[:-1], "cut off"),
        (lambda data: data[:-8] + b"\0" * 8, "broken"),
        (lambda data: data[:200] + bytes([data[200] ^ 255]) + data[201:], "broken|damaged"),
        (lambda data: b"", "broken"),
        (lambda data: b"something else", "broken"),
        (lambda data: gzip.compress(b"something else" * 100), "broken"),
    ],
    ids=["half", "last byte", "checksum", "flipped", "empty", "text", "no tar"],
)
def test_a_damaged_file_is_refused_and_nothing_is_changed(
    harm: Callable[[bytes], bytes], said: str, backup: Path, make: Make
) -> None:
    backup.write_bytes(harm(backup.read_bytes()))
    server = make("new", "sqlite")
    done = restore(server, backup)
    assert done.returncode == 2
    assert re.search(said.encode(), done.stderr), done.stderr
    assert not server.data.exists()
    assert restore(server, backup, "--check").returncode == 2


def _content(tar: tarfile.TarFile, one: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(one) if one.isreg() else None
    return file.read() if file else b""


def repacked(file: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> None:
    """The same file with other entries, but nothing wrong with its compression."""
    with tarfile.open(file) as tar:
        found = tar.getmembers()
        entries = [(one, _content(tar, one)) for one in found]
    change(entries)
    with tarfile.open(file, "w:gz") as tar:
        for info, data in entries:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def test_a_row_that_was_changed_is_found(backup: Path, make: Make) -> None:
    def change(entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        at = next(i for i, (info, _) in enumerate(entries) if "tables/jobs/" in info.name)
        entries[at] = (entries[at][0], entries[at][1].replace(b"kept", b"gone"))

    repacked(backup, change)
    server = make("new", "sqlite")
    done = restore(server, backup)
    assert (done.returncode, b"tables/jobs/000000.jsonl" in done.stderr) == (2, True)
    assert not server.data.exists()


def test_a_file_without_its_end_is_found_even_if_the_compression_is_whole(
    backup: Path, make: Make
) -> None:
    repacked(backup, lambda entries: entries.__delitem__(slice(-3, None)))
    done = restore(make("new", "sqlite"), backup)
    assert (done.returncode, b"cut off" in done.stderr) == (2, True)


@pytest.mark.parametrize("name", ["../../outside", "logs/../../outside", "other/thing", "home//x"])
def test_no_entry_gets_out_of_the_data_folder(name: str, backup: Path, make: Make) -> None:
    def change(entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        at = next(i for i, (info, _) in enumerate(entries) if info.name.startswith("logs/"))
        entries[at][0].name = name
        listed = json.loads(entries[-1][1])
        listed["entries"][at]["name"] = name
        entries[-1] = (entries[-1][0], json.dumps(listed).encode())

    repacked(backup, change)
    server = make("new", "sqlite")
    done = restore(server, backup)
    assert (done.returncode, b"unexpected entry" in done.stderr) == (2, True)
    assert not server.data.exists()
    assert not (server.data.parent / "outside").exists()


def test_a_newer_format_and_newer_tables_are_refused_in_words(
    backup: Path, make: Make, whole: bytes
) -> None:
    def change(key: str, value: object) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
        def act(entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
            head = {**json.loads(entries[0][1]), key: value}
            data = json.dumps(head).encode()
            entries[0] = (entries[0][0], data)
            listed = json.loads(entries[-1][1])
            digest = hashlib.sha256(data).hexdigest()
            listed["entries"][0] |= {"size": len(data), "sha256": digest}
            entries[-1] = (entries[-1][0], json.dumps(listed).encode())

        return act

    server = make("new", "sqlite")
    repacked(backup, change("format", 99))
    assert b"format 99" in restore(server, backup).stderr
    backup.write_bytes(whole)
    repacked(backup, change("revision", "9999"))
    assert b"made by a newer Danlu" in restore(server, backup).stderr
    backup.write_bytes(whole)
    assert restore(server, backup, "--check").returncode == 0


def test_a_folder_in_use_is_left_alone_without_force_and_moved_aside_with_it(
    backup: Path, make: Make
) -> None:
    server = make("used", "sqlite").start()
    running = restore(server, backup, "--force")
    assert (running.returncode, b"danlu down" in running.stderr) == (2, True)
    job = Harness(server).run("echo here before", name="before")
    server.stop()
    before = snapshot(server.data)
    refused = restore(server, backup)
    assert (refused.returncode, b"not empty" in refused.stderr) == (2, True)
    assert snapshot(server.data) == before

    assert restore(server, backup, "--force").returncode == 0
    aside = next(server.data.glob("before-restore-*"))
    assert (aside / "danlu.db").exists()
    server.start()
    harness = Harness(server)
    assert [found["name"] for found in harness.get("/jobs")["jobs"]] == ["kept"]
    assert harness.http.get(f"/jobs/{job['id']}").status_code == 404


def test_tables_of_postgresql_are_moved_aside_with_force(
    backup: Path, make: Make, postgres: PostgresServer
) -> None:
    server = make("used", "postgresql").start()
    Harness(server).run("true", name="before")
    server.stop()
    shutil.rmtree(server.data)
    refused = restore(server, backup)
    assert (refused.returncode, b"not empty" in refused.stderr) == (2, True)
    assert restore(server, backup, "--force").returncode == 0
    server.start()
    assert [found["name"] for found in Harness(server).get("/jobs")["jobs"]] == ["kept"]


def test_homes_go_along_when_asked_for(backup: Path, make: Make) -> None:
    server = make("new", "sqlite")
    assert restore(server, backup).returncode == 0
    home = server.data / "home" / "somebody" / "deep"
    assert (home / "file.txt").read_text() == "mine"
    assert os.readlink(home / "link") == "/gdata/set"
    assert stat.S_IMODE((home / "script").stat().st_mode) == 0o751
    assert (server.data / "volumes/share/vision/data.txt").read_text() == "ours"


def test_a_folder_can_be_backed_up_without_a_server(make: Make, tmp_path: Path) -> None:
    server = make("stopped", "sqlite").start()
    Harness(server).run("echo kept", name="kept")
    server.stop()
    file = tmp_path / "offline.backup"
    folder = ("--data", str(server.data), "--config", str(server.config))
    done = server.cli("backup", str(file), *folder)
    assert done.returncode == 0, done.stderr
    looked = server.cli("restore", "--check", str(file))
    assert looked.returncode == 0
    assert b"1 job," in looked.stdout
    told = json.loads(server.cli("restore", "--check", str(file), "--json").stdout)
    assert (told["rows"]["jobs"], told["logs"], told["database"]) == (1, 1, "sqlite")
    again = server.cli("backup", str(tmp_path / "again.backup"), *folder, "--json")
    assert json.loads(again.stdout)["size"] == (tmp_path / "again.backup").stat().st_size
    nowhere = server.cli("backup", str(file), "--data", str(tmp_path / "nowhere"))
    assert nowhere.returncode == 2


def much_to_read(server: DanluServer) -> None:
    """Takes little room, and longer than any test."""
    folder = server.data / "home" / "somebody"
    folder.mkdir(parents=True)
    (folder / "data").write_bytes(os.urandom(1 << 20) * 32)
    for number in range(4000):
        os.link(folder / "data", folder / f"data {number}")


@pytest.mark.parametrize("how", ["by the server", "from the folder"])
def test_a_backup_that_is_ended_leaves_no_file(how: str, make: Make, tmp_path: Path) -> None:
    server = make("ended", "sqlite").start()
    much_to_read(server)
    command = [sys.executable, "-m", "danlu.cli", "backup", "--homes", str(tmp_path / "x.backup")]
    if how == "from the folder":
        command += ["--data", str(server.data), "--config", str(server.config)]
    with subprocess.Popen(command, env=server.env) as saving:
        eventually(lambda: list(tmp_path.glob("x.backup.part*")))
        saving.terminate()
        assert saving.wait(180) == 128 + 15
    assert list(tmp_path.glob("x.backup*")) == []


def test_a_backup_that_breaks_off_leaves_no_file(make: Make, tmp_path: Path) -> None:
    server = make("killed", "sqlite").start()
    much_to_read(server)
    target = tmp_path / "part.backup"
    command = [sys.executable, "-m", "danlu.cli", "backup", "--homes", str(target)]
    with subprocess.Popen(command, env=server.env, stderr=subprocess.PIPE) as saving:
        eventually(lambda: list(tmp_path.glob("part.backup.part*")))
        server.kill()
        assert saving.wait(180) != 0
    assert list(tmp_path.glob("part.backup*")) == []


def test_on_a_machine_without_settings_those_of_the_backup_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make
) -> None:
    folder = tmp_path / "machine"
    config = f'data = "{folder}/data"\n[defaults]\ncpus_per_gpu = 3\n'
    old = make("old", "sqlite")
    old.config.write_text(config)
    old.start()
    file = tmp_path / "with-settings.backup"
    assert old.cli("backup", str(file)).returncode == 0
    old.stop()

    usual = tmp_path / "etc" / "danlu.toml"
    for module in ("danlu.server.settings", "danlu.server.restore"):
        monkeypatch.setattr(f"{module}.usual_file", lambda: usual)
    monkeypatch.delenv("DANLU_CONFIG", raising=False)
    assert restore_here([str(file)]) == 0
    assert usual.read_text() == config
    assert stat.S_IMODE(usual.stat().st_mode) == 0o600
    assert (folder / "data" / "danlu.db").exists()
    # Once there are settings, they are left alone.
    again = [str(file), "--data", str(tmp_path / "second")]
    assert restore_here(again) == 0
    assert (tmp_path / "second" / "danlu.toml.from-backup").read_text() == config


def test_only_an_admin_gets_a_backup(make: Make, tmp_path: Path) -> None:
    server = make("guarded", "sqlite")
    server.config.write_text("[server]\ncircle_of_trust = true\n")
    server.start()
    member = PeopleHarness(Harness(server)).person()
    target = tmp_path / "stolen"
    done = server.cli("backup", str(target), env={"DANLU_TOKEN": member.token})
    assert done.returncode == 4
    assert list(tmp_path.glob("stolen*")) == []


def test_an_older_backup_is_brought_to_the_present_tables(make: Make, tmp_path: Path) -> None:
    """One of the first version, written by hand as that version would have."""
    from tests.server.older import first_version

    file = tmp_path / "older.backup"
    first_version(file)
    for kind in DATABASES:
        server = make(f"new-{kind}", kind)
        done = restore(server, file)
        assert done.returncode == 0, done.stderr
        server.start()
        harness = Harness(server)
        assert [job["ref"] for job in harness.get("/jobs")["jobs"]] == ["admin/old-1"]
