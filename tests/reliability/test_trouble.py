"""What may happen to a machine: the disk fills, the database goes away, a keeper is killed."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.local.keeper import record
from tests.reliability.conftest import SLOTS
from tests.support.disks import freezable_folder, immutable
from tests.support.postgres import PostgresServer
from tests.support.server import DanluServer

PATIENCE = 180  # only so that a broken server fails a test instead of hanging it
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk: needs root")


def refused(server: DanluServer) -> dict[str, Any]:
    """Submits until it is refused, and returns the error."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            server.submit(command="true")
        except urllib.error.HTTPError as error:
            assert error.code == 503
            found: dict[str, Any] = json.loads(error.read())["error"]
            return found
        time.sleep(0.1)
    raise AssertionError("new work was never refused")


def accepted(server: DanluServer) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return server.submit(command="echo back")
        except (OSError, ValueError):
            assert time.monotonic() < deadline, "it never recovered"
            time.sleep(0.2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


@needs_root
def test_a_full_disk_loses_no_status_marks_the_gap_and_refuses_new_work(small_disk: Path) -> None:
    server = DanluServer(small_disk / "data", SLOTS)
    server.log = small_disk.parent / "server.log"
    server.start()
    try:
        flag = small_disk.parent / "go"
        text = (
            f"echo before; while [ ! -e {flag} ]; do sleep 0.05; done; "
            "dd if=/dev/zero of=/userhome/mine bs=1M count=1 && echo wrote || echo own error; "
            "i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789; "
            f"i=$((i+1)); done; touch {flag}.printed; while [ ! -e {flag}.room ]; do sleep 0.05; "
            "done; echo after; exit 7"
        )
        job = server.submit(command=text)
        _wait_for_log(server, job, b"before")
        filler = small_disk / "filler"
        with filler.open("wb") as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        error = refused(server)
        assert "disk" in error["message_en"]
        assert "磁盘" in error["message_zh"]
        flag.touch()
        _wait_for_file(Path(f"{flag}.printed"))
        filler.unlink()
        Path(f"{flag}.room").touch()
        ended = server.wait(job)
        assert (ended["state"], ended["exit_code"]) == ("failed", 7)
        log = server.bytes_of(f"/jobs/{job['id']}/logs")
        assert log.startswith(b"before\n")
        assert b"No space left on device" in log or b"own error" in log or b"[danlu]" in log
        assert b"bytes of output were lost here" in log
        assert b"\nafter\n" in log
        assert server.wait(accepted(server))["state"] == "succeeded"
    finally:
        server.cleanup()


@needs_root
def test_a_read_only_database_is_told_and_recovers_by_itself(tmp_path: Path) -> None:
    with freezable_folder(tmp_path) as folder:
        config = f'[database]\nurl = "sqlite:///{folder}/danlu.db"\n{SLOTS}'
        server = DanluServer(tmp_path / "data", config).start()
        try:
            _freeze_and_thaw(server, folder / "danlu.db-wal", tmp_path / "go")
        finally:
            server.cleanup()


def _freeze_and_thaw(server: DanluServer, log: Path, flag: Path) -> None:
    job = server.submit(command=f"while [ ! -e {flag} ]; do sleep 0.05; done; echo done; exit 3")
    other = server.submit(
        command=f"while [ ! -e {flag} ]; do sleep 0.05; done; sleep 2; echo unharmed"
    )
    _until_on_disk(log.with_name("danlu.db"), job, "running")
    _until_on_disk(log.with_name("danlu.db"), other, "running")
    assert immutable("+", log)
    try:
        assert "not writable" in refused(server)["message_en"]
        flag.touch()
        time.sleep(1)
        assert server.get(f"/jobs/{job['id']}")["state"] == "running", "what is on disk is shown"
    finally:
        assert immutable("-", log)
    ended = server.wait(job)
    assert (ended["state"], ended["exit_code"]) == ("failed", 3)
    assert server.wait(other)["state"] == "succeeded"
    assert server.wait(accepted(server))["state"] == "succeeded"


def test_postgres_may_restart_under_the_server(tmp_path: Path, postgres: PostgresServer) -> None:
    config = f'[database]\nurl = "{postgres.url}"\n{SLOTS}'
    server = DanluServer(tmp_path / "data", config).start()
    try:
        running = server.submit(command="sleep 3; echo through; exit 4")
        acknowledged = [server.submit(command=f"echo {n}") for n in range(10)]
        postgres.restart()
        acknowledged.append(accepted(server))
        postgres.kill()
        time.sleep(1)
        with contextlib.suppress(OSError, ValueError):
            server.submit(command="true", name="lost")
        postgres.start()
        acknowledged.append(accepted(server))
        for job in acknowledged:
            assert server.wait(job)["state"] == "succeeded"
        ended = server.wait(running)
        assert (ended["state"], ended["exit_code"], ended["attempt"]) == ("failed", 4, 1)
        assert server.bytes_of(f"/jobs/{running['id']}/logs") == b"through\n"
    finally:
        server.cleanup()


def test_a_killed_keeper_ends_its_task_and_no_other(server: DanluServer, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    other = server.submit(command="sleep 4; echo unharmed")
    job = server.submit(command=f"echo x >> {pids}; sleep 1000", name="victim")
    _until_running(server, job)
    _wait_for_file(pids)
    os.kill(_keeper(server, job), 9)
    deadline = time.monotonic() + PATIENCE
    while server.get(f"/jobs/{job['id']}")["attempt"] < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    events = server.get(f"/jobs/{job['id']}/events")["events"]
    again = next(event for event in events if event["kind"] == "requeued")
    assert again["data"]["reason"] == "lost"
    server.post(f"/jobs/{job['id']}/stop", {"now": True})
    server.wait(job)
    ended = server.wait(other)
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)
    assert server.bytes_of(f"/jobs/{other['id']}/logs") == b"unharmed\n"


def test_a_second_server_on_the_same_data_is_refused(server: DanluServer) -> None:
    second = DanluServer(server.data)
    second.launch()
    assert second.process is not None
    assert second.process.wait(180) == 2
    assert "already running" in second.tail()


def _keeper(server: DanluServer, job: dict[str, Any]) -> int:
    attempt = server.get(f"/jobs/{job['id']}")["attempts"][-1]["id"]
    handle = os.open(server.data / "run" / attempt / "0.claim", os.O_RDONLY)
    try:
        claim = record.read(handle, record.CLAIM)
    finally:
        os.close(handle)
    assert claim is not None
    return int(claim["pid"])


def _until_running(server: DanluServer, job: dict[str, Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while server.get(f"/jobs/{job['id']}")["state"] != "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _until_on_disk(database: Path, job: dict[str, Any], state: str) -> None:
    deadline = time.monotonic() + PATIENCE
    with contextlib.closing(sqlite3.connect(database)) as connection:
        query = ("SELECT state FROM jobs WHERE id = ?", (job["id"],))
        while connection.execute(*query).fetchone() != (state,):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _wait_for_file(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.05)


def _wait_for_log(server: DanluServer, job: dict[str, Any], text: bytes) -> None:
    deadline = time.monotonic() + PATIENCE
    while text not in server.bytes_of(f"/jobs/{job['id']}/logs"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
