"""hub/...: a cache of another registry, which may be slow or away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.api.people_harness import PASSWORD
from tests.registry.conftest import CONFIG, World
from tests.registry.test_blobs import code_of
from tests.support.images import token_for
from tests.support.registry import PASSWORD as THEIRS
from tests.support.registry import USER, Registry, layer
from tests.support.server import PATIENCE, DanluServer, free_port

MIRRORS = """
[registry.mirrors."open.lab"]
url = "http://{open}"

[registry.mirrors."closed.lab"]
url = "http://{closed}"
user = "{user}"
password = "{password}"
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Registry]:
    registry = Registry().start()
    yield registry
    registry.remove()


@pytest.fixture(scope="module")
def closed() -> Iterator[Registry]:
    registry = Registry(password=True).start()
    yield registry
    registry.remove()


@pytest.fixture(scope="module")
def place(
    upstream: Registry, closed: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    mirrors = MIRRORS.format(open=upstream.host, closed=closed.host, user=USER, password=THEIRS)
    folder = tmp_path_factory.mktemp("hub")
    server = DanluServer(folder / "data", CONFIG.format(port=free_port()) + mirrors)
    server.start()
    world = World(server)
    yield world
    world.close()
    server.cleanup()


def client(place: World, repository: str) -> httpx.Client:
    return place.api(place.bob, repository, actions="pull")


def test_what_is_there_comes_through_and_is_fetched_once(place: World, upstream: Registry) -> None:
    content = layer(**{"large": os.urandom(500_000).hex()})
    added = upstream.add("library/x", [content])
    repository = "hub/open.lab/library/x"
    with client(place, repository) as api:
        answer = api.get(f"/{repository}/manifests/1")
        assert answer.headers["docker-content-digest"] == added.manifest
        (digest,) = added.layers
        assert api.head(f"/{repository}/blobs/{digest}").headers["content-length"] == str(
            len(content)
        )
        with ThreadPoolExecutor(5) as threads:
            found = list(
                threads.map(lambda _: api.get(f"/{repository}/blobs/{digest}").content, range(5))
            )
        assert found == [content] * 5
    assert upstream.fetched(digest) == 1


def test_with_the_other_registry_away_what_was_pulled_is_served(
    place: World, upstream: Registry
) -> None:
    content = layer(kept="yes")
    added = upstream.add("kept", [content])
    repository = "hub/open.lab/kept"
    with client(place, repository) as api:
        for path in ("manifests/1", f"blobs/{added.layers[0]}"):
            assert api.get(f"/{repository}/{path}").status_code == 200
        upstream.stop()
        try:
            assert api.get(f"/{repository}/blobs/{added.layers[0]}").content == content
            answer = api.get(f"/{repository}/manifests/1")
            assert answer.headers["docker-content-digest"] == added.manifest
            away = api.get(f"/{repository}/manifests/2")
            assert (away.status_code, code_of(away)) == (503, "UNAVAILABLE")
            assert "open.lab does not answer" in away.text
        finally:
            upstream.start()
        missing = api.get(f"/{repository}/manifests/2")
        assert (missing.status_code, code_of(missing)) == (404, "MANIFEST_UNKNOWN")


def test_a_moved_tag_is_followed(place: World, upstream: Registry) -> None:
    repository = "hub/open.lab/moving"
    with client(place, repository) as api:
        for text in ("one", "two"):
            added = upstream.add("moving", [layer(text=text)])
            answer = api.get(f"/{repository}/manifests/1")
            assert answer.headers["docker-content-digest"] == added.manifest


def test_the_admins_password_opens_the_other_registry(place: World, closed: Registry) -> None:
    content = layer(behind="a password")
    added = closed.add("secret/x", [content])
    repository = "hub/closed.lab/secret/x"
    with client(place, repository) as api:
        assert api.get(f"/{repository}/manifests/1").status_code == 200
        assert api.get(f"/{repository}/blobs/{added.layers[0]}").content == content


def test_what_is_not_set_up_is_not_asked(place: World) -> None:
    repository = "hub/docker.io/library/x"
    with client(place, repository) as api:
        answer = api.get(f"/{repository}/manifests/1")
        assert (answer.status_code, code_of(answer)) == (404, "NAME_UNKNOWN")
        assert "open.lab" in answer.text


def test_nobody_pushes_to_a_cache(place: World, tmp_path: Path) -> None:
    repository = "hub/open.lab/x"
    for name, secret in ((place.bob.name, PASSWORD), ("admin", place.server.token)):
        token = token_for(place.url, name, secret, f"repository:{repository}:pull,push")
        answer = httpx.post(
            f"{place.url}/v2/{repository}/blobs/uploads/",
            headers={"authorization": f"Bearer {token}"},
            trust_env=False,
            timeout=PATIENCE,
        )
        assert answer.status_code == 403
