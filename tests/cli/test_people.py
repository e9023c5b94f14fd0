"""People by the command line: invited, asked for and approved, managed, gone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CLUSTER
from tests.support.server import DanluServer

PASSWORD = "correct horse 马 battery"


class CliHarness:
    """Somebody's own computer: it knows what they logged in to, and nothing else."""

    def __init__(self, server: DanluServer, folder: Path, language: str = "en") -> None:
        self.server = server
        self.folder = folder
        folder.mkdir(exist_ok=True)
        env = {"XDG_CONFIG_HOME": str(folder), "HOME": str(folder), "DANLU_LANG": language}
        self.env = {**env, "DANLU_SERVER": "", "DANLU_TOKEN": ""}

    def run(self, *words: str, lines: str = "") -> subprocess.CompletedProcess[bytes]:
        return self.server.cli(*words, env=self.env, input=lines.encode())

    def say(self, *words: str, lines: str = "") -> str:
        done = self.run(*words, lines=lines)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def json(self, *words: str, lines: str = "") -> Any:
        return json.loads(self.say("--json", *words, lines=lines))

    def refused(self, *words: str, code: int, lines: str = "") -> str:
        done = self.run(*words, lines=lines)
        assert done.returncode == code, (done.returncode, done.stderr.decode())
        return done.stderr.decode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    config = CLUSTER.replace("[[nodes]]", "[server]\ncircle_of_trust = true\n\n[[nodes]]", 1)
    server = DanluServer(tmp_path_factory.mktemp("people") / "data", config)
    server.start()
    yield server
    server.cleanup()


@pytest.fixture
def admin(place: DanluServer, tmp_path: Path) -> CliHarness:
    harness = CliHarness(place, tmp_path / "admin")
    harness.env |= {"DANLU_SERVER": place.url, "DANLU_TOKEN": place.token}
    return harness


def test_one_signs_up_with_an_invitation(
    admin: CliHarness, place: DanluServer, tmp_path: Path
) -> None:
    admin.say("group", "add", "vision", "--note", "computer vision")
    done = admin.run("invite", "create", "--group", "vision", "--uses", "2", "--expires", "7d")
    code = done.stdout.decode().strip()
    assert f"danlu signup {place.url}" in done.stderr.decode()
    alice = CliHarness(place, tmp_path / "alice")
    words = ("signup", place.url, "--user", "alice", "--code", code, "--context", "lab")
    said = alice.say(*words, lines=f"{PASSWORD}\n")
    assert "Welcome, alice" in said
    assert alice.json("whoami")["groups"] == ["vision"]
    assert "vision" in alice.say("whoami")
    assert "alice（成员）" in alice.say("--lang", "zh", "whoami")
    assert "you are not limited" in alice.say("quota", "list")
    run = alice.run("run", "--", "sh", "-c", "echo from $DANLU_USER")
    assert (run.returncode, run.stdout) == (0, b"from alice\n")
    (invite,) = admin.json("invite", "list")["invites"]
    assert (invite["used"], invite["uses"]) == (1, 2)
    admin.say("invite", "revoke", invite["id"])
    late = CliHarness(place, tmp_path / "late")
    words = ("signup", place.url, "--user", "late", "--code", code)
    assert "invitation" in late.refused(*words, code=2, lines=f"{PASSWORD}\n")


def test_a_leader_approves_who_asks(admin: CliHarness, place: DanluServer, tmp_path: Path) -> None:
    admin.say("group", "add", "speech")
    made = admin.json("user", "add", "lina", "--full-name", "李娜", "--lead", "speech")
    lina = CliHarness(place, tmp_path / "lina", "zh")
    login = ("login", place.url, "--user", "lina", "--password-stdin")
    first = lina.run(*login, lines=f"{made['password']}\n")
    assert first.returncode == 0 and "一次性密码" in first.stderr.decode()
    assert "danlu passwd" in lina.refused("jobs", code=4)
    lina.say("passwd", lines=f"{made['password']}\n{PASSWORD}\n")
    assert lina.json("jobs")["jobs"] == []
    bob = CliHarness(place, tmp_path / "bob")
    asked = ("signup", place.url, "--user", "bob", "--group", "speech", "--note", "新生")
    assert "submitted" in bob.say(*asked, lines=f"{PASSWORD}\n")
    login = ("login", place.url, "--user", "bob", "--password-stdin")
    assert "approved" in bob.refused(*login, code=4, lines=f"{PASSWORD}\n")
    assert "bob" in lina.say("user", "requests") and "新生" in lina.say("user", "requests")
    assert "已批准 bob" in lina.say("user", "approve", "bob")
    bob.say(*login, lines=f"{PASSWORD}\n")
    assert bob.json("whoami")["groups"] == ["speech"]
    assert lina.json("user", "list", "--group", "speech")["users"][0]["name"] == "bob"
    assert "管理员" in lina.refused("user", "disable", "bob", code=4)


