"""What somebody types who does not know Danlu yet, and what the command line makes of it."""

from __future__ import annotations

import pytest

from tests.support.server import DanluServer


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("ps", "jobs"),
        ("list", "jobs"),
        ("status", "jobs"),
        ("cancel", "stop"),
        ("kill", "stop"),
        ("log", "logs"),
        ("job", "jobs"),
    ],
)
def test_a_command_of_another_tool_is_answered_with_ours(
    server: DanluServer, word: str, meant: str
) -> None:
    done = server.cli(word)
    assert done.returncode == 2
    assert f"did you mean danlu {meant}?" in done.stderr.decode()
    assert f"是否想用 danlu {meant}？" in server.cli("--lang", "zh", word).stderr.decode()


@pytest.mark.parametrize(
    "noun",
    ["queue", "quota", "volume", "user", "group", "token", "invite", "secret", "context"],
)
def test_a_noun_alone_lists(server: DanluServer, noun: str) -> None:
    alone, listed = server.cli(noun), server.cli(noun, "list")
    assert alone.returncode == listed.returncode == 0, alone.stderr
    # Below the heads there may be times, which pass.
    assert alone.stdout.splitlines()[:1] == listed.stdout.splitlines()[:1]


def test_an_unknown_verb_names_the_known_ones(server: DanluServer) -> None:
    done = server.cli("queue", "lst")
    assert done.returncode == 2
    assert "list, set, merge, remove" in done.stderr.decode()


def test_a_misspelt_state_names_the_nearest_and_the_allowed_ones(server: DanluServer) -> None:
    done = server.cli("jobs", "--state", "runing")
    assert done.returncode == 2
    said = done.stderr.decode()
    assert "'runing' is not a state (did you mean running?)" in said
    assert "queued, starting, running" in said


@pytest.mark.parametrize(
    "words",
    [
        ("--lang", "zh", "jobs", "--foo"),
        ("jobs", "--foo", "--lang", "zh"),
        ("jobs", "--foo", "--lang=zh"),
        ("jobs", "--limit", "many", "--lang", "zh"),
        ("nonsense", "--lang", "zh"),
    ],
)
def test_the_language_holds_for_wrong_options_too(
    server: DanluServer, words: tuple[str, ...]
) -> None:
    done = server.cli(*words)
    assert done.returncode == 2
    assert "详见 danlu" in done.stderr.decode()


def test_the_language_of_the_tasks_command_is_its_own(server: DanluServer) -> None:
    done = server.cli("show", "--foo", "--", "--lang", "zh")
    assert "See danlu show --help" in done.stderr.decode()


def test_a_queue_without_nodes_says_whose_nodes_it_has(server: DanluServer) -> None:
    assert "all of local" in server.cli("queue").stdout.decode()
    assert "local 的全部" in server.cli("--lang", "zh", "queue").stdout.decode()


def test_one_is_not_a_plural(server: DanluServer) -> None:
    done = server.cli("submit", "-n", "single", "--array", "5-5", "--held", "--", "true")
    assert done.returncode == 0
    token = server.cli("token", "create", "--json").stdout.decode()
    (made,) = [part for part in token.split('"') if len(part) == 36 and part.count("-") == 4]
    assert server.cli("token", "revoke", made).stdout.decode() == "1 token revoked\n"
    server.cli("stop", "single-1")
