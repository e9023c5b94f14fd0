"""`danlu top`: fits the window, follows its size, stays current, and leaves no trace."""

from __future__ import annotations

import json
import re

import pytest

from danlu.cli.table import width
from tests.api.harness import eventually
from tests.cli.person import Person
from tests.support.server import DanluServer

SCREEN = "\x1b[H"


def frame(person: Person) -> list[str]:
    """The next whole screen, as lines."""
    person.read_until(SCREEN)
    text = person.read_until("\x1b[J").removesuffix("\x1b[J")
    return [line.removesuffix("\x1b[K") for line in text.split("\r\n")]


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("GPUs 8", "RUNNING", "WAITING", "q quits")), ("zh", ("显卡 8", "运行中", "q 退出"))],
)
def test_the_screen_fits_its_window_in_both_languages(
    server: DanluServer, language: str, words: tuple[str, ...]
) -> None:
    for number in range(30):
        server.submit(name=f"a-name-that-is-rather-long-{number}", command="sleep 600", gpus=1)
    with Person(server, "--lang", language, "top", "--every", "0.2") as person:
        lines = frame(person)
        assert len(lines) <= 24
        assert max(width(line) for line in lines) <= 80
        assert all(word in "\n".join(lines) for word in words)
        person.resize(12, 60)
        eventually(lambda: len(lines := frame(person)) <= 12 and width(max(lines, key=width)) <= 60)
        person.type("q")
        assert person.end() == 0
        assert person.seen.endswith("\x1b[?25h\x1b[?1049l")
        assert person.echoes()
    jobs = server.get("/jobs?active=true&limit=1000")["jobs"]
    server.cli("stop", "--now", *(job["id"] for job in jobs if "rather-long" in job["name"]))


def test_what_changes_is_seen_without_a_key(server: DanluServer) -> None:
    with Person(server, "top", "--every", "0.2") as person:
        frame(person)
        server.submit(name="fresh", command="sleep 600", gpus=1)
        eventually(lambda: any("admin/fresh-1" in line for line in frame(person)))
        server.cli("stop", "fresh-1", "--now")
        eventually(lambda: not any("admin/fresh-1" in line for line in frame(person)))
        person.type("\x03")
        assert person.end() == 0


def test_without_a_terminal_it_is_printed_once(server: DanluServer) -> None:
    done = server.cli("top")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert re.search(r"^n1 +····", text, re.M)
    assert "\x1b" not in text
    assert json.loads(server.cli("top", "--json").stdout)["cluster"]["gpus"]["total"] == 8


def test_a_server_that_was_never_there_is_an_error(server: DanluServer) -> None:
    with Person(server, "--server", "http://127.0.0.1:1", "top") as person:
        assert person.end() == 1
        assert "\x1b[?1049h" not in person.seen