def test_an_admin_issues_disables_hands_over_and_removes(
    admin: CliHarness, place: DanluServer, tmp_path: Path
) -> None:
    for name in ("carol", "dave"):
        made = admin.json("user", "add", name)
        harness = CliHarness(place, tmp_path / name)
        harness.say(
            "login", place.url, "--user", name, "--password-stdin", lines=f"{made['password']}\n"
        )
        harness.say("passwd", lines=f"{made['password']}\n{PASSWORD}\n")
    carol, dave = (CliHarness(place, tmp_path / name) for name in ("carol", "dave"))
    assert carol.run("run", "--name", "kept", "--", "sh", "-c", "echo 1 > ~/f").returncode == 0
    ref = carol.json("run", "-d", "--name", "long", "--", "sleep", "1000")["jobs"][0]["ref"]
    assert "carol" not in dave.say("jobs", "--all")
    assert dave.refused("show", ref, code=3)
    assert "jobs" in admin.refused("user", "remove", "carol", code=5)
    admin.say("user", "disable", "carol", "--stop-jobs")
    assert "danlu login" in carol.refused("jobs", code=4)
    admin.run("wait", ref)
    said = admin.say("user", "hand-over", "carol", "dave")
    assert "2 jobs" in said and "from-carol" in said
    assert {job["name"] for job in dave.json("jobs", "--all")["jobs"]} == {"kept", "long"}
    admin.say("user", "remove", "carol")
    assert "in use" in admin.refused("user", "add", "carol", code=5)
    (line,) = admin.json("audit", "--act", "user.removed", "--thing", "carol")["lines"]
    assert (line["actor"], line["address"]) == ("admin", "127.0.0.1")
    assert "admin removed the account carol" in admin.say("audit", "--thing", "carol")
    assert "admin" in dave.refused("audit", code=4)


def test_tokens_for_scripts(admin: CliHarness, place: DanluServer, tmp_path: Path) -> None:
    made = admin.run("token", "create", "--label", "board", "--read-only", "--expires", "1d")
    token = made.stdout.decode().strip()
    assert token.startswith("dlu_") and "Shown only once" in made.stderr.decode()
    script = CliHarness(place, tmp_path / "script")
    script.env |= {"DANLU_SERVER": place.url, "DANLU_TOKEN": token}
    assert script.json("jobs", "--all")["jobs"] is not None
    assert "read-only" in script.refused("run", "--", "true", code=4)
    assert "read-only" in script.say("whoami")
    (kept,) = [each for each in admin.json("token", "list")["tokens"] if each["label"] == "board"]
    assert "board" in admin.say("token", "list")
    admin.say("token", "revoke", kept["id"])
    assert script.refused("jobs", code=4)
    assert script.refused("token", "create", "--expires", "soon", code=2)


def test_logins_of_several_people_at_one_server_do_not_replace_each_other(
    admin: CliHarness, place: DanluServer, tmp_path: Path
) -> None:
    desk = CliHarness(place, tmp_path / "desk")
    names = ("frida", "gustav")
    for name in names:
        password = admin.json("user", "add", name)["password"]
        address = place.url.removeprefix("http://") + "/"
        desk.say("login", address, "--user", name, "--password-stdin", lines=f"{password}\n")
        desk.say("passwd", lines=f"{password}\n{PASSWORD}\n")
    listed = [each["name"] for each in desk.json("context", "list")["contexts"]]
    assert listed == [f"{name}@127.0.0.1:{place.port}" for name in names]
    desk.say("context", "use", listed[0])
    assert desk.json("whoami")["user"] == "frida"
    assert desk.json("whoami", "--server", f"127.0.0.1:{place.port}/")["user"] == "frida"
    assert desk.json("whoami", "--context", listed[1])["user"] == "gustav"


