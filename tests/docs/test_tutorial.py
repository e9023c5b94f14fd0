"""The tutorial, command by command, as a new user on a real server. In both languages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.harness import Harness, eventually
from tests.docs.markdown import Page, page
from tests.support.folders import let_in
from tests.support.server import DanluServer

TUTORIALS = {"en": page("docs/tutorial.md"), "zh": page("docs/tutorial.zh.md")}
CLUSTER = """
[server]
circle_of_trust = true

[[nodes]]
name = "n1"
cpus = 16
memory = "64G"
gpus = "4:RTX3090"

[[nodes]]
name = "n2"
cpus = 16
memory = "64G"
gpus = "4:RTX3090"
"""
PASSWORD = "a password of my own"
_SAVED = re.compile(r"`([\w.]+)`[^`]*\n\n```(?:yaml|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Newcomer:
    """Somebody with an account, a shell and a folder."""

    def __init__(self, server: DanluServer, folder: Path, language: str) -> None:
        self.server = server
        self.folder = folder
        self.jobs_seen = Harness(server)
        answer = self.jobs_seen.http.post("/users", json={"name": "alice"})
        assert answer.status_code == 201, answer.text
        self.one_time = answer.json()["password"]
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, words in (("danlu", "-m danlu.cli"), ("python3", "")):
            program = bin_folder / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
            program.chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "XDG_"))}
        self.env = {
            **kept,
            "HOME": str(folder),
            "PATH": f"{bin_folder}:{kept['PATH']}",
            "DANLU_LANG": language,
        }

    def type(self, script: str) -> str:
        given = ""
        if "danlu login" in script:
            script = script.replace("http://gpu.lab:8080", self.server.url)
            given = f"{self.one_time}\n"
        if "danlu passwd" in script:
            given = f"{self.one_time}\n{PASSWORD}\n"
        if "danlu exec" in script:
            eventually(lambda: self._runs(script.split("danlu exec ")[1].split()[0]))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            input=given,
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.folder,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def _runs(self, ref: str) -> bool:
        marker = self.server.data / "home" / "alice" / "up"
        job = self.jobs_seen.get(f"/jobs/alice~{ref}")
        return job["state"] == "running" and marker.exists()


@pytest.fixture(params=TUTORIALS)
def newcomer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Newcomer]:
    server = DanluServer(tmp_path_factory.mktemp("tutorial") / "data", CLUSTER).start()
    folder = tmp_path_factory.mktemp("alice")
    let_in(folder)
    try:
        yield Newcomer(server, folder, request.param)
    finally:
        server.cleanup()


def test_every_command_of_the_tutorial_does_what_it_says(newcomer: Newcomer) -> None:
    tutorial = TUTORIALS[newcomer.env["DANLU_LANG"]]
    for name, text in _SAVED.findall(tutorial.text):
        (newcomer.folder / name).write_text(text)
    said = ""
    for block in tutorial.blocks("sh", "text"):
        if block.language == "sh":
            said = newcomer.type(block.text)
        else:
            at = 0
            for line in block.text.splitlines():
                found = said.find(line, at)
                assert found >= 0, f"{block.place}: {line!r} is not in\n{said}"
                at = found + len(line)


def _commands(tutorial: Page) -> list[str]:
    return [block.text for block in tutorial.blocks("sh", "python", "yaml")]


def test_both_languages_show_the_same_commands() -> None:
    assert _commands(TUTORIALS["en"]) == _commands(TUTORIALS["zh"])


def test_the_tutorial_shows_what_a_new_user_needs() -> None:
    commands = "\n".join(_commands(TUTORIALS["en"]))
    needed = "run submit jobs logs why show events stop wait rerun clone exec secret login passwd"
    for word in needed.split():
        assert f"danlu {word}" in commands, word
