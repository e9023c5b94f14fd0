"""A member whose WebDAV client asks for little that makes much: the server answers on its loop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from danlu.api.dav.xml import LONGEST_NAME, MOST_NAMES
from danlu.services.dav_locks import MOST_SHARED
from tests.files.people import CONFIG, Someone, join
from tests.files.test_dav import LOCK, door
from tests.support.server import DanluServer

SHARED = LOCK.replace(b"exclusive", b"shared").replace(b"me &amp; mine", b"&amp;" * 5000)
MB = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    found = DanluServer(tmp_path_factory.mktemp("dav") / "data", CONFIG)
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def eve(server: DanluServer) -> Someone:
    return join(server, "eve")


@pytest.fixture
def dav(eve: Someone) -> Iterator[httpx.Client]:
    with door(eve) as client:
        yield client


def asked(dav: httpx.Client, path: str, names: bytes, depth: str = "0") -> httpx.Response:
    body = b'<propfind xmlns="DAV:"><prop>' + names + b"</prop></propfind>"
    return dav.request("PROPFIND", path, content=body, headers={"Depth": depth})


def test_a_property_asked_for_a_thousand_times_is_told_once(dav: httpx.Client) -> None:
    """300 locks, told 100 times, were 310 MB, and stopped everybody for 12 seconds."""
    dav.put("/userhome/once", content=b"x")
    told = asked(dav, "/userhome/once", b"<displayname/>" * 4000)
    assert told.status_code == 207 and told.text.count("displayname>") == 2
    assert told.text.count("<D:displayname>once</D:displayname>") == 1


def test_more_properties_than_any_client_needs_are_refused(dav: httpx.Client) -> None:
    dav.put("/userhome/few", content=b"x")
    many = [b"<x%d/>" % number for number in range(MOST_NAMES + 1)]
    assert asked(dav, "/userhome/few", b"".join(many)).status_code == 400
    assert asked(dav, "/userhome/few", b"".join(many[:-1])).status_code == 207
    assert asked(dav, "/userhome/few", b"<%b/>" % (b"x" * LONGEST_NAME)).status_code == 400


def test_a_file_has_few_shared_locks_however_they_are_placed(dav: httpx.Client) -> None:
    dav.request("MKCOL", "/userhome/a")
    dav.request("MKCOL", "/userhome/a/b")
    dav.put("/userhome/a/b/file", content=b"x")
    places = ["/userhome/a", "/userhome/a/b", "/userhome/a/b/file"] * MOST_SHARED
    got = [dav.request("LOCK", place, content=SHARED).status_code for place in places]
    assert (got.count(200), got.count(423)) == (MOST_SHARED, len(got) - MOST_SHARED)
    told = asked(dav, "/userhome/a/b", b"<lockdiscovery/>" * 3000, "1")
    assert told.text.count("<D:activelock>") <= 2 * MOST_SHARED
    assert len(told.content) < MB, "the folder and its file, each with its locks"


def test_other_encodings_hide_no_declarations(dav: httpx.Client) -> None:
    bomb = (
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE x [<!ENTITY a "aaaa">'
        '<!ENTITY b "&a;&a;&a;">]><D:propfind xmlns:D="DAV:"><D:prop>&b;</D:prop></D:propfind>'
    )
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        body = bomb.encode(encoding)
        assert dav.request("PROPFIND", "/userhome", content=body).status_code == 400, encoding


def test_a_file_of_unknown_length_is_no_way_past_a_quota(
    server: DanluServer, eve: Someone, dav: httpx.Client
) -> None:
    """60 MB went into a quota of 10."""

    def pieces(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield os.urandom(MB)

    assert server.cli("quota", "set", "user", "eve", "--disk", "10M").returncode == 0
    assert dav.put("/userhome/small", content=pieces(2)).status_code == 201
    assert dav.put("/userhome/large", content=pieces(30)).status_code == 507
    kept: list[Path] = [path for path in eve.home().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) < 10 * MB
    assert not (eve.home() / "large").exists()
    assert server.cli("quota", "remove", "user", "eve").returncode == 0
    assert dav.put("/userhome/large", content=pieces(30)).status_code == 201, "nothing is kept"
