"""Large images with Docker, Podman and skopeo while garbage is collected and others push.

`DANLU_TEST_LARGE=5G` makes the largest layer as large as that, which takes 25 GB of disk; by
default it is small. With `-s`, each step tells how long it took.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from danlu.spec.units import parse_size
from tests.api.people_harness import PASSWORD, Someone
from tests.registry.conftest import CONFIG, World, unreadable_python
from tests.support import containers
from tests.support.containers import ContainerDaemon
from tests.support.images import push_small, pusher
from tests.support.layouts import Layout, random_image
from tests.support.parts import need
from tests.support.server import PATIENCE, DanluServer, free_port

SIZE = parse_size(os.environ.get("DANLU_TEST_LARGE", "40M"))
SECONDS = PATIENCE + SIZE / 1e6  # for one step, on a slow and busy machine
GRACE = 10.0
"""Longer than a client takes from its last layer to the manifest."""
NOT_YOURS = ("denied", "may not", "unauthorized", "Forbidden")
MOST_MEMORY = 120  # MB, of the registry's process
Done = subprocess.CompletedProcess[bytes]


class Busy:
    """Small images come and go, and garbage is collected all the time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._over = threading.Event()
        self.freed = self.pushed = 0
        self.broken: list[BaseException] = []
        self._threads = [threading.Thread(target=self._often, args=(act,)) for act in (
            self._push, self._collect,
        )]  # fmt: skip

    def __enter__(self) -> Busy:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for each in self._threads:
            each.join()

    def _often(self, act: Callable[[], None]) -> None:
        try:
            while not self._over.wait(0.2):
                act()
        except BaseException as trouble:
            self.broken.append(trouble)

    def _push(self) -> None:
        who, repository = self._world.bob, f"{self._world.bob.name}/small"
        with pusher(self._world.server, who.name, PASSWORD, repository) as client:
            digest = push_small(client, repository)
            client.manifest(repository, "1")
        with self._world.api(who, repository) as api:
            assert api.delete(f"/{repository}/manifests/{digest}").status_code == 202
        self.pushed += 1

    def _collect(self) -> None:
        self.freed += self._world.server.post("/registry/collect", {"grace": GRACE})["bytes"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("large")
    env = unreadable_python(folder / "python")
    server = DanluServer(folder / "data", CONFIG.format(port=free_port()), extra_env=env)
    server.start()
    world = World(server)
    yield world
    world.close()
    server.cleanup()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    layout = random_image(tmp_path_factory.mktemp("image") / "x", SIZE, SIZE // 10, 1 << 20)
    yield layout
    for each in (layout.folder / "blobs/sha256").iterdir():
        each.unlink()


@pytest.fixture(scope="module")
def busy(world: World) -> Iterator[Busy]:
    with Busy(world) as busy:
        yield busy


def good(done: Done) -> None:
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]


def refused(done: Done, *words: str) -> None:
    told = (done.stdout + done.stderr).decode()
    assert done.returncode != 0, told[-2000:]
    assert any(word in told for word in words), told[-2000:]


@contextmanager
def step(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.1f} s", flush=True)


class _Client:
    """One of the three. Each step is what a person types."""

    def __init__(self, world: World, image: Layout, folder: Path) -> None:
        self.world, self.image, self.folder = world, image, folder
        policy = folder / "policy.json"
        policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        self._skopeo = [need("skopeo"), "--policy", str(policy)]

    def skopeo(self, *words: str) -> Done:
        env = os.environ | {"TMPDIR": str(self.folder)}
        command = [*self._skopeo, *words]
        return subprocess.run(command, check=False, capture_output=True, timeout=SECONDS, env=env)

    def begin(self) -> None: ...

    def push(self, who: Someone, name: str) -> Done:
        pair = ("--dest-creds", f"{who.name}:{PASSWORD}", "--dest-tls-verify=false")
        source = f"oci:{self.image.folder}:1"
        return self.skopeo("copy", "--preserve-digests", *pair, source, f"docker://{name}")

    def pull(self, who: Someone, name: str) -> Done:
        pair = ("--src-creds", f"{who.name}:{PASSWORD}", "--src-tls-verify=false")
        there = f"oci:{self.folder}/back:1"
        return self.skopeo("copy", "--preserve-digests", *pair, f"docker://{name}", there)

    def check(self, name: str) -> None:
        """Layers are named by their digests, which skopeo verifies; so do we."""
        for each in (self.image.folder / "blobs/sha256").iterdir():
            back = self.folder / "back/blobs/sha256" / each.name
            assert subprocess.run(["cmp", each, back], check=False).returncode == 0
            back.unlink()

    def delete(self, who: Someone, name: str) -> Done:
        pair = ("--creds", f"{who.name}:{PASSWORD}", "--tls-verify=false")
        return self.skopeo("delete", *pair, f"docker://{name}")

    def end(self) -> None: ...


class _Runtime(_Client):
    def __init__(self, world: World, image: Layout, folder: Path, daemon: ContainerDaemon) -> None:
        super().__init__(world, image, folder)
        self.daemon = daemon
        self.plain = ["--tls-verify=false"] if daemon.kind == "podman" else []

    def run(self, *words: str, **more: bytes) -> Done:
        return self.daemon.client(*words, timeout=SECONDS, **more)

    def sign_in(self, who: Someone) -> None:
        words = ("-u", who.name, "--password-stdin", *self.plain, self.world.server.images)
        good(self.run("login", *words, input=PASSWORD.encode()))

    def begin(self) -> None:
        self.daemon.start()
        source = f"oci:{self.image.folder}:1"
        if self.daemon.kind == "docker":
            there = ("--dest-daemon-host", f"unix://{self.daemon.socket}")
            good(self.skopeo("copy", *there, source, "docker-daemon:large:1"))
        else:
            good(self.run("pull", "--signature-policy", str(self.folder / "policy.json"), source))
            found = self.run("images", "-q").stdout.decode().split()
            good(self.run("tag", found[0], "large:1"))

    def push(self, who: Someone, name: str) -> Done:
        self.sign_in(who)
        good(self.run("tag", "large:1", name))
        return self.run("push", *self.plain, name)

    def pull(self, who: Someone, name: str) -> Done:
        """Nothing of it is here any more."""
        self.sign_in(who)
        if here := set(self.run("images", "-q").stdout.decode().split()):
            good(self.run("rmi", "-f", *here))
        assert self.run("images", "-q").stdout == b""
        return self.run("pull", *self.plain, name)

    def check(self, name: str) -> None:
        """All of its files, as a container has them."""
        made = self.run("create", name)
        good(made)
        number = made.stdout.decode().split()[-1]
        command = [*self.daemon.client_command(), "export", number]
        env = os.environ | {"HOME": str(self.daemon.folder), **self.daemon.env}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as export:
            assert export.stdout is not None
            assert self.image.found_in(export.stdout) == self.image.files
        good(self.run("rm", number))

    def delete(self, who: Someone, name: str) -> Done:
        short = name.partition("/")[2]
        return self.world.server.cli("registry", "delete", "-y", short, env={
            "DANLU_TOKEN": who.token,
        })  # fmt: skip

    def end(self) -> None:
        self.daemon.remove()


@pytest.mark.parametrize("kind", ["skopeo", "docker", "podman"])
def test_a_large_image_goes_and_comes_back_while_garbage_is_collected(
    world: World, image: Layout, busy: Busy, tmp_path: Path, kind: str
) -> None:
    client = _client(kind, world, image, tmp_path)
    host, alice = world.server.images, world.alice
    name = f"{host}/{alice.name}/{kind}:1"
    try:
        with step(f"{kind} takes the image in"):
            client.begin()
        with step(f"{kind} push, another's name: refused"):
            refused(client.push(world.bob, name), *NOT_YOURS)
        with step(f"{kind} push, over quota: refused"):
            over = client.push(world.frugal, f"{host}/{world.frugal.name}/{kind}:1")
            refused(over, "danlu registry delete")
        with step(f"{kind} push of {image.size / 1e9:.2f} GB"):
            good(client.push(alice, name))
        with step(f"{kind} pull, another's image: refused"):
            refused(client.pull(world.bob, name), *NOT_YOURS)
        with step(f"{kind} pull"):
            good(client.pull(alice, name))
        with step(f"{kind} compare"):
            client.check(name)
        assert not busy.broken, busy.broken
        assert kept(world) >= image.size
        with step(f"{kind} delete"):
            good(client.delete(alice, name))
    finally:
        client.end()
    assert peak(world) < MOST_MEMORY


def test_what_was_deleted_is_freed_and_nothing_was_broken(
    world: World, image: Layout, busy: Busy
) -> None:
    limit = time.monotonic() + GRACE + PATIENCE
    while kept(world) > image.size // 2:
        assert time.monotonic() < limit and not busy.broken, (kept(world), busy.broken)
        time.sleep(0.2)
    assert busy.pushed and busy.freed > image.size
    print(f"beside: {busy.pushed} small pushes and deletes, {busy.freed / 1e9:.2f} GB freed")
    uploads = world.server.data / "registry/content/uploads"
    left = sum(each.stat().st_size for each in uploads.iterdir())
    assert left < 8 << 20, "what a refused client gave up rests for a while, within its quota"
    with httpx.Client(trust_env=False) as anybody:
        assert anybody.get(f"{world.url}/v2/").status_code == 401


def _client(kind: str, world: World, image: Layout, folder: Path) -> _Client:
    if kind == "skopeo":
        return _Client(world, image, folder)
    daemon = containers.docker() if kind == "docker" else containers.podman()
    return _Runtime(world, image, folder, daemon)


def kept(world: World) -> int:
    blobs = world.server.data / "registry/content/blobs"
    sizes = []
    for path in blobs.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # being collected
            continue
    return sum(sizes)


def peak(world: World) -> float:
    """Of the registry's memory, in MB."""
    status = Path(f"/proc/{world.server.registry}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6
