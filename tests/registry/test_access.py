"""Who gets in, and who may do what there."""

from __future__ import annotations

import time
from contextlib import closing
from urllib.error import HTTPError

import httpx
import pytest

from danlu.registry.store import MOST_UPLOADS
from tests.api.people_harness import PASSWORD, Someone
from tests.registry.conftest import World
from tests.registry.test_blobs import begin, code_of, put
from tests.registry.test_manifests import image, push
from tests.support.images import digest_of, push_small, pusher, token_for
from tests.support.server import PATIENCE


def status(world: World, token: str, path: str, method: str = "GET") -> int:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.request(
        method, f"{world.url}/v2/{path}", headers=headers, trust_env=False
    ).status_code


def test_nobody_comes_in_without_a_name(world: World, repository: str) -> None:
    for path in ("", f"{repository}/tags/list", f"{repository}/manifests/1", "_catalog"):
        answer = httpx.get(f"{world.url}/v2/{path}", trust_env=False)
        assert (answer.status_code, code_of(answer)) == (401, "UNAUTHORIZED")
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith(f'Bearer realm="{world.url}/token",service=')
    assert 'scope="registry:catalog:*"' in challenge
    answer = httpx.get(f"{world.url}/token", trust_env=False)
    assert answer.status_code == 401


def test_a_password_or_a_token_lets_one_in(world: World) -> None:
    token = world.people.with_token(world.alice, label="docker").token
    for secret in (PASSWORD, token):
        assert status(world, token_for(world.url, world.alice.name, secret), "") == 200
    for name, secret in (
        (world.alice.name, "wrong"),
        (world.alice.name, "dlu_wrong"),
        (world.bob.name, token),
    ):
        with pytest.raises(HTTPError) as refused:
            token_for(world.url, name, secret)
        assert refused.value.code == 401
    failed = world.people.admin.get("/audit", act="login.failed")["lines"]
    assert any(line["thing"] == world.alice.name for line in failed)


def test_made_up_tokens_are_not_believed(world: World, repository: str) -> None:
    good = token_for(world.url, world.alice.name, PASSWORD, f"repository:{repository}:pull")
    head, body, signature = good.split(".")
    for token in ("x", "a.b.c", f"{head}.{body}.", f"{head}.{body}.{signature[:-4]}AAAA"):
        assert status(world, token, "") == 401


def test_a_first_password_has_to_be_changed_before(world: World) -> None:
    name = world.people.name()
    made = world.people.admin.do("POST", "/users", {"name": name})
    with pytest.raises(HTTPError) as refused:
        token_for(world.url, name, made["password"])
    assert refused.value.code == 401
    assert "one-time" in refused.value.read().decode()


def test_guessing_is_slowed_down(world: World) -> None:
    victim = world.people.person()
    with pytest.raises(HTTPError) as refused:
        for _ in range(40):
            try:
                token_for(world.url, victim.name, "guess")
            except HTTPError as error:
                if error.code != 401:
                    raise
    assert refused.value.code == 429


def test_a_token_that_may_only_read_does_not_push(world: World, repository: str) -> None:
    reader = world.people.with_token(world.alice, label="r", scope="read").token
    scope = f"repository:{repository}:pull,push,delete"
    token = token_for(world.url, world.alice.name, reader, scope)
    assert status(world, token, f"{repository}/tags/list") == 404
    assert status(world, token, f"{repository}/blobs/uploads/", "POST") == 403


def test_anothers_images_are_neither_read_nor_written(world: World, repository: str) -> None:
    with world.api(world.alice, repository) as api:
        body = image(api, repository, "alice's")
        push(api, repository, "1", body)
        upload = begin(api, repository)
    with world.api(world.bob, repository) as api:
        layer = digest_of(b"alice's")
        for method, path in (
            ("GET", "manifests/1"),
            ("HEAD", "manifests/1"),
            ("PUT", "manifests/2"),
            ("DELETE", "manifests/1"),
            ("GET", f"blobs/{layer}"),
            ("DELETE", f"blobs/{layer}"),
            ("POST", "blobs/uploads/"),
            ("GET", "tags/list"),
            ("GET", f"referrers/{layer}"),
        ):
            answer = api.request(method, f"/{repository}/{path}")
            assert answer.status_code == 403, (method, path)
        for method in ("GET", "PATCH", "PUT", "DELETE"):
            answer = api.request(method, str(api.base_url.copy_with(path=upload)))
            assert answer.status_code == 403
    # Nor with a token for another repository, or through it.
    mine = f"{world.bob.name}/x"
    with world.api(world.bob, mine) as api:
        assert api.get(f"/{repository}/manifests/1").status_code == 401
        assert api.get(f"/{mine}/blobs/{layer}").status_code == 404
        name = upload.rpartition("/")[2]
        assert api.get(f"/{mine}/blobs/uploads/{name}").status_code == 404


@pytest.mark.parametrize(
    ("where", "who", "pushes", "pulls"),
    [
        ("share/{group}/x", "alice", True, True),
        ("share/{group}/x", "bob", False, False),
        ("share/{group}/x", "admin", False, True),
        ("ready/x", "bob", False, True),
        ("ready/x", "admin", True, True),
        ("hub/docker.io/x", "alice", False, True),
        ("hub/docker.io/x", "admin", False, True),
        ("{alice}/x", "admin", False, True),
        ("share/{group}", "alice", False, False),
        ("share", "alice", False, False),
        ("{alice}", "alice", False, False),
    ],
)
def test_namespaces(world: World, where: str, who: str, pushes: bool, pulls: bool) -> None:
    people: dict[str, tuple[Someone, str]] = {
        "alice": (world.alice, PASSWORD),
        "bob": (world.bob, PASSWORD),
        "admin": (world.people.admin, world.server.token),
    }
    person, secret = people[who]
    repository = where.format(group=world.group, alice=world.alice.name)
    token = token_for(world.url, person.name, secret, f"repository:{repository}:pull,push")
    assert (status(world, token, f"{repository}/blobs/uploads/", "POST") == 202) is pushes
    assert (status(world, token, f"{repository}/blobs/{digest_of(b'?')}") in (404, 503)) is (
        pulls or where.count("/") == 0 or where == "share/{group}"
    )


