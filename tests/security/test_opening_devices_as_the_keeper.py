"""To have a keeper open a device for an image, while no device cgroup limits it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.local.container.enter import DeviceGroup, _cgroup_mounts, _cgroups
from tests.engines.conftest import engine_of
from tests.engines.harness import shell
from tests.security.conftest import EVE, Attacker, only_as_root
from tests.security.opened import calls_of, traced
from tests.support.containers import ContainerDaemon

_CALLS = "write,setns,openat,openat2,clone,clone3,fork,vfork"
_LIMITS = re.compile(r'^\d+ +write\(\d+<(/[^>]*)/cgroup\.procs>, "0", 1\) += 1$')

_OPEN = """
import sys
from danlu.engines.local.container.enter import Container
try:
    Container(int(sys.argv[1]), sys.argv[2])
except OSError as error:
    print(error)
else:
    print("went on")
"""


def limiting() -> str:
    """The controller that limits devices."""
    return "devices" if "devices" in _cgroups("self") else ""


def folder_of(pid: int | str) -> str:
    return _cgroups(pid)[limiting()]


def open_without_writing(pid: int, name: str) -> str:
    """What opening a container says where cgroups can only be read."""
    read_only = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    _, point = _cgroup_mounts()[limiting()]
    python = [sys.executable, "-c", _OPEN, str(pid), name]
    command = ["unshare", "--mount", "sh", "-c", read_only, point, *python]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


async def a_container(contained: Attacker, daemon: ContainerDaemon) -> tuple[int, str, str]:
    """The pid of a task's container, its name, and its device cgroup."""
    attempt = await contained.harness.begin(
        shell("echo ready; exec sleep 1000"), identity=EVE, mounts=contained.mounts
    )
    await contained.harness.printed(attempt, b"ready")
    found = daemon.api().wire.call("GET", "/containers/json")
    assert len(found) == 1
    looked = daemon.api().look(found[0]["Id"])
    pid = int(looked["State"]["Pid"])
    return pid, str(looked["Name"]).lstrip("/"), folder_of(pid)


async def test_a_keeper_is_limited_while_it_handles_what_the_image_brought(
    contained: Attacker, daemon: ContainerDaemon, tmp_path: Path
) -> None:
    spawner = engine_of(contained.harness)._spawner.pid
    assert spawner is not None
    with traced(spawner, tmp_path / "trace", _CALLS):
        _, _, theirs = await a_container(contained, daemon)
    assert theirs != folder_of(spawner)
    calls = list(calls_of(tmp_path / "trace"))
    [keeper] = {pid for pid, line in calls if " setns(" in line and "mnt:" in line}
    group, handled = "", {"setns": 0, "passwd": 0}
    for line in [line for pid, line in calls if pid == keeper]:
        if (entered := _LIMITS.match(line)) is not None:
            group = entered[1]
        elif " setns(" in line:
            assert group == theirs, line
            handled["setns"] += 1
        elif handled["setns"] and '"passwd"' in line:
            assert group == theirs, line
            handled["passwd"] += 1
    assert all(handled.values()), handled
    assert group == folder_of(spawner), "it left again, or it would end with the container"


async def test_a_container_whose_limits_a_keeper_may_not_enter_is_not_used(
    contained: Attacker, daemon: ContainerDaemon
) -> None:
    pid, name, _ = await a_container(contained, daemon)
    said = await asyncio.to_thread(open_without_writing, pid, name)
    assert "cannot enter the container's device cgroup: Read-only file system" in said


@pytest.fixture
def folder() -> Iterator[str]:
    """A cgroup; whoever is left in it goes back."""
    only_as_root()
    own = folder_of("self")
    made = Path(own, f"danlu-test-{os.getpid()}")
    try:
        made.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error.strerror}")
    yield str(made)
    if made.exists():
        Path(own, "cgroup.procs").write_text("0")
        made.rmdir()


def test_whoever_enters_is_in_the_group_until_leaving(folder: str) -> None:
    own = folder_of("self")
    group = DeviceGroup(folder, own, must=True)
    group.enter()
    assert folder_of("self") == folder
    group.leave()
    assert folder_of("self") == own


@pytest.mark.parametrize("when", ["before it is opened", "before it is entered"])
def test_a_group_that_cannot_be_entered_is_an_error_for_root_only(folder: str, when: str) -> None:
    own = folder_of("self")

    def enter(must: bool) -> None:
        Path(folder).mkdir(exist_ok=True)
        if when == "before it is opened":
            Path(folder).rmdir()
        group = DeviceGroup(folder, own, must)
        if when == "before it is entered":
            Path(folder).rmdir()
        group.enter()

    with pytest.raises(OSError, match="cannot enter the container's device cgroup"):
        enter(must=True)
    enter(must=False)
    assert folder_of("self") == own


def test_a_container_without_a_group_of_its_own_needs_none() -> None:
    own = folder_of("self")
    for theirs in ("", own):
        DeviceGroup(theirs, own, must=True).enter()
    assert folder_of("self") == own
