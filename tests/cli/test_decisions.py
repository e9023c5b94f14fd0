"""Who proposes an image or a dataset is told what was decided, by whom and why; nobody else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.member import Person
from tests.support.server import DanluServer

IMAGE = "reg.example.org/tools/solver:3"


@pytest.fixture
def member(server: DanluServer) -> Person:
    return Person(server)


def image(server: DanluServer, *words: str) -> Any:
    done = server.cli("image", *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told(person: Person, *words: str) -> str:
    return person.cli(*words).stderr.decode()


def test_a_proposer_of_an_image_is_told(server: DanluServer, member: Person) -> None:
    assert member.cli("image", "add", IMAGE).returncode == 0
    proposed = json.loads(member.cli("image", "propose", IMAGE, "--json").stdout)
    assert (proposed["decided_by"], proposed["decided_at"]) == ("", None)
    assert told(member, "image", "list") == ""
    declined = image(server, "reject", proposed["id"], "--note", "please pin CUDA")
    assert (declined["proposal"], declined["decided_by"]) == ("rejected", "admin")
    news = told(member, "image", "list")
    assert f"admin has declined your proposal {IMAGE}" in news and "(please pin CUDA)" in news
    assert "admin, " in member.cli("image", "show", IMAGE).stdout.decode()
    assert server.cli("image", "list").stderr == b"", "those who did not propose it"
    assert told(Person(server), "image", "list") == ""
    member.cli("image", "propose", IMAGE)
    assert told(member, "image", "list") == "", "it waits again"
    image(server, "accept", proposed["id"])
    assert f"admin has accepted your proposal {IMAGE}" in told(member, "image", "list")
    chinese = member.cli("--lang", "zh", "image", "list").stderr.decode()
    assert f"admin 已通过你的提名 {IMAGE}" in chinese
    image(server, "remove", proposed["id"], "--yes")


def test_only_admins_decide(server: DanluServer, member: Person) -> None:
    member.cli("image", "add", IMAGE)
    made = json.loads(member.cli("image", "propose", IMAGE, "--json").stdout)
    for verb in ("accept", "reject"):
        assert member.cli("image", verb, IMAGE).returncode == 4
    assert image(server, "show", made["id"])["decided_by"] == ""
    image(server, "remove", made["id"], "--yes")
