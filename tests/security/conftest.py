"""An attacker with an account, a home and a share, on a server that runs as root."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from danlu.engines.api import Engine, HostMount, Identity
from tests.api.conftest import CLUSTER, harness, people_harness
from tests.api.people_harness import PROXY
from tests.containers import harnesses
from tests.engines.conftest import engine_of, local
from tests.engines.harness import EngineHarness
from tests.engines.local_harness import LocalHarness
from tests.support.certificates import Certificate, make_certificate
from tests.support.containers import ContainerDaemon, docker, podman
from tests.support.folders import let_in
from tests.support.server import DanluServer, free_port

__all__ = ["harness", "people_harness"]

WAYS = ("plain", "PostgreSQL, TLS and IPv6")
"""How a server is run and reached: every attack through the API is tried both ways."""

EVE = Identity("eve", "vision", 231_003, 231_003, (231_100,), (("vision", 231_100),), 0o007)
MARK = "only-root-may-read-this"


ServerMaker = Callable[[str, str], DanluServer]


@pytest.fixture(scope="session", params=WAYS)
def make_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerMaker]:
    """Starts a server: its name, and its danlu.toml with a [server] table."""
    made: list[DanluServer] = []
    postgres = None if request.param == "plain" else request.getfixturevalue("postgres")

    def start(name: str, config: str) -> DanluServer:
        data = tmp_path_factory.mktemp(name) / "data"
        if postgres is None:
            server = DanluServer(data, config)
        else:
            certificate = request.getfixturevalue("certificate")
            database = postgres.new_database()
            tls = f'tls_cert = "{certificate.cert}"\ntls_key = "{certificate.key}"\n'
            config = config.replace("[server]\n", f"[server]\n{tls}").replace(PROXY, "::1")
            config += f'\n[database]\nurl = "{database}"\n'
            server = DanluServer(data, config, host="::1", certificate=certificate)
        made.append(server)
        return server.start()

    yield start
    for server in made:
        server.cleanup()


@pytest.fixture(scope="session")
def server(make_server: ServerMaker, tmp_path_factory: pytest.TempPathFactory) -> DanluServer:
    fast = tmp_path_factory.mktemp("fast")
    let_in(fast)
    return make_server("api", CLUSTER.format(fast=fast, port=free_port()))


@dataclass
class Attacker:
    """What a member has: the engine to run tasks on, a home, and a share of the group."""

    harness: EngineHarness
    home: Path
    share: Path
    canary: Path  # a file of root's
    homes_path: str = "/userhome"
    shares_path: str = "/mnt/share/vision"

    @property
    def mounts(self) -> tuple[HostMount, ...]:
        return (
            HostMount("userhome", str(self.home), self.homes_path),
            HostMount("share", str(self.share), self.shares_path),
        )

    def own(self, *paths: Path) -> None:
        for path in paths:
            os.chown(path, EVE.uid or 0, EVE.gid or 0, follow_symlinks=False)


def attacker_on(harness: EngineHarness) -> Attacker:
    home, share = harness.outside / "eve", harness.outside / "vision"
    for folder in (home, share):
        folder.mkdir(mode=0o770)
        os.chown(folder, EVE.uid or 0, 231_100)
    canary = harness.data / "admin.json"
    canary.write_text(MARK)
    canary.chmod(0o600)
    return Attacker(harness, home, share, canary)


def only_as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only a server that runs as root has anything to lose here")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def reserve() -> int:
    """How many keepers are made ahead. None: all that they do can be watched."""
    return 2


@pytest.fixture
async def attacker(tmp_path: Path, reserve: int) -> AsyncIterator[Attacker]:
    """In the process runtime."""
    only_as_root()
    harness = LocalHarness(lambda data: local(data, reserve=reserve), tmp_path)
    await harness.start()
    if not engine_of(harness).abilities.namespaces:
        pytest.skip(f"no namespaces: {engine_of(harness).abilities.namespaces_why_not}")
    yield attacker_on(harness)
    await harness.close()


# -- in containers ------------------------------------------------------------------------------


def _running(daemon: ContainerDaemon) -> Iterator[ContainerDaemon]:
    try:
        daemon.start()
        yield harnesses.with_image(daemon)
    finally:
        daemon.remove()


@pytest.fixture(scope="session")
def docker_daemon() -> Iterator[ContainerDaemon]:
    yield from _running(docker())


@pytest.fixture(scope="session")
def podman_daemon() -> Iterator[ContainerDaemon]:
    yield from _running(podman())


@pytest.fixture(params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> ContainerDaemon:
    found: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    return found


@pytest.fixture
def make(daemon: ContainerDaemon) -> Callable[[Path], Engine]:
    return harnesses.maker(daemon)


@pytest.fixture
async def contained(make: Callable[[Path], Engine], tmp_path: Path) -> AsyncIterator[Attacker]:
    """In the container runtime, once with each daemon."""
    only_as_root()
    harness = LocalHarness(make, tmp_path)
    await harness.start()
    harnesses.contain(harness)
    yield attacker_on(harness)
    await harness.close()
