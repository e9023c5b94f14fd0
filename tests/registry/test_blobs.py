"""Blobs, as the distribution spec has them: whole, in chunks, mounted, cancelled, in ranges."""

from __future__ import annotations

import hashlib
import os

import httpx
import pytest

from tests.registry.conftest import World
from tests.support.images import digest_of


def begin(api: httpx.Client, repository: str, query: str = "") -> str:
    answer = api.post(f"/{repository}/blobs/uploads/{query}")
    assert answer.status_code == 202, answer.text
    assert "location" in answer.headers
    return str(answer.headers["location"])


def put(api: httpx.Client, repository: str, content: bytes) -> str:
    digest = digest_of(content)
    where = begin(api, repository)
    answer = api.put(at(api, where), params={"digest": digest}, content=content)
    assert answer.status_code == 201, answer.text
    return digest


def at(api: httpx.Client, location: str) -> str:
    return str(api.base_url.copy_with(path=location))


def code_of(answer: httpx.Response) -> str:
    return str(answer.json()["errors"][0]["code"])


def test_a_blob_comes_back_as_it_was_pushed(api: httpx.Client, repository: str) -> None:
    content = os.urandom(3_000_000)
    digest = put(api, repository, content)
    found = api.get(f"/{repository}/blobs/{digest}")
    assert (found.status_code, found.content) == (200, content)
    assert found.headers["docker-content-digest"] == digest
    head = api.head(f"/{repository}/blobs/{digest}")
    assert (head.status_code, head.headers["content-length"]) == (200, str(len(content)))


def test_a_blob_may_come_with_the_first_request(api: httpx.Client, repository: str) -> None:
    content = b"all at once"
    query = {"digest": digest_of(content)}
    answer = api.post(f"/{repository}/blobs/uploads/", params=query, content=content)
    assert answer.status_code == 201
    assert api.get(at(api, answer.headers["location"])).content == content


def test_an_empty_blob_is_one(api: httpx.Client, repository: str) -> None:
    digest = put(api, repository, b"")
    found = api.get(f"/{repository}/blobs/{digest}")
    assert (found.status_code, found.content) == (200, b"")


def test_chunks_have_to_follow_each_other(api: httpx.Client, repository: str) -> None:
    first, second = os.urandom(100_000), os.urandom(50_000)
    where = begin(api, repository)
    answer = api.patch(at(api, where), content=first, headers={"content-range": "0-99999"})
    assert (answer.status_code, answer.headers["range"]) == (202, "0-99999")
    where = answer.headers["location"]
    late = api.patch(at(api, where), content=second, headers={"content-range": "100001-150000"})
    assert (late.status_code, late.headers["range"]) == (416, "0-99999")
    status = api.get(at(api, where))
    assert (status.status_code, status.headers["range"]) == (204, "0-99999")
    answer = api.patch(at(api, where), content=second, headers={"content-range": "100000-149999"})
    assert answer.status_code == 202
    digest = digest_of(first + second)
    done = api.put(at(api, answer.headers["location"]), params={"digest": digest})
    assert done.status_code == 201
    assert api.get(f"/{repository}/blobs/{digest}").content == first + second


def test_a_wrong_digest_is_refused_and_nothing_is_kept(api: httpx.Client, repository: str) -> None:
    where, digest = begin(api, repository), digest_of(b"something else")
    answer = api.put(at(api, where), params={"digest": digest}, content=b"this")
    assert (answer.status_code, code_of(answer)) == (400, "DIGEST_INVALID")
    assert api.head(f"/{repository}/blobs/{digest}").status_code == 404
    assert api.get(at(api, where)).status_code == 404
    for bad in ("", "md5:abc", "sha256:xyz"):
        answer = api.put(at(api, begin(api, repository)), params={"digest": bad}, content=b"this")
        assert (answer.status_code, code_of(answer)) == (400, "DIGEST_INVALID")


def test_an_upload_can_be_cancelled(api: httpx.Client, repository: str) -> None:
    where = begin(api, repository)
    assert api.delete(at(api, where)).status_code == 204
    answer = api.get(at(api, where))
    assert (answer.status_code, code_of(answer)) == (404, "BLOB_UPLOAD_UNKNOWN")


def test_sha512_is_as_good(api: httpx.Client, repository: str) -> None:
    content = os.urandom(1000)
    digest = f"sha512:{hashlib.sha512(content).hexdigest()}"
    for query in ("", "?digest-algorithm=sha512"):
        where = begin(api, repository, query)
        answer = api.put(at(api, where), params={"digest": digest}, content=content)
        assert answer.status_code == 201, answer.text
    assert api.get(f"/{repository}/blobs/{digest}").content == content


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-9", 0, 10),
        ("bytes=10-", 10, 1000),
        ("bytes=-5", 995, 1000),
        ("bytes=990-2000", 990, 1000),
    ],
)
def test_a_part_of_a_blob(
    api: httpx.Client, repository: str, asked: str, start: int, end: int
) -> None:
    content = os.urandom(1000)
    digest = put(api, repository, content)
    found = api.get(f"/{repository}/blobs/{digest}", headers={"range": asked})
    assert (found.status_code, found.content) == (206, content[start:end])
    assert found.headers["content-range"] == f"bytes {start}-{end - 1}/1000"


