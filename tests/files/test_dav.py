"""The WebDAV door: with real clients, for the right people, and for nothing outside."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.files.people import PASSWORD, Someone
from tests.files.test_hostile_paths import swapping
from tests.support.parts import need
from tests.support.server import PATIENCE, DanluServer

LOCK = (
    b'<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype><D:owner>me &amp; mine</D:owner></D:lockinfo>"
)

PATCHED = (
    b'<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x xmlns="urn:x"/>'
    b"</D:prop></D:set></D:propertyupdate>"
)


def door(someone: Someone, password: str = PASSWORD) -> httpx.Client:
    return httpx.Client(
        base_url=f"{someone.server.url}/dav",
        auth=(someone.name, password),
        timeout=PATIENCE,
        trust_env=False,
    )


def test_files_come_and_go(alice: Someone) -> None:
    with door(alice) as dav:
        assert dav.request("OPTIONS", "/").headers["dav"] == "1, 2"
        assert dav.request("MKCOL", "/userhome/web").status_code == 201
        assert dav.request("MKCOL", "/userhome/web").status_code == 405
        assert dav.request("MKCOL", "/userhome/no/such").status_code == 409
        data = os.urandom(3 << 20)
        assert dav.put("/userhome/web/a b.bin", content=data).status_code == 201
        assert (alice.home() / "web/a b.bin").read_bytes() == data
        assert dav.put("/userhome/web/a b.bin", content=iter([data, b"!"])).status_code == 204
        assert dav.get("/userhome/web/a b.bin").content == data + b"!", "also in chunks"
        part = dav.get("/userhome/web/a b.bin", headers={"Range": "bytes=1-3"})
        assert (part.status_code, part.content) == (206, data[1:4])
        to = {"Destination": f"{alice.server.url}/dav/userhome/web/c"}
        assert dav.request("COPY", "/userhome/web/a b.bin", headers=to).status_code == 201
        kept = dav.request("MOVE", "/userhome/web/c", headers={**to, "Overwrite": "F"})
        assert kept.status_code == 403
        other = {"Destination": "/dav/userhome/web/a%20b.bin", "Overwrite": "F"}
        assert dav.request("MOVE", "/userhome/web/c", headers=other).status_code == 412
        assert dav.delete("/userhome/web").status_code == 204
        assert dav.delete("/userhome/web").status_code == 404
    assert alice.get("/bin")["items"][0]["path"] == "/userhome/web"


def test_a_folder_is_listed_with_every_kind_of_name(alice: Someone) -> None:
    home = alice.home()
    with door(alice) as dav:
        dav.request("MKCOL", "/userhome/names")
        for name in ("plain", "数据 & <x>", "100%", "new\nline", "q?#"):
            assert dav.put(f"/userhome/names/{quote(name)}", content=b"x").status_code == 201
            assert (home / "names" / name).exists()
        listed = dav.request("PROPFIND", "/userhome/names", headers={"Depth": "1"})
        assert listed.status_code == 207
        hrefs = re.findall("<D:href>([^<]*)</D:href>", listed.text)
        assert len(hrefs) == 6 and "/dav/userhome/names/100%25" in hrefs
        for href in hrefs[1:]:
            assert dav.get(href.removeprefix("/dav")).content == b"x"
        top = dav.request("PROPFIND", "/", headers={"Depth": "1"})
        assert "/dav/userhome/" in top.text and "/dav/gdata/" in top.text
        assert (
            dav.request("PROPFIND", "/userhome", headers={"Depth": "infinity"}).status_code == 403
        )


def test_a_lock_keeps_others_out_until_it_is_given_back(alice: Someone) -> None:
    with door(alice) as dav:
        locked = dav.request("LOCK", "/userhome/locked.txt", content=LOCK)
        assert locked.status_code == 201 and "me &amp; mine" in locked.text
        token = locked.headers["lock-token"]
        assert dav.put("/userhome/locked.txt", content=b"1").status_code == 423
        assert dav.request("LOCK", "/userhome/locked.txt", content=LOCK).status_code == 423
        held = {"If": f"({token})"}
        assert dav.put("/userhome/locked.txt", content=b"2", headers=held).status_code == 204
        again = dav.request("LOCK", "/userhome/locked.txt", headers=held)
        assert again.status_code == 200
        wrong = {"Lock-Token": "<urn:uuid:00000000-0000-0000-0000-000000000000>"}
        assert dav.request("UNLOCK", "/userhome/locked.txt", headers=wrong).status_code == 409
        free = {"Lock-Token": token}
        assert dav.request("UNLOCK", "/userhome/locked.txt", headers=free).status_code == 204
        assert dav.put("/userhome/locked.txt", content=b"3").status_code == 204


def test_nobody_gets_in_without_a_password_or_into_anothers_folder(
    server: DanluServer, alice: Someone, bob: Someone
) -> None:
    url = f"{server.url}/dav/userhome/"
    for answer in (
        httpx.request("PROPFIND", url, trust_env=False),
        httpx.request("PROPFIND", url, auth=("alice", "wrong"), trust_env=False),
        httpx.request("PROPFIND", url, auth=("bob", alice.token), trust_env=False),
        httpx.request(
            "PROPFIND", url, headers={"Authorization": f"Bearer {alice.token}"}, trust_env=False
        ),
    ):
        assert answer.status_code == 401 and "Basic" in answer.headers["www-authenticate"]
    with door(alice) as dav:
        dav.put("/userhome/secret", content=b"alice's")
    with door(bob, bob.token) as dav:
        assert dav.get("/userhome/secret").status_code == 404, "it is bob's own"
        inside = f"{server.data}/home/alice/secret"
        (bob.home() / "way").symlink_to(inside)
        (bob.home() / "up").symlink_to("../alice")
        paths = ["/userhome/way", "/userhome/up/secret", "/mnt/user/alice/secret", inside]
        paths += ["/userhome/%2e%2e/alice/secret", "/userhome/..%2falice/secret", "/%00"]
        for path in paths:
            for method in ("GET", "PROPFIND", "PUT", "DELETE", "COPY", "LOCK"):
                if path == "/userhome/way" and method != "GET":
                    continue  # the link itself is bob's
                answer = dav.request(
                    method,
                    path,
                    headers={"Destination": "/dav/userhome/stolen", "Depth": "0"},
                    content=LOCK if method == "LOCK" else b"x" if method == "PUT" else None,
                )
                assert answer.status_code >= 400, (method, path, answer.status_code)
                assert b"alice's" not in answer.content
        outside = {"Destination": "/danlu/v1/x"}
        dav.put("/userhome/mine", content=b"m")
        assert dav.request("MOVE", "/userhome/mine", headers=outside).status_code == 403
    assert (alice.home() / "secret").read_bytes() == b"alice's"
    assert not (bob.home() / "stolen").exists()


LEADS_OUT = ("/userhome/up", "/userhome/way-in", "/mnt/user/alice", "/mnt/share/vision")
CHANGES = ("PUT", "DELETE", "MKCOL", "MOVE", "COPY", "PROPPATCH", "LOCK", "UNLOCK")


@pytest.mark.parametrize("top", LEADS_OUT)
def test_no_method_reaches_anothers_folder_in_either_direction(
    server: DanluServer, alice: Someone, bob: Someone, top: str
) -> None:
    """By links, by the folder of a group one is not in, and by others' paths."""
    if not (bob.home() / "way-in").is_symlink():
        server.post("/groups", {"name": "vision"})
        bob.get("/roots")
        (bob.home() / "way-in").symlink_to(alice.home())
    if not (bob.home() / "up").is_symlink():
        (bob.home() / "up").symlink_to("../alice")
    alice.upload("/userhome/kept/note", b"alice's", conflict="overwrite")
    before = sorted(path.name for path in alice.home().rglob("*"))
    share = server.data / "share" / "vision"
    with door(bob) as dav:
        dav.put("/userhome/mine", content=b"mine")
        for path in (f"{top}/kept/note", f"{top}/kept", f"{top}/new"):
            for method in (*CHANGES, "GET", "HEAD", "PROPFIND"):
                body = {"LOCK": LOCK, "PUT": b"x", "PROPPATCH": PATCHED}.get(method)
                headers = {"Destination": "/dav/userhome/stolen", "Depth": "0"}
                headers |= {"Lock-Token": "<urn:uuid:0>"} if method == "UNLOCK" else {}
                answer = dav.request(method, path, headers=headers, content=body)
                assert answer.status_code >= 400, (method, path, answer.status_code)
                assert b"alice's" not in answer.content
            for method in ("COPY", "MOVE"):
                for kept in ("T", "F"):
                    into = {"Destination": f"/dav{path}", "Overwrite": kept}
                    answer = dav.request(method, "/userhome/mine", headers=into)
                    assert answer.status_code >= 400, (method, path, answer.status_code)
        assert dav.get("/userhome/mine").content == b"mine"
    assert sorted(path.name for path in alice.home().rglob("*")) == before
    assert (alice.home() / "kept/note").read_bytes() == b"alice's"
    assert not share.exists() or not any(share.iterdir())
    assert not (bob.home() / "stolen").exists()


