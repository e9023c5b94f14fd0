"""Environments in images that have nothing for it: the tools come from the tree."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.engines.api import HostMount, Identity, Run, TaskRef
from danlu.spec.job import Command, RunAs
from tests.containers import harnesses
from tests.containers.conftest import docker_daemon, podman_daemon, registry
from tests.engines.conformance.talking import heard
from tests.engines.harness import JOB, EngineHarness
from tests.engines.local_harness import LocalHarness
from tests.inside.client import Lab, ask, bridge
from tests.support.containers import BUSYBOX, IMAGE, ContainerDaemon
from tests.support.debian import debian
from tests.support.parts import need
from tests.support.tools import give, tools_tree

__all__ = ["docker_daemon", "podman_daemon", "registry"]

ENVIRONMENT = Command(RunAs.TOOL, ("environment",))
STRANGER = Identity("stranger", uid=12345, gid=12345)
DEBIAN, MUSL = "danlu-debian:1", "danlu-musl:1"


@pytest.fixture(scope="session")
def with_debian(docker_daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Debian with Python, as people's images have it."""
    file = tmp_path_factory.mktemp("debian") / "debian.tar"
    docker_daemon.import_image(DEBIAN, debian(file, "ca-certificates", "python3").read_bytes())
    return DEBIAN


@pytest.fixture(scope="session")
def with_musl(docker_daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another C library, and a program that needs it."""
    folder = tmp_path_factory.mktemp("musl")
    (folder / "hello.c").write_text(
        '#include <stdio.h>\nint main(void) { puts("hello from musl"); return 0; }\n'
    )
    program = folder / "hello"
    words = [need("musl-gcc", "musl-tools"), "-o", program, folder / "hello.c"]
    subprocess.run(words, check=True)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as image:
        image.add(program, "bin/hello")
        image.add(Path("/usr/lib/x86_64-linux-musl/libc.so").resolve(), "lib/ld-musl-x86_64.so.1")
    docker_daemon.import_image(MUSL, data.getvalue())
    return MUSL


@pytest.fixture
async def harness(docker_daemon: ContainerDaemon, tmp_path: Path) -> AsyncIterator[EngineHarness]:
    harness = LocalHarness(harnesses.maker(docker_daemon), tmp_path)
    give(harness.data, tools_tree())
    await harness.start()
    yield harness
    await harness.close()


async def begun(harness: EngineHarness, image: str) -> TaskRef:
    """As a user that no image knows, who owns nothing in it but the home."""
    home = harness.outside / "home"
    home.mkdir(exist_ok=True)
    home.chmod(0o777)
    mounts = (HostMount("userhome", str(home), "/userhome"),)
    attempt = await harness.begin(
        ENVIRONMENT, tools=True, image=image, mounts=mounts, identity=STRANGER
    )
    return TaskRef(attempt, 0, JOB)


async def said(harness: EngineHarness, task: TaskRef, line: str) -> str:
    """What a shell in the task says, as over SSH."""
    return (await heard(await harness.engine.exec(task, Run((line,), shell=True)))).decode()


async def lab_runs(harness: EngineHarness, task: TaskRef, code: str, folder: Path) -> str:
    answer = await ask(harness.engine, task, start="lab")
    assert answer.get("ready"), (answer, await harness.output(task.attempt_id))
    async with bridge(harness.engine, task, answer["socket"], folder) as here:
        lab = Lab(here)
        return await lab.run((await lab.kernels())["default"], code)


async def code_answers(harness: EngineHarness, task: TaskRef, folder: Path) -> None:
    answer = await ask(harness.engine, task, start="code")
    assert answer.get("ready"), (answer, await harness.output(task.attempt_id))
    async with bridge(harness.engine, task, answer["socket"], folder) as here:
        page = await Lab(here).http.get("/", follow_redirects=True)
        assert page.status_code == 200 and "workbench" in page.text


@pytest.mark.slow
async def test_the_images_own_python_is_the_kernel(
    harness: EngineHarness, with_debian: str, tmp_path: Path
) -> None:
    task = await begun(harness, with_debian)
    code = "import sys, os; print(sys.executable, os.getuid(), sys.version_info[:2])"
    printed = await lab_runs(harness, task, code, tmp_path)
    assert printed.split()[:2] == ["/usr/bin/python3", "12345"]
    await code_answers(harness, task, tmp_path)
    assert "/opt/danlu" not in (await said(harness, task, "command -v sh ls cat")).split()[0]


@pytest.mark.slow
@pytest.mark.parametrize("image", [BUSYBOX, IMAGE])
async def test_an_image_without_a_c_library_or_a_python(
    harness: EngineHarness, image: str, tmp_path: Path
) -> None:
    task = await begun(harness, image)
    printed = await lab_runs(harness, task, "import os; print(os.getuid())", tmp_path)
    assert printed == "12345\n"
    await code_answers(harness, task, tmp_path)
    git = "cd && git init -q x && cd x && git -c user.name=a -c user.email=b commit -q "
    git += "--allow-empty -m first && git log --format=%s"
    assert await said(harness, task, git) == "first\n"
    assert "rsync" in await said(harness, task, "rsync --version")
    assert await said(harness, task, "touch /opt/danlu/x 2>&1; touch $DANLU_RUN/y") != ""


@pytest.mark.slow
async def test_an_image_with_another_c_library(
    harness: EngineHarness, with_musl: str, tmp_path: Path
) -> None:
    task = await begun(harness, with_musl)
    code = "import subprocess; print(subprocess.check_output('/bin/hello').decode())"
    assert "hello from musl" in await lab_runs(harness, task, code, tmp_path)
    await code_answers(harness, task, tmp_path)
    assert await said(harness, task, "hello") == "hello from musl\n"
