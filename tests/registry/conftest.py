"""A server with its registry, people with accounts, and clients as people use them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PASSWORD, PeopleHarness, Someone
from tests.support.images import ALL, token_for
from tests.support.server import PATIENCE, DanluServer, free_port

CONFIG = """
[server]
circle_of_trust = true
proxies = ["127.0.0.77"]

[[nodes]]
name = "n1"
cpus = 8
memory = "16G"

# Not where the machine's own accounts get their ranges, which other tests make.
[uids]
range = "2100000000-2100099999"

[registry]
port = {port}
free = "1M"

[registry.user_quotas]
frugal = "3M"
"""


# Python itself may be where only root may read: once the registry is another user, it can load
# nothing more. Here it cannot on any machine.
UNREADABLE = """
import os, sys

if "danlu.server.registry_process" in sys.orig_argv:
    become = os.setresuid

    def alone(*user):
        become(*user)
        sys.path.clear()
        sys.path_importer_cache.clear()

    os.setresuid = alone
"""


def unreadable_python(folder: Path) -> dict[str, str]:
    """The server's environment."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(UNREADABLE)
    return {"PYTHONPATH": str(folder)}


class World:
    def __init__(self, server: DanluServer) -> None:
        self.server = server
        self.harness = Harness(server)
        self.people = PeopleHarness(self.harness)
        self.group = self.people.group()
        self.alice = self.people.person(self.group)
        self.bob = self.people.person()
        self.frugal = self.people.person(name="frugal")

    @property
    def url(self) -> str:
        return f"http://{self.server.images}"

    def api(self, who: Someone, *repositories: str, actions: str = ALL) -> httpx.Client:
        """The registry, with a token for these repositories."""
        scopes = [f"repository:{each}:{actions}" for each in repositories]
        token = token_for(self.url, who.name, PASSWORD, *scopes)
        return httpx.Client(
            base_url=f"{self.url}/v2",
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE,
            trust_env=False,
        )

    def close(self) -> None:
        self.people.close()
        self.harness.http.close()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("registry")
    env = unreadable_python(folder / "python")
    server = DanluServer(folder / "data", CONFIG.format(port=free_port()), extra_env=env)
    server.start()
    world = World(server)
    yield world
    world.close()
    server.cleanup()


@pytest.fixture
def repository(world: World) -> str:
    """One of alice's that nobody has used."""
    return f"{world.alice.name}/{world.people.name('r')}"


@pytest.fixture
def api(world: World, repository: str) -> Iterator[httpx.Client]:
    """What alice may do there."""
    with world.api(world.alice, repository) as found:
        yield found
