"""What is pushed is in the catalogue of images at once, and what is deleted is gone from it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.people_harness import PASSWORD, Someone
from tests.registry.conftest import CONFIG, World
from tests.support.images import (
    LAYER,
    MANIFEST,
    config_of,
    layer,
    manifest,
    push_small,
    pusher,
    token_for,
)
from tests.support.server import PATIENCE, DanluServer, free_port


def listed(who: Someone, *parts: str) -> dict[str, str]:
    """Digests by the names without the host."""
    found = who.get("/images")["images"]
    return {each["name"].partition("/")[2]: each["digest"] for each in found}


def until(look: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_pushed_images_are_listed_and_deleted_ones_are_not(world: World, repository: str) -> None:
    alice, bob = world.alice, world.bob
    with pusher(world.server, alice.name, PASSWORD, repository) as client:
        first = push_small(client, repository, "1")
        second = push_small(client, repository, "2")
        until(lambda: listed(alice).get(f"{repository}:1") == first)
        until(lambda: listed(alice).get(f"{repository}:2") == second)
        found = next(e for e in alice.get("/images")["images"] if e["digest"] == first)
        assert (found["owner"], found["source"]) == (alice.name, "pushed")
        assert found["size"] > 0
        assert f"{repository}:1" not in listed(bob), "it is nobody else's business"
        again = push_small(client, repository, "1")
        until(lambda: listed(alice)[f"{repository}:1"] == again)
    with world.api(alice, repository) as api:
        assert api.delete(f"/{repository}/manifests/2").status_code == 202
    until(lambda: f"{repository}:2" not in listed(alice))
    assert f"{repository}:1" in listed(alice)
    env = {"DANLU_TOKEN": alice.token}
    done = world.server.cli("registry", "delete", repository, "--yes", env=env)
    assert done.returncode == 0, done.stderr
    until(lambda: f"{repository}:1" not in listed(alice))


def test_what_is_pushed_for_a_group_is_listed_for_its_members(world: World) -> None:
    repository = f"share/{world.group}/{world.people.name('r')}"
    with pusher(world.server, world.alice.name, PASSWORD, repository) as client:
        digest = push_small(client, repository)
    until(lambda: listed(world.alice).get(f"{repository}:1") == digest)
    assert f"{repository}:1" not in listed(world.bob)


def test_an_entry_that_was_taken_out_stays_out(world: World, repository: str) -> None:
    alice, env = world.alice, {"DANLU_TOKEN": world.alice.token}
    with pusher(world.server, alice.name, PASSWORD, repository) as client:
        push_small(client, repository, "1")
        until(lambda: f"{repository}:1" in listed(alice))
        done = world.server.cli("image", "remove", f"{repository}:1", "--yes", env=env)
        assert done.returncode == 0, done.stderr
        push_small(client, repository, "2")
        until(lambda: f"{repository}:2" in listed(alice))
    assert f"{repository}:1" not in listed(alice)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[World]:
    server = DanluServer(tmp_path / "data", CONFIG.format(port=free_port()))
    server.start()
    world = World(server)
    yield world
    world.close()
    server.cleanup()


def test_a_server_that_was_away_learns_what_was_pushed_meanwhile(place: World) -> None:
    repository = f"{place.alice.name}/x"
    with pusher(place.server, place.alice.name, PASSWORD, repository) as client:
        push_small(client, repository, "before")
        until(lambda: f"{repository}:before" in listed(place.alice))
        place.server.kill()
        push_small(client, repository, "meanwhile")
    registry = place.server.registry
    assert registry is not None
    os.kill(registry, signal.SIGKILL)  # so that nobody can tell it later
    place.server.start()
    token_for(place.url, place.alice.name, PASSWORD)  # starts another one
    until(lambda: f"{repository}:meanwhile" in listed(place.alice))
    assert f"{repository}:before" in listed(place.alice)


def test_a_name_of_ours_never_means_docker_hub(world: World, repository: str) -> None:
    alice, bob = world.alice, world.bob
    order = {"command": "true", "image": f"{repository}:1"}
    missing = alice.http.post("/jobs", json=order)
    assert missing.status_code == 422
    assert "is not in the platform's registry" in missing.text
    assert f"docker.io/{repository}:1" in missing.text
    before = bob.http.post("/jobs", json=order).text
    assert "not shared with you" in before
    with pusher(world.server, alice.name, PASSWORD, repository) as client:
        push_small(client, repository)
    found = alice.http.post("/jobs", json=order).text
    assert "does not run container images" in found, "it is found; this engine has no containers"
    assert f"{world.server.images}/{repository}:1" in found
    assert bob.http.post("/jobs", json=order).text == before, "whether it exists is not said"
    outside = alice.http.post("/jobs", json={**order, "image": "nobody-here/x:1"}).text
    assert "nobody-here/x:1" in outside
    assert "platform's registry" not in outside


def test_a_strange_configuration_costs_nobody_anything(world: World, repository: str) -> None:
    """Of 15 MB it took 390 MB of the server, and all others waited for a second."""
    alice = world.alice
    strange = [b'{"history":[' + b"[]," * 5_000_000 + b"[]]}", b"[" * 500_000, b'{"config":["x"]}']
    with pusher(world.server, alice.name, PASSWORD, repository) as client:
        for number, config in enumerate(strange):
            client.put_blob(repository, config)
            client.put_manifest(repository, str(number), manifest(config), MANIFEST)
            until(lambda number=number: f"{repository}:{number}" in listed(alice))
        push_small(client, repository, "small")
        until(lambda: f"{repository}:small" in listed(alice))
    before = most_memory(world.server)
    shown = f"/images/{repository.replace('/', '~')}:"
    for number in range(len(strange)):
        assert not alice.get(f"{shown}{number}")["inside"]
    # One after the other: when this one has been read, the others have been looked at.
    until(lambda: bool(alice.get(f"{shown}small")["inside"]))
    assert most_memory(world.server) - before < 100 << 10
    assert "a part of the control loop failed" not in world.server.log.read_text()


def test_the_packages_of_a_private_layer_are_not_shown_for_its_digest(
    world: World, repository: str
) -> None:
    """An image may name layers that are kept elsewhere, so that the registry need not have them."""
    alice, bob = world.alice, world.bob
    private = layer(**{"secret-9.9.dist-info/METADATA": "x"})
    with pusher(world.server, alice.name, PASSWORD, repository) as client:
        config = config_of(private)
        for each in (private, config):
            client.put_blob(repository, each)
        client.put_manifest(repository, "1", manifest(config, private), MANIFEST)
    page = "/images/{}:1".format
    until(lambda: f"{repository}:1" in listed(alice))

    def packages(who: Someone, name: str) -> str:
        inside = who.get(page(name.replace("/", "~")))["inside"]
        return json.dumps(inside) if inside else ""

    until(lambda: "secret" in packages(alice, repository))
    own = f"{bob.name}/{repository.rpartition('/')[2]}"
    with pusher(world.server, bob.name, PASSWORD, own) as client:
        config = config_of()
        client.put_blob(own, config)
        named = json.loads(manifest(config, private))
        named["layers"][0]["mediaType"] = LAYER.replace(".layer.", ".layer.nondistributable.")
        client.put_manifest(own, "1", json.dumps(named).encode(), MANIFEST)
    until(lambda: f"{own}:1" in listed(bob))
    until(lambda: bool(packages(bob, own)))
    assert "secret" not in packages(bob, own)
    assert "failed" in packages(bob, own)


def most_memory(server: DanluServer) -> int:
    """In kB, so far."""
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])