def test_several_servers_are_kept_as_contexts(
    admin: CliHarness, place: DanluServer, tmp_path: Path
) -> None:
    made = admin.json("user", "add", "erin")
    erin = CliHarness(place, tmp_path / "erin")
    for name in ("one", "two"):
        password = made["password"] if name == "one" else PASSWORD
        words = ("login", place.url, "--context", name, "--user", "erin", "--password-stdin")
        erin.say(*words, lines=f"{password}\n")
        if name == "one":
            erin.say("passwd", lines=f"{password}\n{PASSWORD}\n")
    listed = erin.json("context", "list")["contexts"]
    assert [(each["name"], each["current"]) for each in listed] == [("one", False), ("two", True)]
    erin.say("context", "use", "one")
    assert erin.json("whoami")["user"] == "erin"
    assert "one" in erin.say("context")
    assert "Logged out" in erin.say("logout", "--context", "two")
    assert [each["name"] for each in erin.json("context")["contexts"]] == ["one"]
    assert erin.json("whoami")["user"] == "erin", "the other context still works"
    erin.say("context", "remove", "one")
    assert erin.refused("context", "use", "one", code=1)
    assert "danlu login" in erin.refused("jobs", code=1)
    assert erin.refused("context", "rename", "x", code=2)


def test_one_joins_a_group_with_an_invitation(
    admin: CliHarness, place: DanluServer, tmp_path: Path
) -> None:
    admin.say("group", "add", "acoustics")
    shown = admin.json("user", "add", "heidi")
    heidi = CliHarness(place, tmp_path / "heidi")
    heidi.say("login", place.url, "--user", "heidi", lines=f"{shown['password']}\n")
    heidi.say("passwd", lines=f"{shown['password']}\n{PASSWORD}\n")
    done = admin.run("invite", "create", "--group", "acoustics")
    code = done.stdout.decode().strip()
    assert f"danlu group join {code}" in done.stderr.decode()
    assert "add-member" in admin.refused("group", "join", code, code=4)
    assert "heidi" in heidi.say("group", "join", code)
    assert heidi.json("whoami")["groups"] == ["acoustics"]
    assert "invitation" in heidi.refused("group", "join", "wrong-code", code=2)
    assert heidi.refused("group", "join", code=2)


def test_groups_and_their_leaders(admin: CliHarness) -> None:
    for name in ("frank", "grace"):
        admin.say("user", "add", name)
    admin.say("group", "add", "robots")
    admin.say("group", "add-member", "robots", "frank", "--leader")
    shown = admin.json("group", "add-member", "robots", "grace", "frank")
    assert [(m["user"], m["leader"]) for m in shown["members"]] == [
        ("frank", True),
        ("grace", False),
    ]
    assert "leader" in admin.say("group", "show", "robots")
    admin.say("group", "add-member", "robots", "frank", "--no-leader")
    admin.say("group", "remove-member", "robots", "grace")
    admin.say("group", "set", "robots", "--note", "arms and legs")
    assert "arms and legs" in admin.say("group", "list")
    assert "frank" in admin.say("user", "show", "frank")
    assert admin.json("user", "set", "frank", "--full-name", "F. Rank")["full_name"] == "F. Rank"
    admin.say("group", "remove", "robots")
    assert admin.refused("group", "show", "robots", code=3)
    assert admin.refused("user", "show", "nobody", code=3)
    assert admin.refused("user", "add", "No Name", code=2)
    assert admin.refused("user", "set", "frank", code=2)
    assert admin.refused("group", "add-member", "robots", code=2)
    admin.say("user", "disable", "frank")
    admin.say("user", "enable", "frank")
    assert "One-time password" in admin.say("user", "password", "frank")
