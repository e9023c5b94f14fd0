"""`danlu volume`: an admin declares, everybody lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.server import DanluServer


def text(server: DanluServer, *words: str) -> str:
    done = server.cli("volume", *words)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def complaint(server: DanluServer, *words: str, code: int = 1) -> str:
    done = server.cli("volume", *words)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stderr.decode()


def test_a_volume_is_declared_shown_changed_and_taken_back(
    server: DanluServer, tmp_path: Path
) -> None:
    shown = text(
        server, "add", "ssd", str(tmp_path), "--tier", "fast", "--note", "not backed up", "--node",
        "n1", "--read-only", "--on-request", "--path", "/ssd",
    )  # fmt: skip
    for word in ("ssd", "/ssd", str(tmp_path), "fast", "not backed up", "n1", "read-only"):
        assert word in shown
    assert "ssd" in text(server, "list")
    changed = json.loads(text(server, "set", "ssd", "--writable", "--all-nodes", "--json"))
    assert (changed["read_only"], changed["nodes"], changed["tier"]) == (False, [], "fast")
    server.cli("group", "add", "readers")
    limited = json.loads(text(server, "set", "ssd", "--group", "readers", "--json"))
    assert (limited["groups"], limited["usable"]) == (["readers"], False)
    assert "(not you)" in text(server, "list")
    assert "everybody" in text(server, "set", "ssd", "--everybody")
    assert "removed" in text(server, "remove", "ssd")
    assert "ssd" not in text(server, "list")


def test_a_job_sees_it_where_it_asks(server: DanluServer, tmp_path: Path) -> None:
    (tmp_path / "set").write_text("numbers\n")
    text(server, "add", "sets", str(tmp_path), "--on-request")
    words = ["run", "-w", "-", "--quiet", "--mount", "sets:/x", "--", "sh", "-c"]
    done = server.cli(*words, "cat $DANLU_VOLUME_SETS/set")
    assert done.stdout == b"numbers\n"
    text(server, "remove", "sets")
    done = server.cli(*words, "true")
    assert done.returncode == 2
    assert b"is not a volume you may use" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("show", "nothing"), 3, "There is no volume nothing"),
        (("remove", "userhome"), 5, "is built in"),
        (("add", "v", "/"), 2, "belongs to the system"),
        (("add", "v", "/no/such"), 2, "create it there first"),
        (("add", "v"), 2, "Missing argument: FOLDER"),
        (("set", "userhome"), 2, "Nothing to change"),
        (("list", "x"), 2, "Unexpected argument 'x'"),
        (("paint", "x"), 2, "Unknown command danlu volume paint"),
        (("add", "v", "/srv", "--read-only", "--writable"), 2, "cannot be combined"),
        (("add", "v", "/srv", "--node", "n9"), 2, "'n9' is not a node; available: n1, n2"),
        (("add", "v", "/srv", "--user", "nobody"), 2, "'nobody' is not a user; available: admin"),
        (("add", "v", "/srv", "--group", "ghosts"), 2, "'ghosts' is not a group; available: "),
    ],
)
def test_what_cannot_be_done_is_told(
    server: DanluServer, words: tuple[str, ...], code: int, told: str
) -> None:
    assert told in complaint(server, *words, code=code)


def test_a_group_that_went_is_in_nobodys_way(server: DanluServer, tmp_path: Path) -> None:
    for group in ("goes", "stays"):
        server.cli("group", "add", group)
    text(server, "add", "theirs", str(tmp_path), "--group", "goes")
    server.cli("group", "remove", "goes")
    assert "read-only" in text(server, "set", "theirs", "--read-only")
    changed = text(server, "set", "theirs", "--group", "goes", "--group", "stays", "--json")
    assert json.loads(changed)["groups"] == ["goes", "stays"]
    told = complaint(server, "set", "theirs", "--node", "n9", "--lang", "zh", code=2)
    assert "'n9' 不是这里的节点；现有：n1、n2" in told
    text(server, "remove", "theirs")


def test_it_speaks_chinese(server: DanluServer) -> None:
    assert "所有节点" in text(server, "list", "--lang", "zh")
