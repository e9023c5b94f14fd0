"""A data disk without a free byte: jobs end and can be stopped, and everybody knows why."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.conftest import SLOTS
from tests.support.server import DanluServer

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk, which needs root")
FEW_SECONDS = 20
LOW = """
[limits]
homes_free = "40M"
"""


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    if request.param == "tmpfs":
        mount = ["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", str(place)]
    else:
        image = tmp_path / "image"
        with image.open("wb") as file:
            file.truncate(160 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
        mount = ["mount", "-o", "loop", str(image), str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount a {request.param} here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.fixture
def server(disk: Path) -> Iterator[DanluServer]:
    server = DanluServer(disk / "data", SLOTS)
    server.log = disk.parent / "server.log"
    server.start()
    yield server
    server.cleanup()


def fill(disk: Path) -> Path:
    """To the last byte, as a runaway job would."""
    filler = disk / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for size in (1 << 20, 1 << 12, 1):
            while True:
                try:
                    os.write(descriptor, bytes(size))
                except OSError as error:
                    assert error.errno == errno.ENOSPC
                    break
    finally:
        os.close(descriptor)
    return filler


def danlu(server: DanluServer, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**server.env, "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, "-m", "danlu.cli", *words],
        capture_output=True,
        text=True,
        env=env,
        cwd=server.data.parent.parent,
        timeout=FEW_SECONDS,
        check=False,
    )


def test_jobs_end_and_are_stopped_without_a_free_byte(server: DanluServer, disk: Path) -> None:
    flag = disk.parent / "go"
    short = server.submit(command=f"while [ ! -e {flag} ]; do sleep 0.05; done; exit 7")
    endless = server.submit(command="sleep 1000")
    jobs = [server.submit(command=f"while [ ! -e {flag} ]; do sleep 0.05; done") for _ in range(20)]
    for job in (short, endless):
        _until_running(server, job)
    fill(disk)
    flag.touch()
    stopped = danlu(server, "stop", endless["ref"])
    assert stopped.returncode == 0, stopped.stderr
    waited = danlu(server, "wait", short["ref"], endless["ref"])
    assert waited.returncode != 0
    assert server.get(f"/jobs/{short['id']}")["exit_code"] == 7
    assert server.get(f"/jobs/{endless['id']}")["state"] == "stopped"
    for job in jobs:
        assert server.wait(job)["state"] == "succeeded"


def test_every_answer_says_since_when_the_disk_is_full(server: DanluServer, disk: Path) -> None:
    assert "full" not in danlu(server, "jobs").stderr
    before = time.time()
    filler = fill(disk)
    since = _full_since(server)
    assert before - 1 <= since <= time.time()
    for words in (["jobs"], ["nodes"], ["run", "--", "true"]):
        answer = danlu(server, *words)
        assert "disk has been full since" in answer.stderr, words
    refused = danlu(server, "--lang", "zh", "submit", "--", "true")
    assert refused.returncode != 0
    assert "磁盘自" in refused.stderr
    filler.unlink()
    deadline = time.monotonic() + FEW_SECONDS
    while danlu(server, "jobs").stderr:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert server.get("/server")["disk_full_since"] is None
    assert danlu(server, "run", "--", "true").returncode == 0


@pytest.fixture
def roomy(disk: Path) -> Iterator[DanluServer]:
    """A server whose homes should leave 40 MB."""
    server = DanluServer(disk / "data", SLOTS + LOW)
    server.log = disk.parent / "server.log"
    server.start()
    yield server
    server.cleanup()


def test_everybody_is_warned_before_the_disk_is_full(roomy: DanluServer, disk: Path) -> None:
    assert "almost full" not in danlu(roomy, "jobs").stderr
    assert roomy.get("/server")["disk_low_since"] is None
    before = time.time()
    filler = disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(disk).free - (20 << 20)))
    info = _when_low(roomy)
    assert before - 1 <= info["disk_low_since"] <= time.time()
    assert (10 << 20) < info["disk_free"] < (40 << 20)
    assert info["disk_full_since"] is None
    for words in (["jobs"], ["cluster"], ["run", "--", "true"]):
        answer = danlu(roomy, *words)
        assert answer.returncode == 0, "jobs are still accepted"
        assert "disk has been almost full since" in answer.stderr, words
        assert re.search(r"[\d.]+ ?M\w* left", answer.stderr), words
    assert "起快满了" in danlu(roomy, "--lang", "zh", "jobs").stderr
    fill(disk)
    _full_since(roomy)
    assert "almost full" not in danlu(roomy, "jobs").stderr, "full says more"
    filler.unlink()
    deadline = time.monotonic() + FEW_SECONDS
    while danlu(roomy, "jobs").stderr:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert roomy.get("/server")["disk_free"] is None


def test_jobs_that_write_are_told_once_and_the_admin_sees_whose(
    roomy: DanluServer, disk: Path
) -> None:
    if f" {disk} tmpfs " in Path("/proc/mounts").read_text():
        pytest.skip("a tmpfs counts no writes")
    count = (shutil.disk_usage(disk).free >> 20) - 25
    still = roomy.submit(command="sleep 1000")
    writing = roomy.submit(
        command=f"dd if=/dev/zero of=big bs=1M count={count} && sleep 1000", workdir="/userhome"
    )
    for job in (still, writing):
        _until_running(roomy, job)
    _when_low(roomy)
    deadline = time.monotonic() + FEW_SECONDS
    while not (told := _told(roomy, writing)):
        assert time.monotonic() < deadline, "nobody told the job"
        time.sleep(0.2)
    assert told[0]["data"]["written"] >= count << 19  # it may still be writing
    assert "disk is almost full" in told[0]["en"]
    assert "磁盘快满了" in told[0]["zh"]
    (writer,) = roomy.get("/cluster")["disk_writers"]
    assert writer["written"] >= count << 19
    assert writer["jobs"] == 1
    assert f"{writer['user']} has 1 running job that wrote" in danlu(roomy, "cluster").stdout
    time.sleep(3)  # longer than between two looks
    assert len(_told(roomy, writing)) == 1
    assert not _told(roomy, still)


def _told(server: DanluServer, job: dict[str, Any]) -> list[dict[str, Any]]:
    found = server.get(f"/jobs/{job['id']}/events")["events"]
    return [event for event in found if event["kind"] == "disk_low"]


def _when_low(server: DanluServer) -> dict[str, Any]:
    deadline = time.monotonic() + FEW_SECONDS
    while (info := server.get("/server"))["disk_low_since"] is None:
        assert time.monotonic() < deadline, "nobody noticed"
        time.sleep(0.1)
    return dict(info)


def _full_since(server: DanluServer) -> float:
    deadline = time.monotonic() + FEW_SECONDS
    while (since := server.get("/server")["disk_full_since"]) is None:
        assert time.monotonic() < deadline, "nobody noticed"
        time.sleep(0.1)
    return float(since)


def _until_running(server: DanluServer, job: dict[str, object]) -> None:
    deadline = time.monotonic() + FEW_SECONDS
    while server.get(f"/jobs/{job['id']}")["state"] != "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)
