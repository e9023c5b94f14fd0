"""Images on a real Slurm, with the runtimes its nodes may have: each as the job's own user."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from danlu.engines.api import HostMount, Run, TaskRef
from tests.engines.conformance.talking import heard
from tests.engines.harness import JOB, eventually, shell, token
from tests.real.slurm.harness import SlurmHarness, engine_on
from tests.real.slurm.test_engine import SMALL, person
from tests.support.accounts import Account
from tests.support.containers import (
    BUSYBOX,
    ContainerDaemon,
    busybox_image,
    docker,
    rootless_podman,
)
from tests.support.slurm import Slurm

SECRET = "wrench-7-lantern"


class Site:
    """What a node has: a runtime, the command that reaches it, and an image."""

    def __init__(self, kind: str, who: Account) -> None:
        self.kind = kind
        self.who = who
        self.daemon: ContainerDaemon = docker() if kind == "docker" else rootless_podman(who.uid)
        self.daemon.start()
        self.daemon.import_image(BUSYBOX, busybox_image())
        if kind == "docker":
            os.chmod(self.daemon.socket, 0o666)  # as for members of the group docker
        self.program = self.daemon.folder / "program"
        words = " ".join(self.daemon.client_command())
        exports = "".join(f"export {name}={value}\n" for name, value in self.daemon.env.items())
        self.program.write_text(f'#!/bin/sh\n{exports}exec {words} "$@"\n')
        self.program.chmod(0o755)

    def containers(self) -> list[str]:
        return [each["Id"] for each in self.daemon.api().wire.call(
            "GET", "/containers/json?all=true")]  # fmt: skip


@pytest.fixture(scope="module", params=["podman", "docker"])
def site(request: pytest.FixtureRequest, shared_slurm: Slurm) -> Iterator[Site]:
    site = Site(request.param, shared_slurm.people["ann"])
    yield site
    site.daemon.remove()


@pytest.fixture
async def harness(slurm: Slurm, site: Site) -> AsyncIterator[SlurmHarness]:
    more = {"runtime": site.kind, "container_program": str(site.program)}
    harness = SlurmHarness(lambda data: engine_on(slurm, data, **more), slurm.fresh_folder())
    await harness.start()
    harness.every |= {"image": BUSYBOX}
    yield harness
    await harness.close()


async def test_a_command_runs_in_the_image_as_its_user(site: Site, harness: SlurmHarness) -> None:
    text = "echo $KEY $LR; readlink /bin/sh; pwd; touch made; echo more >&2; exit 3"
    task, log = await harness.run(
        shell(text),
        identity=person(site.who),
        resources=SMALL,
        env={"LR": "0.1"},
        secrets={"KEY": SECRET},
    )
    assert task.exit_code == 3, log
    lines = log.decode().splitlines()
    lines.remove("more")  # which a runtime carries apart from the rest
    assert lines[:3] == [f"{SECRET} 0.1", "busybox", str(site.who.home)]
    made = site.who.home / "made"
    assert (made.stat().st_uid, made.stat().st_gid) == (site.who.uid, site.who.gid)
    made.unlink()
    await eventually(lambda: not site.containers())


async def test_datasets_are_seen_beside_what_gdata_has(site: Site, harness: SlurmHarness) -> None:
    """/gdata is read-only and has no folder for them, and none is made in it."""
    gdata, first, second = (harness.outside / name for name in ("gdata", "one", "two"))
    for folder in (gdata / "sets", first, second):
        folder.mkdir(parents=True)
        (folder / "README").write_text(f"{folder.name}\n")
    (gdata / "notes.txt").write_text("notes\n")
    (gdata / "link").symlink_to("sets")
    mounts = (
        HostMount("gdata", str(gdata), "/gdata", read_only=True),
        HostMount("dataset one", str(first), "/gdata/one", read_only=True),
        HostMount("dataset two", str(second), "/gdata/sets/two", read_only=True),
    )
    text = (
        "cd /gdata; cat notes.txt one/README link/README sets/README sets/two/README; "
        "touch one/x 2>/dev/null || echo read-only; ls"
    )
    task, log = await harness.run(
        shell(text), identity=person(site.who), resources=SMALL, mounts=mounts
    )
    assert task.exit_code == 0, log
    seen = " ".join(log.decode().split())
    assert seen == "notes one sets sets two read-only link notes.txt one sets"
    assert sorted(os.listdir(gdata)) == ["link", "notes.txt", "sets"]
    assert os.listdir(gdata / "sets") == ["README"]


async def test_secrets_are_in_no_command_line_and_one_can_enter(
    site: Site, harness: SlurmHarness
) -> None:
    attempt = await harness.begin(
        shell("echo up; sleep 600"),
        identity=person(site.who),
        resources=SMALL,
        secrets={"KEY": SECRET},
    )
    await harness.printed(attempt, b"up")
    assert not _with_secret_among_their_words()
    duplex = await harness.engine.exec(
        TaskRef(attempt, 0, JOB), Run(("sh", "-c", "echo in $KEY; readlink /bin/sh"))
    )
    assert (await heard(duplex)).decode().split() == ["in", SECRET, "busybox"]
    await harness.stop(attempt, 0)
    await eventually(lambda: not site.containers())


async def test_a_stopped_job_leaves_no_container(site: Site, harness: SlurmHarness) -> None:
    name = token()
    text = f"trap '' TERM; (setsid sleep {name} &); sleep {name} & echo up; sleep {name}"
    attempt = await harness.begin(shell(text), identity=person(site.who), resources=SMALL)
    await harness.printed(attempt, b"up")
    await harness.until_alive(name)
    (task,) = await harness.stop(attempt, 0.2)
    assert task.exit_code == 137, task
    await harness.until_gone(name)
    await eventually(lambda: not site.containers())


async def test_a_killed_keeper_leaves_no_container(site: Site, harness: SlurmHarness) -> None:
    name = token()
    attempt = await harness.begin(
        shell(f"echo up; sleep {name}"), identity=person(site.who), resources=SMALL
    )
    await harness.printed(attempt, b"up")
    for pid in _keepers(site.who.uid):
        os.kill(pid, signal.SIGKILL)
    await harness.ended(attempt)
    await harness.until_gone(name)
    await eventually(lambda: not site.containers())


async def test_an_image_that_is_nowhere_is_told_so(site: Site, harness: SlurmHarness) -> None:
    task, log = await harness.run(
        shell("true"), identity=person(site.who), resources=SMALL, image="localhost:1/no/such:1"
    )
    assert task.exit_code == 125
    assert task.hint in ("image_failed", "image_not_found")
    assert "no/such:1" in task.detail
    assert b"no/such:1" in log


def _with_secret_among_their_words() -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if SECRET.encode() in words:
            found.append(words)
    return found


def _keepers(uid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            status = path.with_name("status").read_text()
            if path.read_text().strip() == "danlu-keeper" and f"Uid:\t{uid}\t" in status:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
