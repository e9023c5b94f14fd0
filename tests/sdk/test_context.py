"""Which server is meant: flags, then the environment, then the context file."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.sdk import Client, NoServer
from danlu.sdk.context import ContextError, context_path, find, use_context, write_context


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DANLU_SERVER", "DANLU_TOKEN", "DANLU_CONTEXT", "DANLU_CA_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def test_without_any_word_about_a_server_there_is_none() -> None:
    with pytest.raises(NoServer):
        find()


def test_a_written_context_is_the_one_used_and_only_the_owner_can_read_it() -> None:
    path = Path(write_context("lab", "http://lab", "secret"))
    where = find()
    assert (where.server, where.token, where.source) == ("http://lab", "secret", "lab")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_several_contexts_stay_side_by_side_and_can_be_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_context("one", "http://one", "1")
    write_context("two", "http://two", "2")
    assert find().server == "http://two"
    assert find(name="one").server == "http://one"
    monkeypatch.setenv("DANLU_CONTEXT", "one")
    assert find().server == "http://one"


def test_the_environment_goes_before_the_context_and_flags_before_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_context("lab", "http://lab", "secret")
    monkeypatch.setenv("DANLU_SERVER", "http://env")
    monkeypatch.setenv("DANLU_TOKEN", "envtoken")
    assert (find().server, find().token) == ("http://env", "envtoken")
    assert (find("http://flag", "f").server, find("http://flag", "f").token) == ("http://flag", "f")
    assert find(name="lab").server == "http://lab"


def test_a_token_is_never_sent_to_a_server_it_was_not_made_for() -> None:
    write_context("lab", "http://lab", "secret")
    assert find(server="http://elsewhere").token is None
    assert find(server="http://lab").token == "secret"


@pytest.mark.parametrize(
    "typed",
    ["http://lab:8080", "http://lab:8080/", "lab:8080", "lab:8080/", "HTTP://Lab:8080"],
)
def test_a_server_is_known_with_and_without_scheme_or_slash(typed: str) -> None:
    write_context("lab", "http://lab:8080", "secret")
    where = find(server=typed)
    assert (where.server, where.token) == ("http://lab:8080", "secret")


def test_a_server_without_a_scheme_is_asked_as_it_was_at_the_login() -> None:
    write_context("lab", "https://lab", "secret")
    for typed in ("lab", "lab:443", "https://lab:443", "https://lab/"):
        assert (find(server=typed).server, find(server=typed).token) == ("https://lab", "secret")
    for other in ("http://lab", "lab:80", "lab:8080", "https://lab.example", "https://lab/x"):
        assert find(server=other).token is None, other


def test_of_several_logins_at_a_server_the_current_one_is_used() -> None:
    write_context("bob@lab", "http://lab", "b")
    write_context("alice@lab", "http://lab", "a")
    write_context("carol@lab", "http://lab", "c")
    use_context("alice@lab")
    assert find(server="lab").token == "a"
    write_context("elsewhere", "http://elsewhere", "e")
    assert find(server="lab").token == "c", "the newest"


def test_where_a_token_came_from_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    write_context("lab", "http://lab", "secret")
    assert find().token_source == ""
    assert find(token="mine").token_source == "--token"
    monkeypatch.setenv("DANLU_TOKEN", "old")
    assert find().token_source == "DANLU_TOKEN"
    assert find(token="mine").token_source == "--token"
    assert find(name="lab").token_source == ""


def test_an_unknown_context_is_named() -> None:
    with pytest.raises(NoServer, match="nowhere"):
        find(name="nowhere")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"contexts": 3}', "\x00"])
def test_a_broken_context_file_is_named(text: str) -> None:
    write_context("lab", "http://lab", "secret")
    Path(context_path()).write_text(text)
    with pytest.raises(ContextError, match=r"context\.json"):
        find()


def test_the_client_finds_its_server_by_itself() -> None:
    write_context("lab", "http://lab:81", "secret")
    client = Client()
    assert (client.wire.address.port, client.wire.token) == (81, "secret")
