"""Manifests, tags, referrers and lists, as the distribution spec has them."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.api.people_harness import PASSWORD
from tests.registry.conftest import World
from tests.registry.test_blobs import code_of, put
from tests.support.images import MANIFEST, config_of, digest_of, manifest, part, token_for

INDEX = "application/vnd.oci.image.index.v1+json"


def push(
    api: httpx.Client, repository: str, reference: str, body: bytes, kind: str = MANIFEST
) -> httpx.Response:
    url = f"/{repository}/manifests/{reference}"
    return api.put(url, content=body, headers={"content-type": kind})


def image(api: httpx.Client, repository: str, text: str, **more: Any) -> bytes:
    layer = text.encode()
    config = config_of(layer)
    put(api, repository, layer)
    put(api, repository, config)
    return manifest(config, layer, **more)


def test_a_manifest_comes_back_byte_for_byte(api: httpx.Client, repository: str) -> None:
    body = image(api, repository, "one")
    answer = push(api, repository, "1", body)
    assert answer.status_code == 201, answer.text
    digest = digest_of(body)
    assert answer.headers["docker-content-digest"] == digest
    for reference in ("1", digest):
        found = api.get(f"/{repository}/manifests/{reference}")
        assert (found.status_code, found.content) == (200, body)
        assert found.headers["content-type"] == MANIFEST
        head = api.head(f"/{repository}/manifests/{reference}")
        assert head.headers["content-length"] == str(len(body))


def test_a_manifest_of_missing_blobs_is_refused(api: httpx.Client, repository: str) -> None:
    answer = push(api, repository, "1", manifest(b"{}", b"never pushed"))
    assert (answer.status_code, code_of(answer)) == (404, "MANIFEST_BLOB_UNKNOWN")


def test_what_is_no_manifest_is_refused(api: httpx.Client, repository: str) -> None:
    bad = [b"", b"[]", b"not json", b'{"schemaVersion": 1}', b'{"schemaVersion":2,"layers":3}']
    for body in bad:
        answer = push(api, repository, "1", body)
        assert (answer.status_code, code_of(answer)) == (400, "MANIFEST_INVALID"), body
    answer = push(api, repository, "1", b"[" * 200_000)
    assert answer.status_code == 400
    body = image(api, repository, "two")
    assert push(api, repository, "1", body, "application/another").status_code == 400
    assert push(api, repository, digest_of(b"other"), body).status_code == 400
    for half in (
        manifest(b"{}", artifactType="\ud800"),
        b'{"schemaVersion":2,"mediaType":"\\ud800"}',
    ):
        assert push(api, repository, "1", half).status_code == 400, "half a character"
    large = manifest(b"{}", annotations={"x": "y" * (5 << 20)})
    assert push(api, repository, "1", large).status_code == 413


def test_layers_that_may_not_be_distributed_need_not_be_there(
    api: httpx.Client, repository: str
) -> None:
    config = config_of()
    put(api, repository, config)
    kind = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
    body = json.loads(manifest(config))
    body["layers"] = [part(kind, b"elsewhere")]
    assert push(api, repository, "1", json.dumps(body).encode()).status_code == 201


def test_a_tag_moves_and_the_former_image_stays_by_digest(
    api: httpx.Client, repository: str
) -> None:
    first, second = image(api, repository, "first"), image(api, repository, "second")
    for body in (first, second):
        assert push(api, repository, "latest", body).status_code == 201
    assert api.get(f"/{repository}/manifests/latest").content == second
    assert api.get(f"/{repository}/manifests/{digest_of(first)}").content == first


def test_deleting_a_tag_and_deleting_an_image(api: httpx.Client, repository: str) -> None:
    body = image(api, repository, "of two tags")
    digest = digest_of(body)
    for tag in ("1", "2"):
        push(api, repository, tag, body)
    assert api.delete(f"/{repository}/manifests/1").status_code == 202
    answer = api.get(f"/{repository}/manifests/1")
    assert (answer.status_code, code_of(answer)) == (404, "MANIFEST_UNKNOWN")
    assert api.get(f"/{repository}/manifests/2").content == body
    assert api.delete(f"/{repository}/manifests/{digest}").status_code == 202
    assert api.get(f"/{repository}/manifests/2").status_code == 404
    assert api.delete(f"/{repository}/manifests/{digest}").status_code == 404


def test_tags_come_in_pages(api: httpx.Client, repository: str) -> None:
    assert api.get(f"/{repository}/tags/list").status_code == 404
    body = image(api, repository, "many tags")
    names = [f"t{number:02}" for number in range(7)]
    for name in names:
        push(api, repository, name, body)
    assert api.get(f"/{repository}/tags/list").json() == {"name": repository, "tags": names}
    found: list[str] = []
    url = f"/{repository}/tags/list?n=3"
    while url:
        answer = api.get(url)
        found += answer.json()["tags"]
        following = answer.links.get("next")
        url = (
            ""
            if following is None
            else f"{api.base_url.copy_with(path='/')}"[:-1] + following["url"]
        )
    assert found == names
    assert api.get(f"/{repository}/tags/list", params={"n": 0}).json()["tags"] == []
    for wrong in ("x", "-1", "9" * 5000):
        assert api.get(f"/{repository}/tags/list", params={"n": wrong}).status_code == 400


def test_an_index_names_images_for_several_machines(api: httpx.Client, repository: str) -> None:
    bodies = [image(api, repository, f"machine {number}") for number in range(2)]
    for body in bodies:
        push(api, repository, digest_of(body), body)
    index = json.dumps(
        {"schemaVersion": 2, "mediaType": INDEX, "manifests": [part(MANIFEST, b) for b in bodies]}
    ).encode()
    assert push(api, repository, "all", index, INDEX).status_code == 201
    found = api.get(f"/{repository}/manifests/all")
    assert (found.content, found.headers["content-type"]) == (index, INDEX)


def test_what_refers_to_an_image_is_found(api: httpx.Client, repository: str) -> None:
    body = image(api, repository, "signed")
    push(api, repository, "1", body)
    digest = digest_of(body)
    assert api.get(f"/{repository}/referrers/{digest}").json()["manifests"] == []
    about = image(
        api,
        repository,
        "signature",
        subject=part(MANIFEST, body),
        artifactType="application/x-signature",
        annotations={"by": "alice"},
    )
    answer = push(api, repository, digest_of(about), about)
    assert (answer.status_code, answer.headers["oci-subject"]) == (201, digest)
    found = api.get(f"/{repository}/referrers/{digest}")
    assert found.headers["content-type"] == INDEX
    (one,) = found.json()["manifests"]
    assert (one["digest"], one["artifactType"]) == (digest_of(about), "application/x-signature")
    assert one["annotations"] == {"by": "alice"}
    query = {"artifactType": "application/other"}
    found = api.get(f"/{repository}/referrers/{digest}", params=query)
    assert (found.json()["manifests"], found.headers["oci-filters-applied"]) == ([], "artifactType")
    assert api.get(f"/{repository}/referrers/nonsense").status_code == 400


def test_the_catalogue_shows_what_one_may_see(world: World, repository: str) -> None:
    with world.api(world.alice, repository) as api:
        push(api, repository, "1", image(api, repository, "in the catalogue"))
    seen = {}
    for who, password in (
        (world.alice, PASSWORD),
        (world.bob, PASSWORD),
        (world.people.admin, world.server.token),
    ):
        token = token_for(world.url, who.name, password, "registry:catalog:*")
        headers = {"authorization": f"Bearer {token}"}
        answer = httpx.get(f"{world.url}/v2/_catalog", headers=headers, trust_env=False)
        seen[who.name] = repository in answer.json()["repositories"]
    assert seen == {world.alice.name: True, world.bob.name: False, "admin": True}
