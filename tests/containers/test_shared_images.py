"""A saved image is its owner's: nobody else sees, runs or saves over it, until it is shared."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.people_harness import Someone
from tests.registry.conftest import CONFIG, World
from tests.registry.test_jobs import ENGINE, output
from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.server import PATIENCE, DanluServer, free_port


@pytest.fixture(scope="module")
def place(
    docker_daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("shared")
    engine = ENGINE.format(kind="docker", socket=docker_daemon.socket)
    server = DanluServer(folder / "data", CONFIG.format(port=free_port()) + engine)
    server.start()
    world = World(server)
    yield world
    world.close()
    server.cleanup()


def saved(who: Someone, name: str) -> tuple[Any, Any]:
    """A running job, and what was saved of it."""
    job = who.submit(
        command="echo mine > /tmp/mine; chmod a+r /tmp/mine; echo ready; sleep 1000",
        image=BUSYBOX,
        held=False,
    )
    limit = time.monotonic() + PATIENCE
    while "ready" not in who.http.get(f"/jobs/{job['id']}/logs").text:
        assert time.monotonic() < limit
        time.sleep(0.05)
    save = who.do("POST", f"/jobs/{job['id']}/save", {"image": name}, expect=202)
    while save["state"] in ("waiting", "saving"):
        assert time.monotonic() < limit
        time.sleep(0.05)
        save = who.get(f"/saves/{save['id']}")
    assert save["state"] == "saved", save
    return job, save


def test_what_one_saves_is_ones_own_until_it_is_shared(place: World) -> None:
    alice, bob = place.alice, place.bob
    job, save = saved(alice, "mine:1")
    image = next(each for each in alice.get("/images")["images"] if each["name"] == save["image"])
    order = {"command": "cat /tmp/mine", "image": image["name"], "memory": "64M"}

    assert bob.get("/images")["images"] == []
    for method, path, body in (
        ("GET", f"/images/{image['id']}", None),
        ("GET", f"/saves/{save['id']}", None),
        ("DELETE", f"/saves/{save['id']}", None),
        ("GET", f"/jobs/{job['id']}/save", None),
        ("POST", f"/jobs/{job['id']}/save", {"image": "mine:1"}),
        ("POST", f"/images/{image['id']}/share", {"kind": "user", "name": bob.name}),
    ):
        answer = bob.http.request(method, path, json=body)
        assert answer.status_code == 404, (path, answer.text)
    assert bob.http.post("/jobs", json=order).status_code == 422
    hidden = {**order, "image": f"danlu.internal/{alice.name}/mine:1"}
    assert bob.http.post("/jobs", json=hidden).status_code == 422

    alice.do("POST", f"/images/{image['id']}/share", {"kind": "user", "name": bob.name})
    assert [each["id"] for each in bob.get("/images?which=shared")["images"]] == [image["id"]]
    assert bob.get(f"/images/{image['id']}")["shares"] == [], "not with whom else"
    ended, log = output(place, bob, bob.submit(**order, held=False))
    assert (ended["state"], log) == ("succeeded", "mine\n"), ended
    answer = bob.http.patch(f"/images/{image['id']}", json={"description": "bob's"})
    assert answer.status_code == 403

    alice.do("POST", f"/images/{image['id']}/unshare", {"kind": "user", "name": bob.name})
    assert bob.http.get(f"/images/{image['id']}").status_code == 404
    assert bob.http.post("/jobs", json=order).status_code == 422
    alice.do("POST", f"/jobs/{job['id']}/stop", {"now": True})


def test_nobody_saves_under_anothers_name(place: World) -> None:
    job, _ = saved(place.bob, "own:1")
    name = f"{place.alice.name}/own:1"
    answer = place.bob.http.post(f"/jobs/{job['id']}/save", json={"image": name})
    assert answer.status_code == 403, answer.text
    place.bob.do("POST", f"/jobs/{job['id']}/stop", {"now": True})


def test_a_groups_image_is_seen_by_its_members(place: World) -> None:
    job, save = saved(place.alice, f"share/{place.group}/ours:1")
    member = place.people.person(place.group)
    assert [each["name"] for each in member.get("/images")["images"]] == [save["image"]]
    assert place.bob.get("/images") == place.bob.get("/images?which=own")
    place.alice.do("POST", f"/jobs/{job['id']}/stop", {"now": True})
