"""How much may be kept in a folder: uploads, copies and new jobs beyond it are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx

from tests.files.people import Someone, join
from tests.support.server import DanluServer

MB = 1 << 20


def limit(server: DanluServer, name: str, size: str) -> None:
    done = server.cli("quota", "set", "user", name, "--disk", size)
    assert done.returncode == 0, done


def home(someone: Someone) -> Any:
    roots = someone.get("/roots")["roots"]
    return next(root for root in roots if root["path"] == "/userhome")


def grow(someone: Someone, name: str, size: int) -> Path:
    """As a task writes: past the file centre."""
    path = someone.home() / name
    path.write_bytes(os.urandom(size))
    owner = someone.home().stat()
    os.chown(path, owner.st_uid, owner.st_gid)
    return path


def submit(someone: Someone) -> Any:
    return someone.http.post(
        f"{someone.server.url}/danlu/v1/jobs", json={"command": "true", "name": "small"}
    )


def test_what_does_not_fit_is_refused_before_its_first_byte(
    server: DanluServer, alice: Someone
) -> None:
    assert home(alice)["quota"] is None
    alice.upload("/userhome/a", os.urandom(3 * MB))
    limit(server, "alice", "10M")
    refused = alice.begin("/userhome/b", 8 * MB)
    assert refused.status_code == 413
    error = refused.json()["error"]
    assert error["code"] == "over_quota"
    assert "10M" in error["message_en"] and "danlu du" in error["message_en"]
    assert "配额" in error["message_zh"]
    assert alice.upload("/userhome/b", os.urandom(3 * MB)).status_code == 204
    root = home(alice)
    assert root["quota"] == 10 * MB and root["used"] >= 6 * MB and root["free"] <= 4 * MB
    assert sorted(alice.names("/userhome")) == ["a", "b"]


def test_the_other_name_of_a_home_leads_to_no_more_room(
    server: DanluServer, alice: Someone
) -> None:
    """It is at /mnt/user/NAME, too."""
    other = "/mnt/user/alice"
    refused = alice.begin(f"{other}/more", 8 * MB)
    assert refused.status_code == 413 and "over_quota" in refused.text
    limit(server, "alice", "8M")
    made = alice.post("/copy", paths=["/userhome/a"], to=f"{other}/c", conflict="refuse")
    assert made["state"] == "failed" and "quota" in made["message_en"]
    limit(server, "alice", "10M")
    dav = f"{server.url}/dav{other}/dav.bin"
    put = httpx.put(dav, content=bytes(8 * MB), auth=("alice", alice.token))
    assert put.status_code in (413, 507), put
    assert sorted(alice.names("/userhome")) == ["a", "b"]


def test_two_uploads_at_once_do_not_share_the_same_room(
    server: DanluServer, alice: Someone
) -> None:
    """Both have been begun while there was room for either."""
    one, two = (alice.begin(f"/userhome/{name}", 3 * MB).headers["location"] for name in "cd")
    assert alice.send(one, os.urandom(3 * MB), 0).status_code == 204
    refused = alice.send(two, os.urandom(3 * MB), 0)
    assert refused.status_code == 413 and "over_quota" in refused.text
    alice.post("/delete", paths=["/userhome/c"], forever=True)
    assert alice.offset(two) == 0, "it can go on when there is room"


def test_a_copy_stops_where_the_quota_ends(server: DanluServer, alice: Someone) -> None:
    grow(alice, "by-a-task", 2 * MB)
    assert alice.post("/move", paths=["/userhome/a"], to="/userhome/a2")["state"] == "done"
    made = alice.post("/copy", paths=["/userhome/a2"], to="/userhome/copy", conflict="refuse")
    assert made["state"] == "failed" and "quota" in made["message_en"]
    assert "copy" not in alice.names("/userhome"), "nothing of it is left"
    (alice.home() / "by-a-task").unlink()
    alice.post("/move", paths=["/userhome/a2"], to="/userhome/a")


def test_who_keeps_too_much_starts_no_new_job_until_they_have_cleaned_up(
    server: DanluServer, alice: Someone
) -> None:
    assert submit(alice).status_code == 201
    grow(alice, "checkpoints", 20 * MB)
    alice.get("/usage", path="/userhome", fresh="true")
    refused = submit(alice)
    assert refused.status_code == 409 and refused.json()["error"]["code"] == "home_full"
    (alice.home() / "checkpoints").unlink()
    alice.get("/usage", path="/userhome", fresh="true")
    assert submit(alice).status_code == 201


def test_everybody_has_the_common_quota_unless_they_have_their_own(
    server: DanluServer, alice: Someone
) -> None:
    limit(server, "*", "1M")
    bob = join(server, "bob")
    assert bob.begin("/userhome/x", 2 * MB).status_code == 413
    limit(server, "bob", "none")
    assert bob.begin("/userhome/x", 2 * MB).status_code == 201
    assert home(alice)["quota"] == 10 * MB
    listed = alice.http.get(f"{server.url}/danlu/v1/disks/quotas").json()["quotas"]
    assert {quota["name"] for quota in listed} == {"*", "alice"}, "others' are not told"
    asked = f"{server.url}/danlu/v1/disks/quotas?everyone=true"
    assert alice.http.get(asked).status_code == 403
    everyone = {each["name"]: each for each in server.get("/disks/quotas?everyone=true")["quotas"]}
    assert everyone["bob"]["own"] and everyone["bob"]["size"] is None
    assert not everyone["admin"]["own"] and everyone["admin"]["size"] == MB
    told = server.cli("quota")
    assert b"10" in told.stdout and b"alice" in told.stdout
    assert server.cli("quota", "set", "user", "nobody-here", "--disk", "1G").returncode != 0
    assert server.cli("quota", "set", "user", "alice", "--disk", "lots").returncode == 2
    for name in ("alice", "bob", "*"):
        assert server.cli("quota", "remove", "user", name).returncode == 0
    assert home(alice)["quota"] is None
    assert bob.begin("/userhome/y", 2 * MB).status_code == 201


def test_the_folder_of_a_group_has_a_quota_of_its_own(server: DanluServer) -> None:
    server.post("/groups", {"name": "vision"})
    carol = join(server, "carol", "vision")
    assert server.cli("quota", "set", "group", "vision", "--disk", "4M").returncode == 0
    assert carol.begin("/mnt/share/vision/x", 5 * MB).status_code == 413
    assert carol.begin("/userhome/x", 5 * MB).status_code == 201
    assert server.cli("quota", "remove", "group", "vision").returncode == 0
