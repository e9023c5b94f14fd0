"""Killed processes: of the registry, of the server, and settings that change."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from danlu.registry.client import Refused
from tests.api.people_harness import PASSWORD
from tests.registry.conftest import CONFIG, World
from tests.registry.test_blobs import code_of, put
from tests.support.images import MANIFEST, config_of, manifest, push_small, pusher, token_for
from tests.support.server import PATIENCE, DanluServer, free_port


@pytest.fixture
def place(tmp_path: Path) -> Iterator[World]:
    server = DanluServer(tmp_path / "data", CONFIG.format(port=free_port()))
    server.start()
    world = World(server)
    yield world
    world.close()
    server.cleanup()


def kill_registry(server: DanluServer) -> None:
    pid = server.registry
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    limit = time.monotonic() + PATIENCE
    while server.registry == pid:
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_whoever_pushes_nothing_has_no_registry(place: World) -> None:
    assert place.server.registry is None
    token_for(place.url, place.alice.name, PASSWORD)
    assert place.server.registry is not None


def test_what_was_acknowledged_survives_a_killed_registry(place: World) -> None:
    """Pushes go on while it is killed again and again; each that succeeded is whole."""
    repository = f"{place.alice.name}/x"
    pushed: dict[str, str] = {}
    over = threading.Event()

    def push_on() -> None:
        number = 0
        while not over.is_set():
            number += 1
            try:
                with pusher(place.server, place.alice.name, PASSWORD, repository) as client:
                    pushed[f"t{number}"] = push_small(client, repository, f"t{number}")
            except (Refused, OSError):
                time.sleep(0.05)

    pushing = threading.Thread(target=push_on)
    pushing.start()
    try:
        for _ in range(3):
            before = len(pushed)
            limit = time.monotonic() + PATIENCE
            while len(pushed) < before + 3:
                assert time.monotonic() < limit
                time.sleep(0.02)
            kill_registry(place.server)
    finally:
        over.set()
        pushing.join()
    check_whole(place, repository, pushed)
    uploads = place.server.data / "registry/content/uploads"
    assert list(uploads.iterdir()) == []


def check_whole(place: World, repository: str, pushed: dict[str, str]) -> None:
    with pusher(place.server, place.alice.name, PASSWORD, repository) as client:
        for tag, digest in pushed.items():
            body, _, found = client.manifest(repository, tag)
            assert found == digest
            values = httpx.Response(200, content=body).json()
            for part in (values["config"], *values["layers"]):
                size = sum(len(piece) for piece in client.read_blob(repository, part["digest"]))
                assert size == part["size"]


def test_pulls_go_on_while_the_server_is_away(place: World) -> None:
    repository = f"{place.alice.name}/x"
    with place.api(place.alice, repository) as api:
        content = os.urandom(1_000_000)
        digest = put(api, repository, content)
        place.server.kill()
        assert api.get(f"/{repository}/blobs/{digest}").content == content
        registry = place.server.registry
        place.server.start()
        assert api.get(f"/{repository}/blobs/{digest}").content == content
    token_for(place.url, place.alice.name, PASSWORD)
    assert place.server.registry == registry


def test_read_only_takes_nothing_and_gives_everything(place: World) -> None:
    repository = f"{place.alice.name}/x"
    with pusher(place.server, place.alice.name, PASSWORD, repository) as client:
        digest = push_small(client, repository)
    config = place.server.config.read_text()
    place.server.stop()
    place.server.config.write_text(config.replace("[registry]", "[registry]\nread_only = true"))
    place.server.start()
    assert place.alice.get("/registry")["read_only"]  # by the registry of the new settings
    with place.api(place.alice, repository) as api:
        assert api.get(f"/{repository}/manifests/1").headers["docker-content-digest"] == digest
        for method, path in (
            ("POST", "blobs/uploads/"),
            ("PUT", "manifests/2"),
            ("DELETE", "manifests/1"),
        ):
            answer = api.request(method, f"/{repository}/{path}")
            assert (answer.status_code, code_of(answer)) == (403, "DENIED")
            assert "read-only" in answer.text
    answer = place.alice.http.delete("/registry/images", params={"repository": repository})
    assert answer.status_code == 409


def test_a_broken_upload_goes_on_where_it_ended(place: World) -> None:
    repository = f"{place.alice.name}/x"
    content = os.urandom(2_000_000)
    with place.api(place.alice, repository) as api:
        where = api.post(f"/{repository}/blobs/uploads/").headers["location"]
        there = str(api.base_url.copy_with(path=where))

        def broken() -> Iterator[bytes]:
            yield content[:1_500_000]
            raise ConnectionError("the laptop was closed")

        with pytest.raises(ConnectionError):
            api.patch(there, content=broken())
    with place.api(place.alice, repository) as api:
        limit = time.monotonic() + PATIENCE
        while True:
            answer = api.get(there)
            assert answer.status_code == 204
            done = int(answer.headers["range"].partition("-")[2]) + 1
            if done > 1:
                break
            assert time.monotonic() < limit
            time.sleep(0.05)
        config = config_of(content)
        headers = {"content-range": f"{done}-{len(content) - 1}"}
        assert api.patch(there, content=content[done:], headers=headers).status_code == 202
        body = manifest(config, content)
        digest = httpx.Response(200, content=body).json()["layers"][0]["digest"]
        assert api.put(there, params={"digest": digest}).status_code == 201
        put(api, repository, config)
        url = f"/{repository}/manifests/1"
        assert api.put(url, content=body, headers={"content-type": MANIFEST}).status_code == 201
