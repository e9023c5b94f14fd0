"""An image of one's own, as guide 001 prints the way: a Dockerfile, our registry, a job.

Replaced are hosts, people and the names of images, by pattern. The image that is built upon is a
real Debian with pip in a registry of the test's own, which stands for the world's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PASSWORD, PeopleHarness
from tests.cli.person import Terminal
from tests.containers.conftest import docker_daemon  # noqa: F401
from tests.dialects.harness import ShimHarness
from tests.dialects.printed import Guide, commands
from tests.support.containers import ContainerDaemon
from tests.support.debian import debian
from tests.support.folders import let_in
from tests.support.registry import Registry
from tests.support.retrying import until_it_works
from tests.support.server import DanluServer, free_port

LAB = """
[engine]
containers = "docker"
container_socket = "{socket}"

[registry]
port = {port}
free = "100M"
"""
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
BUILDING = 600


@pytest.fixture(scope="module")
def guide() -> Guide:
    return Guide("001")


@pytest.fixture(scope="module")
def world(
    guide: Guide,
    docker_daemon: ContainerDaemon,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Registry]:
    """Has the image that the guide pulls."""
    files = debian(tmp_path_factory.mktemp("debian") / "files.tar", "python3-pip")
    registry = Registry()
    _, _, name = _pulled(guide).partition("/")
    registry.add(name.partition(":")[0], [files], tag=name.partition(":")[2])
    yield registry.start()
    registry.remove()


@pytest.fixture
def shim_harness(
    docker_daemon: ContainerDaemon,  # noqa: F811
    tmp_path: Path,
) -> Iterator[ShimHarness]:
    let_in(tmp_path)
    text = LAB.format(socket=docker_daemon.socket, port=free_port())
    server = DanluServer(tmp_path / "data", text).start()
    (tmp_path / "desk").mkdir()
    shim_harness = ShimHarness(server, let_in(tmp_path / "desk"))
    (shim_harness.bin / "docker").symlink_to(docker_daemon.client_command()[0])
    yield shim_harness
    server.cleanup()


def _pulled(guide: Guide) -> str:
    """The image that comes from elsewhere."""
    (found,) = re.findall(r"^docker pull (\S+)$", guide.block("docker pull"), re.MULTILINE)
    return str(found)


def test_an_image_is_built_pushed_to_our_registry_and_jobs_run_in_it(
    shim_harness: ShimHarness,
    guide: Guide,
    world: Registry,
    docker_daemon: ContainerDaemon,  # noqa: F811
) -> None:
    env = {
        "DOCKER_HOST": f"unix://{docker_daemon.socket}",
        "DOCKER_CONFIG": str(shim_harness.folder / ".docker"),
        "DOCKER_BUILDKIT": "0",
    }

    people_harness = PeopleHarness(Harness(shim_harness.server))
    person_here, host = people_harness.person(), shim_harness.server.images
    (login,) = commands(guide.block("docker login"))
    login = re.sub(r"login \S+( +-u +)\S+", rf"login {host}\g<1>{person_here.name}", login)
    with Terminal("bash", "-c", login, env={**shim_harness.env, **env}) as person:
        person.read_until("Password: ")
        person.type(f"{PASSWORD}\n")
        assert person.end() == 0, person.seen

    pull, tag, push = commands(guide.block("docker pull"))
    _, _, name = _pulled(guide).partition("/")
    elsewhere = f"{world.host}/{name}"
    short = f"{person_here.name}/{push.rpartition('/')[2].lower()}"
    ours = f"{host}/{short}"
    done = shim_harness.shell(pull.replace(_pulled(guide), elsewhere), env=env, patience=BUILDING)
    assert done.returncode == 0, done.stderr

    (shim_harness.folder / "image").mkdir()
    text = guide.block("FROM ", "openssh-server")
    text, times = re.subn(r"(?m)^(FROM )\S+$", rf"\g<1>{elsewhere}", text)
    assert times == 1
    shim_harness.file("image/Dockerfile", text)
    proxies = " ".join(f"--build-arg {name}" for name in PROXIES if name in os.environ)
    build = f"docker build --network host {proxies} -t {elsewhere} image"
    # Its steps fetch packages; those that were done are kept for the next try.
    done = until_it_works(lambda: shim_harness.shell(build, env=env, patience=BUILDING))
    assert done.returncode == 0, done.stdout + done.stderr

    for line in (tag, push):
        line = line.replace(_pulled(guide), elsewhere).replace(push.split()[-1], ours)
        done = shim_harness.shell(line, env=env, patience=BUILDING)
        assert done.returncode == 0, done.stderr
    docker_daemon.drop_image(ours)
    assert not docker_daemon.has_image(ours)

    who = {"DANLU_TOKEN": person_here.token}
    assert ours in shim_harness.danlu("image", "list", env=who).stdout
    script = "grep ^PasswordAuthentication /etc/ssh/sshd_config; command -v sudo; ls /usr/sbin/sshd"
    done = shim_harness.danlu("run", "--image", ours, "--", "sh", "-c", script, env=who)
    assert done.stdout.splitlines() == [
        "PasswordAuthentication yes",
        "/usr/bin/sudo",
        "/usr/sbin/sshd",
    ], done.stderr
    done = shim_harness.danlu(
        "run", "--image", short, "--", "python3", "-c", "import ipykernel; print('there')", env=who
    )
    assert (done.returncode, done.stdout) == (0, "there\n"), done.stderr
    people_harness.close()
