"""Bodies that go between the connection and the user's helper past the server: exact, and bounded.

Everything of more than 256 KiB does, without TLS; with TLS, the server copies.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import http.client
import os
import secrets
import signal
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from danlu.files.helpers import Away, Call
from tests.files.desk import PATIENCE, Desk
from tests.files.people import CONFIG, STREAM, TUS, Someone, join
from tests.files.test_transfers import helpers
from tests.support.certificates import make_certificate
from tests.support.disks import immutable
from tests.support.server import DanluServer

BIG = (5 << 20) + 4321


@pytest.fixture(scope="module")
def data() -> bytes:
    return os.urandom(BIG)


def head(alice: Someone, method: str, path: str, **fields: object) -> bytes:
    told = {"Host": "x", "Authorization": f"Bearer {alice.token}", **fields}
    lines = [f"{method} {path} HTTP/1.1", *(f"{key}: {value}" for key, value in told.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def patch(alice: Someone, location: str, size: int, offset: int = 0, **more: object) -> bytes:
    fields = {**TUS, **STREAM, "Upload-Offset": offset, "Content-Length": size, **more}
    return head(alice, "PATCH", location, **fields)


def link_to(alice: Someone) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", alice.server.port))
    link.settimeout(PATIENCE)
    return link


def answered(link: socket.socket, method: str = "GET") -> tuple[int, bytes]:
    answer = http.client.HTTPResponse(link, method=method)
    answer.begin()
    return answer.status, answer.read()


def until_its_end(link: socket.socket) -> int:
    total = 0
    with contextlib.suppress(ConnectionResetError):
        while got := len(link.recv(1 << 20)):
            total += got
    return total


def descriptors(server: DanluServer) -> int:
    assert server.process is not None
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def settle(alice: Someone, most: int) -> None:
    """Waits until what was cut has been cleared away."""
    deadline = time.monotonic() + PATIENCE
    while (now := descriptors(alice.server)) > most:
        assert time.monotonic() < deadline, (now, most)
        time.sleep(0.05)


# -- one connection --------------------------------------------------------------------------------


def test_several_bodies_go_over_one_connection(alice: Someone, data: bytes) -> None:
    with link_to(alice) as link:
        for turn in range(3):
            path = f"/userhome/kept-alive/{turn}"
            location = alice.begin(path, BIG).headers["location"]
            link.sendall(patch(alice, location, BIG) + data)
            assert answered(link, "PATCH")[0] == 204
            link.sendall(head(alice, "GET", f"/danlu/v1/files/content?path={path}"))
            assert answered(link) == (200, data)
            part = {"Range": f"bytes=1000-{BIG - 2000}"}
            link.sendall(head(alice, "GET", f"/danlu/v1/files/content?path={path}", **part))
            assert answered(link) == (206, data[1000 : BIG - 1999])
    assert (alice.home() / "kept-alive/2").read_bytes() == data


def test_a_request_that_follows_at_once_is_answered(alice: Someone, data: bytes) -> None:
    location = alice.begin("/userhome/followed", BIG).headers["location"]
    after = head(alice, "GET", "/danlu/v1/files/stat?path=/userhome/followed")
    with link_to(alice) as link:
        link.sendall(patch(alice, location, BIG) + data + after + after)
        assert answered(link, "PATCH")[0] == 204
        for _ in range(2):
            status, body = answered(link)
            assert status == 200 and f'"size":{BIG}'.encode() in body.replace(b" ", b"")


def test_a_client_that_waits_for_a_hundred_gets_it(alice: Someone, data: bytes) -> None:
    location = alice.begin("/userhome/waited", BIG).headers["location"]
    with link_to(alice) as link:
        link.sendall(patch(alice, location, BIG, Expect="100-continue"))
        assert link.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        link.sendall(data)
        assert answered(link, "PATCH")[0] == 204


def test_a_folder_and_a_webdav_client_get_theirs(alice: Someone, data: bytes) -> None:
    auth = {"Authorization": b"Basic " + base64.b64encode(f"alice:{alice.token}".encode())}
    url = f"{alice.server.url}/dav/userhome/by-dav"
    with httpx.Client(headers=auth, timeout=PATIENCE, trust_env=False) as dav:
        assert dav.put(url, content=data).status_code == 201
        assert dav.get(url).content == data
    whole = alice.http.get("/archive", params={"path": "/userhome/by-dav"}).content
    assert data in whole
    part = {"Range": f"bytes=700-{BIG - 1}"}
    rest = alice.http.get("/archive", params={"path": "/userhome/by-dav"}, headers=part)
    assert rest.content == whole[700:BIG]


# -- what breaks -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def huge(alice: Someone, data: bytes) -> bytes:
    """More than there is room for between a file and who reads it, in `/userhome/huge`."""
    found = data * 10
    assert alice.upload("/userhome/huge", found).status_code == 204
    return found


def test_a_slow_reader_gets_every_byte(alice: Someone, huge: bytes) -> None:
    with link_to(alice) as link:
        link.sendall(head(alice, "GET", "/danlu/v1/files/content?path=/userhome/huge"))
        time.sleep(0.5)  # everything in between is full by now
        assert alice.get("/stat", path="/userhome/huge")["size"] == len(huge), "others go on"
        assert answered(link) == (200, huge)


def test_who_hangs_up_leaves_nothing_behind(alice: Someone, data: bytes) -> None:
    alice.upload("/userhome/left", data)
    before = descriptors(alice.server)
    for _ in range(35):  # more than one may have at a time
        location = alice.begin("/userhome/cut", BIG, conflict="rename").headers["location"]
        with link_to(alice) as link:
            link.sendall(patch(alice, location, BIG) + data[: BIG // 2])
        with link_to(alice) as link:
            link.sendall(head(alice, "GET", "/danlu/v1/files/content?path=/userhome/left"))
            assert link.recv(1000)
    settle(alice, before + 2)
    assert alice.content("/userhome/left").content == data


def test_a_killed_helper_ends_a_download_and_not_the_upload(
    server: DanluServer, alice: Someone, data: bytes, huge: bytes
) -> None:
    with link_to(alice) as link:
        link.sendall(head(alice, "GET", "/danlu/v1/files/content?path=/userhome/huge"))
        assert link.recv(1000)
        for pid in helpers(server):
            os.kill(pid, signal.SIGKILL)
        assert until_its_end(link) < len(huge)
    alice.get("/stat", path="/userhome/huge")  # has another helper started
    location = alice.begin("/userhome/resumed/file", BIG).headers["location"]
    (part,) = (alice.home() / "resumed").iterdir()
    with link_to(alice) as link:
        link.sendall(patch(alice, location, BIG) + data[:3_000_000])
        deadline = time.monotonic() + PATIENCE
        while not (arrived := part.stat().st_size):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for pid in helpers(server):
            os.kill(pid, signal.SIGKILL)
        link.sendall(data[3_000_000:3_100_000])
        status, body = answered(link, "PATCH")
        assert status >= 500, (status, body)
    at = alice.offset(location)
    assert at >= arrived
    assert alice.send(location, data[at:], at).status_code == 204
    found = (alice.home() / "resumed/file").read_bytes()
    assert hashlib.sha256(found).digest() == hashlib.sha256(data).digest()


def test_whoever_still_sends_when_it_is_refused_hears_why(alice: Someone, data: bytes) -> None:
    """Nobody hangs up on bytes that are still coming: that would be a reset, and on some systems
    the answer is lost with it."""
    size = 20 * BIG
    location = alice.begin("/userhome/refused/file", size).headers["location"]
    (part,) = (alice.home() / "refused").iterdir()
    with link_to(alice) as link:
        link.sendall(patch(alice, location, size) + data[:-1])
        deadline = time.monotonic() + PATIENCE
        while part.stat().st_size < BIG - 1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        if not immutable("+", part):
            pytest.skip("no file system here can make a file read-only under its writer")
        try:
            for _ in range(10):
                link.sendall(data)
            status, body = answered(link, "PATCH")
            assert 400 <= status < 600 and b'"code"' in body
            with contextlib.suppress(ConnectionError):  # what still comes is taken for two seconds
                link.sendall(data)
        finally:
            immutable("-", part)


def test_a_file_that_is_cut_meanwhile_ends_the_connection(alice: Someone) -> None:
    path = alice.home() / "shrinks"
    path.write_bytes(b"x" * (64 << 20))
    with link_to(alice) as link:
        link.sendall(head(alice, "GET", "/danlu/v1/files/content?path=/userhome/shrinks"))
        assert link.recv(1000)
        os.truncate(path, 1000)
        assert until_its_end(link) < 60 << 20
    path.unlink()


def test_more_than_was_promised_is_refused(alice: Someone, data: bytes) -> None:
    location = alice.begin("/userhome/beyond", BIG - 1).headers["location"]
    assert alice.send(location, data, 0).status_code == 413
    assert "beyond" not in alice.names("/userhome")


# -- the helper's end ------------------------------------------------------------------------------


async def piped(desk: Desk, path: str, size: int, **more: Any) -> Call:
    about = {"size": size, "nonce": secrets.token_hex(16), "kind": "file", **more}
    assert "error" not in await desk.ask("upload-create", path=path, **about | {"keep_free": 0})
    call = await desk.call("upload-append", path=path, offset=0, pipe="up", **about)
    assert await call.answer(PATIENCE) == {"ready": True}
    assert call.pipe is not None
    os.set_blocking(call.pipe, True)
    return call


async def test_what_comes_by_the_pipe_is_checked_like_everything(desk: Desk) -> None:
    for sent, checksum, told in (
        (b"sixsix", f"sha256 {hashlib.sha256(b'sixsix').hexdigest()}", None),
        (b"sixsix", "sha1 00", "checksum"),
        (b"sixsix!", "", "too_much"),
        (b"sixsix!", "sha1 00", "too_much"),
    ):
        call = await piped(desk, f"file-{told}", 6, checksum=checksum, conflict="rename")
        assert call.pipe is not None
        os.write(call.pipe, sent)
        call.close_pipe()
        with contextlib.suppress(Away):  # it may have answered and closed already
            await call.send_piece(b"")
        done = await call.answer(PATIENCE)
        assert done.get("error") == told, done
        call.close()
    assert sorted(each for each in os.listdir(desk.home) if each[0] != ".") == ["file-None"]


async def test_whoever_goes_on_at_once_does_not_find_the_upload_locked(desk: Desk) -> None:
    about = {"size": 300, "nonce": secrets.token_hex(16), "kind": "file"}
    assert "error" not in await desk.ask("upload-create", path="piece by piece", **about)
    for at in range(300):
        call = await desk.call("upload-append", path="piece by piece", offset=at, **about)
        assert await call.answer(PATIENCE) == {"ready": True}
        await call.send_piece(b"x")
        await call.send_piece(b"")
        assert (await call.answer(PATIENCE))["offset"] == at + 1
        call.close()
    assert (desk.home / "piece by piece").read_bytes() == b"x" * 300


async def test_a_disk_is_not_filled_up_by_what_began_when_there_was_room(desk: Desk) -> None:
    """Many uploads at once, or one of unknown length, each begin while there still is."""
    for number, way in enumerate(("pipe", "socket")):
        call = await piped(desk, way, 6, keep_free=1 << 60)
        assert call.pipe is not None
        with contextlib.suppress(BrokenPipeError):  # it may have answered and closed already
            if way == "pipe":
                os.write(call.pipe, b"six")
        call.close_pipe()
        with contextlib.suppress(Away):
            await call.send_piece(b"six")
            await call.send_piece(b"")
        assert (await call.answer(PATIENCE)).get("error") == "no_room"
        call.close()
        assert [each.stat().st_size for each in desk.home.iterdir()] == [0] * (number + 1)


async def test_a_file_is_not_completed_for_a_server_that_has_gone(desk: Desk) -> None:
    """Its client asks the next server, which has to find the upload."""
    call = await piped(desk, "file", 6)
    assert call.pipe is not None
    os.write(call.pipe, b"sixsix")
    call.close()
    deadline = time.monotonic() + PATIENCE
    while not [each for each in desk.home.iterdir() if each.stat().st_size == 6]:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    assert [each.name[:14] for each in desk.home.iterdir()] == [".danlu-upload-"]


# -- TLS -------------------------------------------------------------------------------------------


def test_with_tls_the_same_arrives(tmp_path: Path, data: bytes) -> None:
    made = make_certificate(tmp_path)
    config = f'[server]\ntls_cert = "{made.cert}"\ntls_key = "{made.key}"\n'
    server = DanluServer(tmp_path / "data", config + CONFIG, certificate=made)
    server.start()
    try:
        someone = join(server, "carol")
        assert someone.upload("/userhome/tls", data).status_code == 204
        assert someone.content("/userhome/tls").content == data
    finally:
        server.stop()