def test_a_part_that_is_not_there(api: httpx.Client, repository: str) -> None:
    digest = put(api, repository, b"short")
    found = api.get(f"/{repository}/blobs/{digest}", headers={"range": "bytes=10-20"})
    assert found.status_code == 416


def test_what_is_not_there_is_unknown(api: httpx.Client, repository: str) -> None:
    answer = api.get(f"/{repository}/blobs/{digest_of(b'nothing')}")
    assert (answer.status_code, code_of(answer)) == (404, "BLOB_UNKNOWN")
    answer = api.get(f"/{repository}/blobs/nonsense")
    assert (answer.status_code, code_of(answer)) == (400, "DIGEST_INVALID")


def test_a_deleted_blob_is_gone_from_its_repository(api: httpx.Client, repository: str) -> None:
    digest = put(api, repository, os.urandom(100))
    assert api.delete(f"/{repository}/blobs/{digest}").status_code == 202
    assert api.get(f"/{repository}/blobs/{digest}").status_code == 404
    assert api.delete(f"/{repository}/blobs/{digest}").status_code == 404


def test_a_blob_is_mounted_from_where_one_may_pull(world: World, repository: str) -> None:
    other = f"share/{world.group}/{world.people.name('r')}"
    with world.api(world.alice, repository, other) as api:
        digest = put(api, repository, b"of two repositories")
        query = {"mount": digest, "from": repository}
        answer = api.post(f"/{other}/blobs/uploads/", params=query)
        assert answer.status_code == 201
        assert api.get(f"/{other}/blobs/{digest}").content == b"of two repositories"


def test_a_blob_of_the_same_owner_is_mounted_without_a_token_for_where_it_is(
    world: World, repository: str
) -> None:
    content = os.urandom(100)
    with world.api(world.alice, repository) as api:
        digest = put(api, repository, content)
    for query in ({"mount": digest}, {"mount": digest, "from": repository}):
        other = f"{world.alice.name}/{world.people.name('r')}"
        with world.api(world.alice, other) as api:
            answer = api.post(f"/{other}/blobs/uploads/", params=query)
            assert answer.status_code == 201
            assert api.get(at(api, answer.headers["location"])).content == content
    for who, where in ((world.bob, world.bob.name), (world.alice, f"share/{world.group}")):
        other = f"{where}/{world.people.name('r')}"
        with world.api(who, other) as api:
            for query in ({"mount": digest}, {"mount": digest, "from": repository}):
                answer = api.post(f"/{other}/blobs/uploads/", params=query)
                assert answer.status_code == 202, "not the owner's: to be uploaded"
                assert api.head(f"/{other}/blobs/{digest}").status_code == 404


def test_a_blob_is_not_mounted_from_anothers_repository(world: World, repository: str) -> None:
    mine = f"{world.bob.name}/{world.people.name('r')}"
    with world.api(world.alice, repository) as api:
        digest = put(api, repository, b"alice's alone")
    with world.api(world.bob, mine, repository) as api:
        query = {"mount": digest, "from": repository}
        answer = api.post(f"/{mine}/blobs/uploads/", params=query)
        assert answer.status_code == 202  # upload it yourself
        assert api.head(f"/{mine}/blobs/{digest}").status_code == 404


def test_whoever_mounts_is_told_to_ask_for_both_repositories(world: World, repository: str) -> None:
    other = f"share/{world.group}/{world.people.name('r')}"
    query = {"mount": digest_of(b"x"), "from": repository}
    with httpx.Client(base_url=f"{world.url}/v2", trust_env=False) as nobody:
        answer = nobody.post(f"/{other}/blobs/uploads/", params=query)
        assert answer.status_code == 401
        wanted = f'scope="repository:{other}:pull,push repository:{repository}:pull"'
        assert wanted in answer.headers["www-authenticate"]
        query["from"] = 'x"y'
        again = nobody.post(f"/{other}/blobs/uploads/", params=query)
        assert f'scope="repository:{other}:pull,push"' in again.headers["www-authenticate"]


def test_what_nobody_has_is_not_mounted(world: World, api: httpx.Client, repository: str) -> None:
    query = {"mount": digest_of(b"nobody has it"), "from": repository}
    answer = api.post(f"/{repository}/blobs/uploads/", params=query)
    assert answer.status_code == 202
