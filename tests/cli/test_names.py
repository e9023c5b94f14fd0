"""Names that are none: what is said is about the name, and nothing else is ever reached."""

from __future__ import annotations

import pytest

from tests.support.server import DanluServer

ACTS = (
    ("queue", "set", "{}"),
    ("queue", "merge", "{}", "default"),
    ("queue", "remove", "{}"),
    ("quota", "set", "user", "{}", "--gpus", "1"),
    ("quota", "remove", "group", "{}"),
    ("volume", "show", "{}"),
    ("volume", "set", "{}", "--writable"),
    ("volume", "remove", "{}"),
    ("secret", "rm", "{}"),
    ("user", "show", "{}"),
    ("user", "disable", "{}"),
    ("user", "remove", "{}"),
    ("user", "hand-over", "{}", "admin"),
    ("user", "approve", "{}"),
    ("group", "show", "{}"),
    ("group", "remove", "{}"),
    ("group", "add-member", "{}", "admin"),
    ("drain", "{}"),
    ("token", "revoke", "{}"),
    ("invite", "revoke", "{}"),
)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: "-".join(act[:2]))
def test_a_name_with_a_slash_is_refused_as_a_name(
    server: DanluServer, act: tuple[str, ...]
) -> None:
    done = server.cli(*(word.format("a/b") for word in act))
    assert done.returncode == 2, done
    assert "'a/b' is not a valid name" in done.stderr.decode()


@pytest.mark.parametrize("name", ["", ".", "..", "a?b", "a#b", "a b", "视觉", "a%2Fb", "../jobs"])
def test_so_is_anything_else_that_cannot_be_one(server: DanluServer, name: str) -> None:
    for words in (("queue", "set", name), ("volume", "show", name), ("secret", "rm", name)):
        done = server.cli(*words)
        assert done.returncode == 2, done
        assert f"{name!r} is not a valid name" in done.stderr.decode()
    zh = server.cli("--lang", "zh", "queue", "set", name)
    assert f"{name!r} 不是有效的名称" in zh.stderr.decode()


@pytest.mark.parametrize("name", ["a?b", "a#b", "a b", "视觉", "a%2Fb"])
def test_who_could_not_be_there_is_not_there(server: DanluServer, name: str) -> None:
    for thing in ("user", "group"):
        done = server.cli(thing, "show", name)
        assert done.returncode == 3, done
        assert f"There is no {thing} {name}" in done.stderr.decode()


@pytest.mark.parametrize("ref", [".", "..", "a/../b", "?x", "视觉"])
def test_a_job_of_such_a_name_is_not_there(server: DanluServer, ref: str) -> None:
    done = server.cli("show", ref)
    assert done.returncode == 3, done
    assert f"There is no job {ref}" in done.stderr.decode()


def test_a_name_cannot_be_the_way_to_something_else(server: DanluServer) -> None:
    server.cli("group", "add", "lab")
    server.cli("group", "add-member", "lab", "admin")
    done = server.cli("group", "remove", "lab/members/admin")
    assert done.returncode == 2, done
    assert server.get("/groups/lab")["members"][0]["user"] == "admin"
