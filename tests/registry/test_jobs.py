"""What was pushed runs in the next job, for those who may pull it, and for nobody else."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.api.people_harness import PASSWORD, Someone
from tests.registry.conftest import CONFIG, World
from tests.support import containers
from tests.support.containers import ContainerDaemon, busybox_image
from tests.support.images import MANIFEST, config_of, manifest, pusher
from tests.support.server import PATIENCE, DanluServer, free_port

ENGINE = """
[engine]
containers = "{kind}"
container_socket = "{socket}"
"""


@pytest.fixture(scope="module", params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> Iterator[ContainerDaemon]:
    found = containers.docker() if request.param == "docker" else containers.podman()
    try:
        found.start()
        yield found
    finally:
        found.remove()


@pytest.fixture(scope="module")
def place(daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp(f"jobs-{daemon.kind}")
    engine = ENGINE.format(kind=daemon.kind, socket=daemon.socket)
    server = DanluServer(folder / "data", CONFIG.format(port=free_port()) + engine)
    server.start()
    world = World(server)
    yield world
    world.close()
    server.cleanup()


def push(place: World, who: Someone, repository: str, text: str) -> None:
    """An image with a shell, which knows a text."""
    layers = [busybox_image()]
    config = config_of(*layers).replace(b"FROM_IMAGE=yes", f"SAYS={text}".encode())
    with pusher(place.server, who.name, PASSWORD, repository) as client:
        for each in (*layers, config):
            client.put_blob(repository, each)
        client.put_manifest(repository, "1", manifest(config, *layers), MANIFEST)


def run(place: World, who: Someone, image: str, command: str = 'echo "it says $SAYS"') -> Any:
    return who.submit(command=["sh", "-c", command], image=image, held=False, memory="64M")


def output(place: World, who: Someone, job: Any) -> tuple[dict[str, Any], str]:
    limit = time.monotonic() + PATIENCE
    while True:
        found = who.get(f"/jobs/{job['id']}/wait", timeout=5)
        if found["state"] in ("succeeded", "failed", "stopped"):
            return found, who.http.get(f"/jobs/{job['id']}/logs").text
        assert time.monotonic() < limit


def test_what_was_pushed_runs_at_once_also_when_it_is_pushed_again(place: World) -> None:
    alice = place.alice
    repository = f"{alice.name}/says"
    port = place.server.images.partition(":")[2]
    for text, host in (("one", f"localhost:{port}"), ("two", f"127.0.0.1:{port}")):
        push(place, alice, repository, text)
        ended, log = output(place, alice, run(place, alice, f"{host}/{repository}:1"))
        assert (ended["state"], log.strip()) == ("succeeded", f"it says {text}"), ended


def test_anothers_image_is_refused_although_the_node_has_it(place: World) -> None:
    repository = f"{place.alice.name}/private"
    push(place, place.alice, repository, "private")
    image = f"{place.server.images}/{repository}:1"
    assert output(place, place.alice, run(place, place.alice, image))[0]["state"] == "succeeded"
    order = {"command": "true", "image": image}
    for name in (image, image.upper().split("/")[0].lower() + f"/{repository}@sha256:" + "0" * 64):
        answer = place.bob.http.post("/jobs", json={**order, "image": name})
        assert answer.status_code == 422, answer.text
        assert "not shared with you" in answer.text


def test_a_share_lets_it_run_and_its_end_stops_a_waiting_job(place: World) -> None:
    repository = f"{place.alice.name}/shared"
    push(place, place.alice, repository, "shared")
    image = f"{place.server.images}/{repository}:1"

    def share(statement: str, *values: object) -> None:
        path = place.server.data / "danlu.db"
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as db, db:
            db.execute(statement, values)

    share(
        "insert into image_shares values (?, 'user', ?, 0, ?)",
        repository,
        place.bob.name,
        place.alice.name,
    )
    ended, log = output(place, place.bob, run(place, place.bob, image))
    assert (ended["state"], log.strip()) == ("succeeded", "it says shared")
    waiting = place.bob.submit(command="true", image=image, memory="64M")
    share("delete from image_shares where repository = ?", repository)
    place.bob.do("POST", f"/jobs/{waiting['id']}/release")
    ended, _ = output(place, place.bob, waiting)
    assert (ended["state"], ended["reason"]) == ("failed", "image_denied")


def test_what_is_not_in_the_registry_says_so(place: World) -> None:
    image = f"{place.server.images}/{place.alice.name}/never-pushed:1"
    ended, _ = output(place, place.alice, run(place, place.alice, image))
    assert (ended["state"], ended["reason"]) == ("failed", "image_not_found")


def test_with_the_registry_turned_off_what_the_node_has_still_runs(place: World) -> None:
    repository = f"{place.alice.name}/kept"
    push(place, place.alice, repository, "kept")
    image = f"{place.server.images}/{repository}:1"
    assert output(place, place.alice, run(place, place.alice, image))[0]["state"] == "succeeded"
    config = place.server.config.read_text()
    try:
        place.server.stop()
        place.server.end_registry()
        place.server.config.write_text(config.replace("[registry]", "[registry]\nenabled = false"))
        place.server.start()
        ended, log = output(place, place.alice, run(place, place.alice, image))
        assert (ended["state"], log.strip()) == ("succeeded", "it says kept"), ended
        answer = place.bob.http.post("/jobs", json={"command": "true", "image": image})
        assert answer.status_code == 422
        other = run(place, place.alice, f"{place.server.images}/{place.alice.name}/other:1")
        ended, _ = output(place, place.alice, other)
        assert ended["reason"] == "registry_unreachable", ended
    finally:
        place.server.stop()
        place.server.config.write_text(config)
        place.server.start()
