from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.client import Client, SshServer


@pytest.fixture(scope="session")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    server = SshServer(tmp_path_factory.mktemp("ssh") / "data").start()
    yield server
    server.cleanup()


@pytest.fixture(scope="session")
def alice(door: SshServer) -> Client:
    alice = door.person("alice")
    alice.run()
    return alice