def test_devices_pipes_and_long_names_are_met_without_harm(alice: Someone) -> None:
    folder = alice.home() / "odd"
    with door(alice) as dav:
        dav.request("MKCOL", "/userhome/odd")
        os.mkfifo(folder / "fifo")
        (folder / "loop").symlink_to("loop")
        (folder / "gone").symlink_to("nowhere")
        if os.geteuid() == 0:
            os.mknod(folder / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        for path in folder.iterdir():
            assert dav.get(f"/userhome/odd/{path.name}").status_code in (403, 404, 409)
        listed = dav.request("PROPFIND", "/userhome/odd", headers={"Depth": "1"})
        assert listed.status_code == 207 and "/dav/userhome/odd/fifo" in listed.text
        copied = {"Destination": "/dav/userhome/odd/copy"}
        answer = dav.request("COPY", "/userhome/odd/fifo", headers=copied)
        assert answer.status_code >= 400 and not (folder / "copy").exists()
        longest = "n" * 255
        assert dav.put(f"/userhome/odd/{longest}", content=b"x").status_code == 201
        for name in ("n" * 256, "文" * 86, ".danlu-bin", ".danlu-upload-x", "a%00b", "%2e%2e"):
            for method in ("PUT", "MKCOL", "LOCK"):
                body = {"PUT": b"x", "LOCK": LOCK}.get(method)
                answer = dav.request(method, f"/userhome/odd/{name}", content=body)
                assert answer.status_code >= 400, (method, name, answer.status_code)
            for method in ("COPY", "MOVE"):
                into = {"Destination": f"/dav/userhome/odd/{quote(name, safe='%')}"}
                answer = dav.request(method, f"/userhome/odd/{longest}", headers=into)
                assert answer.status_code >= 400, (method, name, answer.status_code)
        assert (folder / longest).read_bytes() == b"x"
        assert dav.delete("/userhome/odd").status_code == 204


def test_a_put_through_a_folder_swapped_for_a_link_stays_inside(
    server: DanluServer, alice: Someone
) -> None:
    outside = server.data.parent / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    (outside / "key").write_text("the key")
    top = alice.home() / "swaps"
    with door(alice) as dav:
        dav.request("MKCOL", "/userhome/swaps")
        dav.request("MKCOL", "/userhome/swaps/swap")
        with swapping(top / "swap", outside):
            for turn in range(15):
                dav.put(f"/userhome/swaps/swap/{turn}", content=os.urandom(300_000))
                assert dav.get("/userhome/swaps/swap/key").content != b"the key"
                dav.delete("/userhome/swaps/swap/key")
                dav.request("MKCOL", f"/userhome/swaps/swap/folder-{turn}")
    assert [path.name for path in outside.iterdir()] == ["key"]


def test_a_read_only_token_reads_only(server: DanluServer, alice: Someone) -> None:
    made = alice.http.post(
        f"{server.url}/danlu/v1/tokens", json={"label": "laptop", "scope": "read"}
    )
    token = made.json()["token"]
    with door(alice, token) as dav:
        assert dav.request("PROPFIND", "/userhome", headers={"Depth": "0"}).status_code == 207
        assert dav.put("/userhome/x", content=b"x").status_code == 403
        assert dav.delete("/userhome/secret").status_code == 403


def test_bad_requests_are_refused_and_change_nothing(alice: Someone) -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><D:propfind xmlns:D="DAV:"><D:prop/></D:propfind>'
    with door(alice) as dav:
        for body in (bomb, b"<not", b"<x/>", b"<" * 100_000):
            assert dav.request("PROPFIND", "/userhome", content=body).status_code == 400
        for given in ("(", "()", "(<x>", "x", "<a><b>", "(Not)", "<http://[/dav> (<x>)"):
            answer = dav.put("/userhome/never", content=b"x", headers={"If": given})
            assert answer.status_code in (400, 412), given
        assert dav.request("MOVE", "/userhome/secret").status_code == 400
        headers = {"Destination": "http://[::1/dav/userhome/never"}
        assert dav.request("MOVE", "/userhome/secret", headers=headers).status_code == 400
        assert dav.request("PATCH", "/userhome").status_code == 405
    assert not (alice.home() / "never").exists()
    assert not list(alice.home().glob(".danlu-upload*"))


def rclone(alice: Someone, *words: str) -> str:
    hidden = subprocess.run(
        ["rclone", "obscure", PASSWORD], check=True, capture_output=True, text=True
    )
    where = f":webdav,url='{alice.server.url}/dav',user=alice,pass={hidden.stdout.strip()}:"
    done = subprocess.run(
        ["rclone", "--config", "/dev/null", *(word.replace("lab:", where) for word in words)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done
    return done.stdout


def test_rclone_copies_a_tree_there_and_back(alice: Someone, tmp_path: Path) -> None:
    need("rclone")
    for name in ("a/one.txt", "a/b/two ü.txt", "three.bin"):
        path = tmp_path / "there" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(200_000))
    rclone(alice, "copy", str(tmp_path / "there"), "lab:userhome/by-rclone")
    rclone(alice, "copy", "lab:userhome/by-rclone", str(tmp_path / "back"))
    for path in (tmp_path / "there").rglob("*.*"):
        assert (tmp_path / "back" / path.relative_to(tmp_path / "there")).read_bytes() == (
            path.read_bytes()
        )
    rclone(alice, "moveto", "lab:userhome/by-rclone/three.bin", "lab:userhome/by-rclone/3")
    assert "3\n" in rclone(alice, "lsf", "lab:userhome/by-rclone")
    rclone(alice, "purge", "lab:userhome/by-rclone")
    assert not (alice.home() / "by-rclone").exists()


def test_litmus_finds_the_protocol_kept(alice: Someone, tmp_path: Path) -> None:
    need("litmus")
    done = subprocess.run(
        ["litmus", "-k", f"{alice.server.url}/dav/userhome/", "alice", PASSWORD],
        env={**os.environ, "TESTS": "basic copymove http"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert "FAIL" not in done.stdout and done.returncode == 0, done.stdout
