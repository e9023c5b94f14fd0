"""Docker, Podman and skopeo, as `danlu registry` tells people to use them."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.people_harness import PASSWORD, Someone
from tests.registry.conftest import World
from tests.support import containers
from tests.support.containers import BUSYBOX, ContainerDaemon, busybox_image
from tests.support.images import push_small, pusher
from tests.support.parts import need
from tests.support.server import PATIENCE

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(scope="module")
def docker() -> Iterator[ContainerDaemon]:
    yield from _running(containers.docker())


@pytest.fixture(scope="module")
def podman() -> Iterator[ContainerDaemon]:
    yield from _running(containers.podman())


def _running(daemon: ContainerDaemon) -> Iterator[ContainerDaemon]:
    try:
        daemon.start()
        daemon.import_image(BUSYBOX, busybox_image())
        yield daemon
    finally:
        daemon.remove()


def good(done: subprocess.CompletedProcess[bytes]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.decode()


def test_docker_as_the_command_line_prints_it(
    world: World, docker: ContainerDaemon, repository: str
) -> None:
    env = {"DANLU_TOKEN": world.alice.token}
    told = good(world.server.cli("registry", env=env))
    host, name = world.server.images, world.alice.name
    login, tag, push = re.findall(r"^  docker (\w.*)$", told, re.MULTILINE)
    assert login == f"login -u {name} {host}"
    assert push == f"push {host}/{name}/x:1"
    wrong = docker.client(*login.split(), "--password-stdin", input=b"wrong")
    assert wrong.returncode != 0
    good(docker.client(*login.split(), "--password-stdin", input=PASSWORD.encode()))
    good(docker.client("tag", BUSYBOX, "x:1"))
    good(docker.client(*tag.split()))
    good(docker.client(*push.split()))
    image = f"{host}/{name}/x:1"
    docker.drop_image(image)
    docker.drop_image("x:1")
    docker.drop_image(BUSYBOX)
    good(docker.client("pull", image))
    assert docker.has_image(image)
    docker.api().wire.call("POST", f"/images/{image}/tag?repo=danlu-busybox&tag=1")
    listed = good(world.server.cli("registry", "list", f"{name}/x", env=env))
    assert "1" in listed.split()
    assert f"{name}/x" in good(world.server.cli("registry", "list", env=env))
    other = {"DANLU_TOKEN": world.bob.token}
    for words in (("list", f"{name}/x"), ("delete", "-y", f"{name}/x:1")):
        refused = world.server.cli("registry", *words, env=other)
        assert refused.returncode != 0 and b"There is no repository" in refused.stderr
    good(world.server.cli("registry", "delete", "-y", f"{host}/{name}/x:1", env=env))
    assert "Freed" in good(world.server.cli("registry", "gc"))
    assert world.server.cli("registry", "gc", env=env).returncode != 0
    assert world.server.cli("registry", "gc", "--grace", "soon").returncode == 2
    gone = docker.client("pull", image)
    assert gone.returncode != 0 and b"manifest" in gone.stderr


def sign_in(daemon: ContainerDaemon, world: World, who: Someone) -> None:
    words = ["login", "-u", who.name, "--password-stdin"]
    if daemon.kind == "podman":
        words.append("--tls-verify=false")
    good(daemon.client(*words, world.server.images, input=PASSWORD.encode()))


def test_docker_mounts_layers_of_another_repository(world: World, docker: ContainerDaemon) -> None:
    sign_in(docker, world, world.alice)
    host, name = world.server.images, world.alice.name
    first, second = f"{host}/{name}/base:1", f"{host}/share/{world.group}/base:1"
    for image in (first, second):
        good(docker.client("tag", BUSYBOX, image))
    good(docker.client("push", first))
    assert b"Mounted from" in docker.client("push", second).stdout


def test_docker_tells_whoever_may_not(world: World, docker: ContainerDaemon) -> None:
    host = world.server.images
    mine = f"{host}/{world.alice.name}/private:1"
    sign_in(docker, world, world.alice)
    good(docker.client("tag", BUSYBOX, mine))
    good(docker.client("push", mine))
    sign_in(docker, world, world.bob)
    docker.drop_image(mine)
    pulled = docker.client("pull", mine)
    assert pulled.returncode != 0 and b"denied" in pulled.stderr
    good(docker.client("tag", BUSYBOX, mine))
    pushed = docker.client("push", mine)
    assert pushed.returncode != 0
    assert f"{world.bob.name} is not allowed to pull and push".encode() in pushed.stderr


def test_docker_tells_of_a_full_quota(
    world: World, docker: ContainerDaemon, tmp_path: Path
) -> None:
    sign_in(docker, world, world.frugal)
    image = f"{world.server.images}/{world.frugal.name}/large:1"
    docker.import_image("large:1", _noise(6 << 20))
    good(docker.client("tag", "large:1", image))
    pushed = docker.client("push", image)
    assert pushed.returncode != 0
    assert b"danlu registry delete" in pushed.stderr + pushed.stdout
    sign_in(docker, world, world.alice)


def _noise(size: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo("noise")
        entry.size = size
        tar.addfile(entry, io.BytesIO(os.urandom(size)))
    return out.getvalue()


def test_podman_pushes_and_pulls(world: World, podman: ContainerDaemon) -> None:
    sign_in(podman, world, world.alice)
    image = f"{world.server.images}/{world.alice.name}/from-podman:1"
    good(podman.client("tag", f"localhost/{BUSYBOX}", image))
    good(podman.client("push", "--tls-verify=false", image))
    podman.drop_image(image)
    good(podman.client("pull", "--tls-verify=false", image))
    assert podman.has_image(image)
    sign_in(podman, world, world.bob)
    refused = podman.client("pull", "--tls-verify=false", image.replace("from-podman", "other"))
    assert refused.returncode != 0


def test_skopeo_copies_inspects_and_deletes(world: World, repository: str, tmp_path: Path) -> None:
    skopeo = need("skopeo")
    host = world.server.images

    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        policy = tmp_path / "policy.json"
        policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        command = [skopeo, "--policy", str(policy), *words]
        return subprocess.run(command, check=False, capture_output=True, timeout=PATIENCE)

    with pusher(world.server, world.alice.name, PASSWORD, repository) as client:
        push_small(client, repository)
    who = f"{world.alice.name}:{PASSWORD}"
    source, there = f"docker://{host}/{repository}:1", f"docker://{host}/{repository}:2"
    good(run("copy", "--src-tls-verify=false", "--src-creds", who, source, f"oci:{tmp_path}/x:1"))
    words = ("copy", "--dest-tls-verify=false", "--dest-creds", who)
    good(run(*words, f"oci:{tmp_path}/x:1", there))
    found = good(run("inspect", "--tls-verify=false", "--creds", who, there))
    assert '"RepoTags": [' in found
    other = f"{world.bob.name}:{PASSWORD}"
    assert run("inspect", "--tls-verify=false", "--creds", other, there).returncode != 0
    assert run("delete", "--tls-verify=false", "--creds", other, there).returncode != 0
    good(run("delete", "--tls-verify=false", "--creds", who, there))
    assert run("inspect", "--tls-verify=false", "--creds", who, there).returncode != 0