@pytest.mark.parametrize("ends", ["registry", "catalogue"])
def test_shares_end_with_what_was_shared(world: World, repository: str, ends: str) -> None:
    def pushed(tag: str) -> None:
        with closing(pusher(world.server, world.alice.name, PASSWORD, repository)) as client:
            push_small(client, repository, tag)

    def seen_by_bob(tag: str) -> int:
        scope = f"repository:{repository}:pull"
        token = token_for(world.url, world.bob.name, PASSWORD, scope)
        return status(world, token, f"{repository}/manifests/{tag}")

    pushed("1")
    name = f"{world.server.images}/{repository}:1"
    made = world.alice.do("POST", "/images", {"name": name}, expect=201)
    bob = {"kind": "user", "name": world.bob.name}
    world.alice.do("POST", f"/images/{made['id']}/share", bob)
    assert seen_by_bob("1") == 200
    if ends == "registry":
        world.alice.do("DELETE", f"/registry/images?repository={repository}")
    else:
        world.alice.do("DELETE", f"/images/{made['id']}")
    pushed("2")
    assert seen_by_bob("2") in (401, 403, 404)


def test_who_is_disabled_is_out_at_once(world: World) -> None:
    gone = world.people.person()
    repository = f"{gone.name}/x"
    scope = f"repository:{repository}:pull,push"
    token = token_for(world.url, gone.name, PASSWORD, scope)
    kept = world.people.with_token(gone, label="ci").token
    assert status(world, token, f"{repository}/blobs/uploads/", "POST") == 202
    world.people.admin.do("POST", f"/users/{gone.name}/disable")
    limit = time.monotonic() + PATIENCE
    while status(world, token, "") != 401:
        assert time.monotonic() < limit
        time.sleep(0.05)
    for secret in (PASSWORD, kept):
        with pytest.raises(HTTPError) as refused:
            token_for(world.url, gone.name, secret)
        assert refused.value.code == 401


def test_who_leaves_a_group_leaves_its_images(world: World) -> None:
    group = world.people.group()
    person = world.people.person(group)
    repository = f"share/{group}/x"
    scope = f"repository:{repository}:pull"
    token = token_for(world.url, person.name, PASSWORD, scope)
    assert status(world, token, f"{repository}/tags/list") == 404
    world.people.admin.do("DELETE", f"/groups/{group}/members/{person.name}")
    limit = time.monotonic() + PATIENCE
    while status(world, token, f"{repository}/tags/list") != 401:
        assert time.monotonic() < limit
        time.sleep(0.05)
    token = token_for(world.url, person.name, PASSWORD, scope)
    assert status(world, token, f"{repository}/tags/list") == 403


def test_a_quota_ends_a_push_with_a_sentence(world: World) -> None:
    name = world.frugal.name
    repository = f"{name}/x"
    with world.api(world.frugal, repository) as api:
        kept = put(api, repository, b"a" * 2_000_000)
        where = str(api.base_url.copy_with(path=begin(api, repository)))
        answer = api.patch(where, content=b"b" * 2_500_000)
        assert (answer.status_code, code_of(answer)) == (403, "DENIED")
        assert "danlu registry delete" in answer.text
        # The config, which comes last, is always taken; and the image of what fits.
        body = image(api, repository, "small")
        assert push(api, repository, "1", body).status_code == 201
        assert api.delete(f"/{repository}/blobs/{kept}").status_code == 202
    with world.api(world.frugal, repository) as api:
        put(api, repository, b"b" * 2_500_000)  # there is room again


def test_deleting_an_image_makes_room_at_once(world: World) -> None:
    repository = f"{world.frugal.name}/y"
    before = world.frugal.get("/registry")["usage"][0]
    assert before["quota"] == 3 << 20
    with pusher(world.server, world.frugal.name, PASSWORD, repository) as client:
        push_small(client, repository, "1")
    used = world.frugal.get("/registry")["usage"][0]["used"]
    assert used > before["used"]
    world.frugal.do("DELETE", f"/registry/images?repository={repository}&reference=1")
    assert world.frugal.get("/registry")["usage"][0]["used"] == before["used"]
    answer = world.frugal.http.get("/registry/images", params={"repository": repository})
    assert answer.status_code == 404


def test_nobody_keeps_a_group_from_pushing(world: World) -> None:
    """With uploads left open, which were counted by owner: for an hour, nobody of it could push."""
    repository = f"share/{world.group}/{world.people.name('r')}"
    eve = world.people.person(world.group)
    with world.api(eve, repository) as left_open:
        for _ in range(MOST_UPLOADS):
            begin(left_open, repository)
        assert left_open.post(f"/{repository}/blobs/uploads/").status_code == 429
        # Nor does she get more by pushing somewhere else.
        with world.api(eve, f"{eve.name}/x") as own:
            assert own.post(f"/{eve.name}/x/blobs/uploads/").status_code == 429
    with world.api(world.alice, repository) as api:
        push(api, repository, "1", image(api, repository, "the group's"))
