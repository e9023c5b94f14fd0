"""What the server's own parts have of the registry: a client with rights, and its own names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from danlu.access.gate import Gate
from danlu.access.principal import Principal
from danlu.access.sign_in import SignIn
from danlu.registry.client import Refused
from danlu.registry.tokens import verify
from danlu.services.registry import Opened, Registry
from danlu.services.registry_hosts import OwnHosts
from danlu.store import image_shares
from danlu.store.rows import ImageShareRow
from danlu.store.store import Store
from tests.registry.conftest import World

ALICE = Principal("alice", user_id="a", groups=frozenset({"vision"}))
BOB = Principal("bob", user_id="b")
ALL = frozenset({"pull", "push"})


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store.open(f"sqlite:///{tmp_path / 'danlu.db'}")
    yield store
    await store.close()


def registry_of(store: Store, hosts: OwnHosts, key: bytes = b"x" * 32) -> Registry:
    gate = Gate(store)
    registry = Registry(store, gate, SignIn(store, gate))

    async def ask(*_: Any, **__: Any) -> dict[str, Any]:
        raise AssertionError("not asked here")

    registry.open(Opened(ask, key, hosts))
    return registry


async def test_a_part_of_the_server_writes_with_the_rights_of_a_person(
    world: World, store: Store
) -> None:
    port = int(world.server.images.partition(":")[2])
    key = (world.server.data / "registry/key").read_bytes()
    registry = registry_of(store, OwnHosts(port=lambda: port), key)
    names = ["alice/saved", "share/vision/saved", "bob/saved"]
    with await registry.client(ALICE, [(name, ALL) for name in names]) as client:
        digest = client.put_blob("alice/saved", b"a layer")
        assert client.mount("share/vision/saved", digest, "alice/saved")
        assert client.has_blob("share/vision/saved", digest) == 7
        with pytest.raises(Refused) as refused:
            client.put_blob("bob/saved", b"a layer")
    assert (refused.value.status, refused.value.code) == (403, "DENIED")


async def test_shares_open_a_repository_to_people_groups_or_everybody(store: Store) -> None:
    registry = registry_of(store, OwnHosts(port=lambda: 5000))
    for kind, name, who in (("user", "bob", BOB), ("group", "vision", ALICE), ("all", "", BOB)):
        row = ImageShareRow("carol/x", kind, name, 0.0, "carol")
        assert not await registry.may_pull(who, "carol/x")
        await store.write(lambda tx, row=row: image_shares.add(tx, row))  # type: ignore[misc]
        assert await registry.may_pull(who, "carol/x")
        token = await registry.sign_in.token_of(who, ["repository:carol/x:pull,push"], 60.0)
        claims = verify(registry.sign_in.key, token)
        assert claims is not None
        assert claims.access == {"carol/x": {"pull"}}, "not to push"
        assert not await registry.may_pull(who, "carol/y")
        await store.write(lambda tx: image_shares.remove_all(tx, "carol/x"))


def test_the_registry_knows_its_own_names() -> None:
    hosts = OwnHosts({"gpu.lab"}, ("reg.lab",), lambda: 5000)
    for host in ("127.0.0.1:5000", "localhost:5000", "[::1]:5000", "GPU.lab:5000", "reg.lab"):
        assert hosts.owns(host), host
    for host in ("127.0.0.1:5001", "gpu.lab", "docker.io", "192.0.2.1:5000", "evil.lab:5000"):
        assert not hosts.owns(host), host
    assert hosts.shown("anything:8080") == "reg.lab"
    assert OwnHosts(port=lambda: 5000).shown("gpu.lab:8080") == "gpu.lab:5000"
