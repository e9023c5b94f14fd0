# ruff: noqa: ASYNC240 - a test may block its own loop
"""To open a device by any node of it, wherever that lies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.local.attempts import read_claim
from danlu.engines.local.keeper import device_rules
from tests.engines.conftest import engine_of
from tests.engines.harness import shell
from tests.security.conftest import EVE, Attacker, only_as_root


@pytest.fixture
def group() -> Iterator[Path]:
    """A group of cgroup v2, wherever that is mounted."""
    only_as_root()
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = [line.split()[4] for line in file if " - cgroup2 " in line]
    if not points:
        pytest.skip("cgroup v2 is not mounted here")
    folder = Path(points[0]) / f"danlu-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    folder.rmdir()


def openable(group: Path, *paths: str) -> list[str]:
    """What a process in the group can open."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        (group / "cgroup.procs").write_text("0")
        for path in paths:
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                os.write(writer, f"{path} ".encode())
            except PermissionError:
                pass
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with os.fdopen(reader) as file:
        return file.read().split()


def test_the_program_of_cgroup_v2_lets_only_the_listed_devices_through(group: Path) -> None:
    every = ("/dev/null", "/dev/urandom", "/dev/kmsg", "/dev/full")
    assert openable(group, *every) == list(every)
    folder = os.open(group, os.O_RDONLY)
    try:
        usual = device_rules.load(device_rules.USUAL)
    except OSError as error:
        pytest.skip(f"no programs for devices: {error}")
    device_rules.attach(usual, folder)
    assert openable(group, *every) == ["/dev/null", "/dev/urandom", "/dev/full"]
    rules = (*device_rules.USUAL, *device_rules.of(["/dev/kmsg"]))
    device_rules.attach(device_rules.load(rules), folder)
    assert openable(group, *every) == list(every)
    os.close(folder)


def test_folders_of_nodes_are_taken_with_all_that_is_in_them(tmp_path: Path) -> None:
    only_as_root()
    (tmp_path / "infiniband").mkdir()
    os.mknod(tmp_path / "infiniband" / "uverbs0", 0o020600, os.makedev(231, 192))
    (tmp_path / "infiniband" / "file").touch()
    found = device_rules.of([str(tmp_path / "infiniband"), str(tmp_path / "absent"), "/dev/null"])
    assert found == (("c", 231, 192), ("c", 1, 3))
    assert [device_rules.line(rule) for rule in found] == ["c 231:192 rw", "c 1:3 rw"]


async def test_a_task_is_in_a_group_that_lets_only_these_through(attacker: Attacker) -> None:
    abilities = engine_of(attacker.harness).abilities
    if abilities.cgroup != "v1" or "devices" not in abilities.controllers:
        pytest.skip(f"the devices controller of cgroup v1 is not here: {abilities.controllers}")
    attempt = await attacker.harness.begin(shell("echo ready; exec sleep 1000"), identity=EVE)
    await attacker.harness.printed(attempt, b"ready")
    found = read_claim(str(attacker.harness.data / "run" / attempt), 0)
    assert found is not None
    folder = next(path for path in found[0]["cgroups"] if os.path.exists(f"{path}/devices.list"))
    lines = Path(folder, "devices.list").read_text().splitlines()
    await attacker.harness.stop(attempt, 0)
    assert "c 1:3 rw" in lines
    assert all(line.startswith(("c 1:", "c 5:", "c 136:", "c 231:")) for line in lines)
