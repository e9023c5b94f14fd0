"""Help and completion come from the table, and work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from danlu.cli import texts
from danlu.cli.completion import SHELLS
from danlu.cli.help import command_help, markdown, overview, wrap
from danlu.cli.registry import COMMON, commands
from danlu.cli.table import width
from tests.support.parts import need
from tests.support.server import DanluServer

LANGUAGES = ("en", "zh")


def test_an_option_of_two_meanings_is_explained_by_its_command() -> None:
    texts.use("en")
    shown = {command.name: command_help(command) for command in commands()}
    assert "--label LABEL             only on nodes with this label" in shown["run"]
    assert "--label TEXT    what it is for" in shown["token"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_overview_names_every_command(language: str) -> None:
    texts.use(language)
    shown = overview()
    for command in commands():
        assert (f"  {command.name} " in shown) != command.hidden


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name)
def test_a_commands_help_names_every_option_within_the_screen(
    command: object, language: str
) -> None:
    from danlu.cli.options import Command

    assert isinstance(command, Command)
    texts.use(language)
    shown = command_help(command)
    for option in (*command.options, *COMMON):
        assert f"--{option.long}" in shown
    assert max(width(line) for line in shown.splitlines()) <= 100


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_reference_holds_every_command(language: str) -> None:
    texts.use(language)
    shown = markdown()
    assert shown.count("\n## danlu ") == sum(not command.hidden for command in commands())


def test_long_lines_break_between_chinese_characters_but_not_before_a_comma() -> None:
    lines = wrap("这是一个很长的句子，里面没有空格。", 10)
    assert "".join(lines) == "这是一个很长的句子，里面没有空格。"
    assert not any(line[0] in "，。" for line in lines)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_its_script_without_complaint(shell: str) -> None:
    need(shell)
    done = subprocess.run(
        [shell, "-n"], input=SHELLS[shell](), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_command_and_option(shell: str) -> None:
    script = SHELLS[shell]()
    for command in commands():
        if not command.hidden:
            assert command.name in script
            for option in command.options:
                assert (f"-l {option.long}" if shell == "fish" else f"--{option.long}") in script


def complete(server: DanluServer, folder: Path, *words: str) -> set[str]:
    """What bash offers after these words, the last of them unfinished."""
    program = folder / "danlu"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m danlu.cli "$@"\n')
    program.chmod(0o755)
    script = f"""
eval "$(danlu completion bash)"
COMP_WORDS=(danlu {" ".join(f"'{word}'" for word in words)})
COMP_CWORD={len(words)}
_danlu
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    env = {**server.env, "PATH": f"{folder}:{server.env['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=env, cwd=folder, check=True
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_offers_commands_options_values_jobs_and_files(
    server: DanluServer, tmp_path: Path
) -> None:
    server.submit(name="offered", command=["true"], held=True)
    (tmp_path / "job.yaml").touch()
    assert complete(server, tmp_path, "su") == {"submit"}
    assert complete(server, tmp_path, "jobs", "--st") == {"--state"}
    assert complete(server, tmp_path, "jobs", "--state", "s") >= {
        "starting",
        "stopped",
        "succeeded",
    }
    assert complete(server, tmp_path, "show", "admin/offer") == {"admin/offered-1"}
    assert complete(server, tmp_path, "submit", "jo") == {"job.yaml"}
    assert complete(server, tmp_path, "completion", "") == {"bash", "zsh", "fish"}
