"""Which server is meant: flags, then the environment, then the context file."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.sdk import Client, NoServer
from danlu.sdk.context import ContextError, context_path, find, write_context


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
