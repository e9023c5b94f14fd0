"""Files are worked on as their user: others' are out of reach by every door of the file centre."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.api.file_uploads import Upload
from tests.files.people import CONFIG, TUS, Someone, join
from tests.files.test_transfers import helpers
from tests.support.server import DanluServer

root = pytest.mark.skipif(os.geteuid() != 0, reason="only as root do users have uids of their own")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    found = DanluServer(tmp_path_factory.mktemp("tenants") / "data", CONFIG)
    found.start()
    found.post("/groups", {"name": "lab"})
    yield found
    found.stop()


@pytest.fixture(scope="module")
def alice(server: DanluServer) -> Someone:
    someone = join(server, "alice", "lab")
    someone.upload("/userhome/diary", b"dear diary")
    someone.upload("/mnt/share/lab/plan", b"the plan")
    return someone


@pytest.fixture(scope="module")
def mallory(server: DanluServer, alice: Someone) -> Someone:
    return join(server, "mallory")


def doors(path: str) -> list[tuple[str, str, dict[str, object]]]:
    """Every route that takes a path."""
    query = {"path": path}
    asked: list[tuple[str, str, dict[str, object]]] = [
        ("GET", each, dict(query))
        for each in ("/list", "/stat", "/preview", "/content", "/archive")
    ]
    asked += [("GET", "/usage", dict(query)), ("GET", "/search", {**query, "q": "a"})]
    asked += [
        ("POST", "/folders", {"path": f"{path}/x", "parents": True}),
        ("POST", "/move", {"paths": [path], "to": "/userhome/stolen"}),
        ("POST", "/copy", {"paths": [path], "to": "/userhome/stolen"}),
        ("POST", "/copy", {"paths": ["/userhome/mine"], "to": f"{path}/planted"}),
        ("POST", "/move", {"paths": ["/userhome/mine"], "into": path, "conflict": "overwrite"}),
        ("POST", "/delete", {"paths": [path]}),
        ("POST", "/delete", {"paths": [path], "forever": True}),
    ]
    return asked


def elsewhere(server: DanluServer) -> list[str]:
    data = str(server.data)
    return [
        "/mnt/user/alice",
        "/mnt/share/lab",
        "/mnt/share",
        "/userhome/../alice",
        "/userhome/../../danlu.db",
        f"{data}/home/alice",
        data,
        "/etc",
        "/proc/self/root",
        "/userhome/way",
        "/userhome/way/diary",
    ]


def test_above_the_volumes_there_is_only_the_way_to_ones_own(mallory: Someone) -> None:
    listed = mallory.http.get("/list", params={"path": "/"}).json()
    assert {entry["name"] for entry in listed["entries"]} <= {"userhome", "gdata", "mnt"}
    for method, door, values in doors("/"):
        if method == "GET":
            answer = mallory.http.get(door, params=values)  # type: ignore[arg-type]
        else:
            answer = mallory.http.post(door, json=values)
        failed = answer.status_code >= 400 or answer.json().get("state") == "failed"
        assert failed or door in ("/list", "/stat"), (door, values)


@root
def test_no_door_leads_to_anothers_files_or_to_the_servers(
    server: DanluServer, alice: Someone, mallory: Someone
) -> None:
    mallory.upload("/userhome/mine", b"mine", conflict="overwrite")
    os.symlink(alice.home(), mallory.home() / "way")
    os.symlink(server.data, mallory.home() / "data")
    for path in [*elsewhere(server), "/userhome/data", "/userhome/data/server.json"]:
        for method, door, values in doors(path):
            if method == "GET":
                answer = mallory.http.get(door, params=values)  # type: ignore[arg-type]
            else:
                answer = mallory.http.post(door, json=values)
            assert b"dear diary" not in answer.content and b"the plan" not in answer.content
            itself = path in ("/userhome/way", "/userhome/data")  # a link of one's own
            if not (itself and door in ("/stat", "/archive", "/delete", "/move", "/copy")):
                failed = answer.status_code >= 400 or answer.json().get("state") == "failed"
                assert failed, (door, values)
        for name in ("way", "data"):
            if not os.path.lexists(mallory.home() / name):
                target = alice.home() if name == "way" else server.data
                os.symlink(target, mallory.home() / name)
        forged = Upload(f"{path}/x", "0" * 32, 1, "overwrite", "file", None).id
        location = f"/danlu/v1/files/uploads/{forged}"
        assert mallory.begin(f"{path}/x", 1).status_code >= 400
        assert mallory.send(location, b"x", 0).status_code >= 400
        assert mallory.http.head(mallory.at(location), headers=TUS).status_code >= 400
    assert alice.content("/userhome/diary").content == b"dear diary"
    assert alice.content("/mnt/share/lab/plan").content == b"the plan"
    assert alice.names("/userhome") == ["diary"]


@root
def test_no_command_leads_to_anothers_files(
    server: DanluServer, alice: Someone, mallory: Someone, tmp_path: Path
) -> None:
    mallory.upload("/userhome/mine", b"mine", conflict="overwrite")
    if not os.path.lexists(mallory.home() / "way"):
        os.symlink(alice.home(), mallory.home() / "way")
    env = {"DANLU_TOKEN": mallory.token}
    here, got = tmp_path / "planted", tmp_path / "got"
    here.write_text("planted")
    for path in ("/mnt/user/alice", "/mnt/share/lab", "/userhome/way"):
        for words in (
            ("cp", f":{path}/diary", str(got)),
            ("cp", "-r", f":{path}/.", str(got)),
            ("cp", str(here), f":{path}/planted"),
            ("cp", "-r", str(tmp_path), f":{path}/planted"),
            ("cp", ":mine", f":{path}/planted"),
            ("cp", f":{path}/diary", ":loot"),
            ("mv", f"{path}/diary", "loot"),
            ("mv", "mine", f"{path}/planted"),
            ("ls", f"{path}/"),
            ("du", f"{path}/"),
            ("find", f"{path}/", "a"),
            ("mkdir", "-p", f"{path}/planted"),
            ("rm", "-r", "--yes", f"{path}/diary"),
            ("rm", "-r", "--yes", "--forever", f"{path}/plan"),
        ):
            done = server.cli(*words, env=env)
            assert done.returncode not in (0, None), (words, done)
            assert b"dear diary" not in done.stdout and not got.is_file(), words
    assert alice.names("/userhome") == ["diary"]
    assert alice.names("/mnt/share/lab") == ["plan"]
    assert "loot" not in mallory.names("/userhome")


@root
def test_anothers_upload_operation_and_bin_are_not_there(alice: Someone, mallory: Someone) -> None:
    begun = alice.begin("/mnt/share/lab/half", 10).headers["location"]
    alice.send(begun, b"half", 0)
    assert mallory.send(begun, b"evil!!", 4).status_code == 404
    assert mallory.http.delete(mallory.at(begun), headers=TUS).status_code == 404
    assert alice.offset(begun) == 4
    alice.upload("/userhome/gone", b"x")
    operation = alice.post("/delete", paths=["/userhome/gone"])
    assert mallory.http.get(f"/operations/{operation['id']}").status_code == 404
    assert mallory.http.delete(f"/operations/{operation['id']}").status_code == 404
    (item,) = alice.get("/bin")["items"]
    assert item["id"] not in [each["id"] for each in mallory.get("/bin")["items"]]
    assert mallory.post("/bin/restore", ids=[item["id"]])["state"] == "failed"
    assert mallory.post("/bin/empty", ids=[item["id"]])["state"] == "failed"
    assert alice.post("/bin/restore", ids=[item["id"]])["results"] == ["/userhome/gone"]
    alice.post("/delete", paths=["/userhome/gone"], forever=True)


@root
def test_a_member_of_the_group_shares_files_but_neither_bin_nor_uploads(
    server: DanluServer, alice: Someone
) -> None:
    bob = join(server, "bob", "lab")
    assert bob.content("/mnt/share/lab/plan").content == b"the plan"
    alice.upload("/mnt/share/lab/by-alice", b"1")
    bob.upload("/mnt/share/lab/by-alice", b"changed by bob", conflict="overwrite")
    assert alice.content("/mnt/share/lab/by-alice").content == b"changed by bob"
    alice.upload("/userhome/moved/deep/file", b"given away")
    alice.post("/move", paths=["/userhome/moved"], into="/mnt/share/lab")
    assert bob.content("/mnt/share/lab/moved/deep/file").content == b"given away"
    assert "moved" not in alice.names("/userhome")
    bob.post("/delete", paths=["/mnt/share/lab/moved"], forever=True)
    assert "moved" not in alice.names("/mnt/share/lab")
    bob.post("/delete", paths=["/mnt/share/lab/by-alice"])
    assert "by-alice" not in [each["name"] for each in alice.get("/bin")["items"]]
    (item,) = bob.get("/bin")["items"]
    assert alice.post("/bin/empty", ids=[item["id"]])["state"] == "failed"
    begun = alice.begin("/mnt/share/lab/hers", 10).headers["location"]
    assert bob.send(begun, b"0123456789", 0).status_code == 404
    server.call("DELETE", "/groups/lab/members/bob")
    assert bob.http.get("/list", params={"path": "/mnt/share/lab"}).status_code == 404


@root
def test_a_helper_is_its_user_and_can_become_nobody_else(
    server: DanluServer, alice: Someone
) -> None:
    alice.get("/roots")
    uid = alice.home().stat().st_uid
    assert uid != 0
    mine = []
    for pid in helpers(server):
        status = dict(
            line.split(":\t", 1)
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if ":\t" in line
        )
        assert status["Uid"].split() == [status["Uid"].split()[0]] * 4
        assert status["Uid"].split()[0] != "0" and status["Gid"].split()[0] != "0"
        assert "0" not in status["Groups"].split()
        for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
            assert int(status[kind], 16) == 0
        assert status["NoNewPrivs"] == "1"
        if status["Uid"].split()[0] == str(uid):
            mine.append(pid)
    assert mine
    # Other processes of the same user cannot look into it, to see the machine as it does.
    looks = (
        "import os, sys\n"
        "for name in ('root', 'cwd', 'fd', 'mem', 'environ', 'maps'):\n"
        "    try:\n"
        "        path = f'/proc/{sys.argv[1]}/{name}'\n"
        "        os.listdir(path) if name in ('root', 'cwd', 'fd') else open(path, 'rb').read(1)\n"
        "        print('opened', name)\n"
        "    except OSError: pass\n"
    )
    # Ours may lie in a folder of root's, where this user cannot start it.
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    seen = subprocess.run(
        [python, "-S", "-c", looks, str(mine[0])],
        user=uid,
        group=uid,
        extra_groups=[],
        capture_output=True,
        cwd="/",
        check=False,
        env={},
    )
    assert (seen.returncode, seen.stdout) == (0, b""), seen


@root
def test_root_writes_no_users_file(server: DanluServer, alice: Someone) -> None:
    """A folder that only root may write to stays as it is, and what is made is the user's own."""
    closed = alice.home() / "closed"
    closed.mkdir(mode=0o755)
    assert alice.begin("/userhome/closed/x", 1).json()["error"]["code"] == "no_permission"
    assert (
        alice.post("/copy", paths=["/userhome/diary"], to="/userhome/closed/x")["state"] == "failed"
    )
    assert os.listdir(closed) == []
    alice.upload("/userhome/made/x", b"1")
    for path in (alice.home() / "made", alice.home() / "made/x"):
        assert path.stat().st_uid == alice.home().stat().st_uid
    closed.rmdir()
    alice.post("/delete", paths=["/userhome/made"], forever=True)
