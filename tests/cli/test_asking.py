"""What cannot be undone is asked about at a terminal, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.support.server import DanluServer


def names(server: DanluServer, things: str) -> set[str]:
    return {each["name"] for each in server.get(f"/{things}")[things]}


@pytest.mark.parametrize("key", ["n", "\r", "\x03"])
def test_any_other_key_than_y_removes_nothing(server: DanluServer, key: str) -> None:
    server.cli("group", "add", "asked")
    with Person(server, "group", "remove", "asked") as person:
        assert "the name cannot be reused" in person.read_until("[y/N]")
        person.type(key)
        person.read_until("Nothing was changed")
        assert person.end() == 1
    assert "asked" in names(server, "groups")


def test_y_removes(server: DanluServer) -> None:
    server.cli("group", "add", "answered")
    with Person(server, "--lang", "zh", "group", "remove", "answered") as person:
        person.read_until("确定永久删除组 answered？")
        person.type("y")
        person.read_until("组 answered 已删除")
        assert person.end() == 0
    assert "answered" not in names(server, "groups")


def test_yes_and_scripts_are_not_asked(server: DanluServer) -> None:
    server.cli("group", "add", "scripted")
    assert server.cli("group", "remove", "scripted").returncode == 0
    server.cli("group", "add", "certain")
    with Person(server, "group", "remove", "certain", "--yes") as person:
        person.read_until("removed")
        assert person.end() == 0
    assert not {"scripted", "certain"} & names(server, "groups")


@pytest.mark.parametrize(
    ("words", "question"),
    [
        (("user", "remove", "x"), "danlu user disable x can be undone"),
        (("user", "hand-over", "x", "y"), "jobs and files of x to y?"),
        (("queue", "remove", "x"), "the queue x and its rules?"),
        (("queue", "merge", "x", "y"), "into y?"),
        (("volume", "remove", "x"), "its folder stays"),
        (("secret", "rm", "x"), "cannot be recovered"),
    ],
)
def test_so_does_everything_that_cannot_be_undone(
    server: DanluServer, words: tuple[str, ...], question: str
) -> None:
    with Person(server, *words) as person:
        assert question in person.read_until("[y/N]")
        person.type("n")
        assert person.end() == 1


def test_no_leaves_a_volume_as_it_is(server: DanluServer, tmp_path: Path) -> None:
    server.cli("volume", "add", "kept", str(tmp_path))
    with Person(server, "volume", "remove", "kept") as person:
        person.read_until("[y/N]")
        person.type("n")
        assert person.end() == 1
    assert "kept" in names(server, "volumes")
    assert server.cli("volume", "remove", "kept", "-y").returncode == 0
