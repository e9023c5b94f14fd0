"""Uploads and downloads are exact, whatever is killed or cut in between."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import socket
import tarfile
import zipfile
from pathlib import Path
from urllib.parse import quote

from tests.files.people import STREAM, TUS, Someone
from tests.support.server import DanluServer


def cut(alice: Someone, location: str, data: bytes, offset: int, sent: int) -> None:
    """Sends only a part of what was promised, and hangs up."""
    head = [f"PATCH {location} HTTP/1.1", "Host: x", f"Authorization: Bearer {alice.token}"]
    fields = {**TUS, **STREAM, "Upload-Offset": offset, "Content-Length": len(data) - offset}
    head += [f"{name}: {value}" for name, value in fields.items()]
    with socket.create_connection(("127.0.0.1", alice.server.port)) as link:
        link.sendall(("\r\n".join(head) + "\r\n\r\n").encode() + data[offset : offset + sent])
        link.shutdown(socket.SHUT_WR)
        while link.recv(65536):
            pass


def helpers(server: DanluServer) -> list[int]:
    assert server.process is not None
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                status = Path(f"/proc/{name}/status").read_text()
            except OSError:
                continue
            if b"danlu.files.helper" in words and f"PPid:\t{server.process.pid}\n" in status:
                found.append(int(name))
    return found


def test_an_upload_survives_cuts_a_killed_helper_and_a_killed_server(
    server: DanluServer, alice: Someone
) -> None:
    data = os.urandom((9 << 20) + 123)
    location = alice.begin("/userhome/new/big.bin", len(data), modified="1700000000").headers[
        "location"
    ]
    cut(alice, location, data, 0, 2_500_001)
    at = alice.offset(location)
    assert 0 < at <= 2_500_001, "what has arrived stays"
    cut(alice, location, data, at, 1_000_000)
    for pid in helpers(server):
        os.kill(pid, signal.SIGKILL)
    second = alice.offset(location)
    assert second >= at
    cut(alice, location, data, second, 3_000_000)
    server.kill()
    server.start()
    third = alice.offset(location)
    assert third >= second
    assert alice.names("/userhome/new") == [], "a file is not there before it is whole"
    done = alice.send(location, data[third:], third)
    assert done.status_code == 204
    assert done.headers["danlu-path"] == "/userhome/new/big.bin"
    found = alice.content("/userhome/new/big.bin")
    assert hashlib.sha256(found.content).digest() == hashlib.sha256(data).digest()
    assert alice.get("/stat", path="/userhome/new/big.bin")["modified_at"] == 1700000000
    assert alice.http.head(alice.at(location), headers=TUS).status_code == 404


def test_an_upload_whose_end_was_lost_is_completed_by_asking(alice: Someone) -> None:
    location = alice.begin("/userhome/lost/file", 4).headers["location"]
    (part,) = (alice.home() / "lost").iterdir()
    part.write_bytes(b"four")  # as if all had been killed after the last byte
    answer = alice.http.head(alice.at(location), headers=TUS)
    assert (answer.status_code, answer.headers["upload-offset"]) == (200, "4")
    assert alice.content("/userhome/lost/file").content == b"four"
    assert alice.names("/userhome/lost") == ["file"]


def test_uploads_that_nobody_continues_and_old_things_in_the_bin_go(alice: Someone) -> None:
    for name in ("stale", "recent"):
        alice.begin(f"/userhome/up/{name}", 4)
    parts = sorted((alice.home() / "up").iterdir())
    os.utime(parts[0], (1, 1))
    assert alice.names("/userhome/up") == [], "they are never shown"
    assert list((alice.home() / "up").iterdir()) == [parts[1]]
    for name in ("old", "new"):
        alice.upload(f"/userhome/old-bin/{name}", b"x")
        alice.post("/delete", paths=[f"/userhome/old-bin/{name}"])
    items = {item["name"]: item["id"].rpartition("~")[2] for item in alice.get("/bin")["items"]}
    (folder,) = (alice.home() / ".danlu-bin").iterdir()
    os.utime(folder / items["old"] / "info", (1, 1))
    left = [item["name"] for item in alice.get("/bin")["items"]]
    assert "new" in left and "old" not in left
    assert not (folder / items["old"]).exists()


def test_a_download_is_continued_where_it_was_cut(server: DanluServer, alice: Someone) -> None:
    data = os.urandom(3 << 20)
    assert alice.upload("/userhome/down.bin", data).status_code == 204
    first = alice.content("/userhome/down.bin", Range="bytes=0-999999")
    assert (first.status_code, first.headers["content-range"]) == (
        206,
        f"bytes 0-999999/{len(data)}",
    )
    server.kill()
    server.start()
    etag = first.headers["etag"]
    rest = alice.content("/userhome/down.bin", **{"Range": "bytes=1000000-", "If-Range": etag})
    assert rest.status_code == 206
    assert first.content + rest.content == data
    assert alice.content("/userhome/down.bin", **{"If-None-Match": etag}).status_code == 304
    assert alice.content("/userhome/down.bin", Range="bytes=-5").content == data[-5:]
    beyond = alice.content("/userhome/down.bin", Range=f"bytes={len(data)}-")
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(data)}")
    alice.upload("/userhome/down.bin", b"another", conflict="overwrite")
    whole = alice.content("/userhome/down.bin", **{"Range": "bytes=3-", "If-Range": etag})
    assert (whole.status_code, whole.content) == (200, b"another"), (
        "a changed file comes as a whole"
    )


def test_pieces_are_checked_and_offsets_agreed_on(alice: Someone) -> None:
    location = alice.begin("/userhome/checked", 6).headers["location"]
    assert alice.send(location, b"abc", 1).status_code == 409
    wrong = {"Upload-Checksum": "sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA="}
    assert alice.send(location, b"abc", 0, **wrong).status_code == 460
    assert alice.offset(location) == 0
    right = {"Upload-Checksum": "sha1 qZk+NkcGgWq6PiVxeFDCbJzQ2J0="}
    assert alice.send(location, b"abc", 0, **right).status_code == 204
    assert alice.send(location, b"defgh", 3).status_code == 413, "more than was said"
    assert alice.send(location, b"def", alice.offset(location)).status_code in (204, 409)
    other = alice.begin("/userhome/given-up", 10).headers["location"]
    assert alice.http.delete(alice.at(other), headers=TUS).status_code == 204
    assert alice.http.head(alice.at(other), headers=TUS).status_code == 404
    assert alice.http.post("/uploads").status_code == 412
    asked = alice.http.options("/uploads")
    assert "creation" in asked.headers["tus-extension"]


def test_a_taken_name_is_refused_overwritten_or_kept_beside(alice: Someone) -> None:
    alice.upload("/userhome/c/a.txt", b"one")
    refused = alice.begin("/userhome/c/a.txt", 3)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "exists")
    beside = alice.upload("/userhome/c/a.txt", b"two", conflict="rename")
    assert beside.headers["danlu-path"] == quote("/userhome/c/a (1).txt")
    late = alice.begin("/userhome/c/b.txt", 3).headers["location"]
    alice.upload("/userhome/c/b.txt", b"the")
    faster = alice.send(late, b"six", 0)
    assert faster.headers["danlu-path"] == quote("/userhome/c/b (1).txt"), "somebody was faster"
    assert alice.content("/userhome/c/b.txt").content == b"the"
    alice.upload("/userhome/c/a.txt", b"three", conflict="overwrite")
    assert alice.content("/userhome/c/a.txt").content == b"three"
    assert alice.names("/userhome/c") == ["a (1).txt", "a.txt", "b (1).txt", "b.txt"]
    assert alice.upload("/userhome/c/empty", b"").status_code == 201
    assert alice.content("/userhome/c/empty").content == b""


def test_an_upload_that_does_not_fit_is_refused_at_once(alice: Someone) -> None:
    answer = alice.begin("/userhome/huge", 1 << 43)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "no_room")


def test_a_folder_comes_as_tar_in_any_parts_and_as_zip(alice: Someone) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for number in range(300):
            info = tarfile.TarInfo(f"d{number % 7}/文件{number}")
            info.size = number * 37
            tar.addfile(info, io.BytesIO(bytes([number % 256]) * info.size))
    sent = alice.upload("/userhome/many", packed.getvalue(), kind="bundle")
    done = alice.ended(alice.get(f"/operations/{sent.headers['danlu-operation']}", wait=20))
    assert (done["state"], done["problem_count"]) == ("done", 0)
    query = {"path": "/userhome/many"}
    whole = alice.http.get("/archive", params=query)
    etag, size = whole.headers["etag"], len(whole.content)
    assert int(whole.headers["content-length"]) == size
    for start, stop in ((1, 700), (513, 1024), (size // 3, size), (size - 1, size)):
        headers = {"Range": f"bytes={start}-{stop - 1}", "If-Range": etag}
        part = alice.http.get("/archive", params=query, headers=headers)
        assert (part.status_code, part.content) == (206, whole.content[start:stop])
    with tarfile.open(fileobj=io.BytesIO(whole.content)) as tar:
        files = {each.name: each.size for each in tar if each.isreg()}
    assert files == {f"many/d{n % 7}/文件{n}": n * 37 for n in range(300)}
    zipped = alice.http.get("/archive", params={**query, "format": "zip"})
    with zipfile.ZipFile(io.BytesIO(zipped.content)) as archive:
        assert archive.testzip() is None
        assert len([name for name in archive.namelist() if not name.endswith("/")]) == 300


def test_only_real_images_are_shown_by_a_browser(alice: Someone) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(20)
    alice.upload("/userhome/i/real.png", png)
    alice.upload("/userhome/i/fake.png", b"<html><script>alert(1)</script>")
    for name, kind in (("real.png", "image/png"), ("fake.png", "application/octet-stream")):
        answer = alice.http.get("/content", params={"path": f"/userhome/i/{name}", "inline": True})
        assert answer.headers["content-type"] == kind
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        shown = "inline" if kind == "image/png" else "attachment"
        assert answer.headers["content-disposition"].startswith(shown)
