"""The Dockerfile builds from what is in the repository and starts what exists."""

from __future__ import annotations

import json
import re
import subprocess

from danlu.cli.options import parse
from danlu.cli.registry import COMMON, find
from tests.docs.markdown import ROOT

INSTRUCTIONS = {"ARG", "FROM", "RUN", "WORKDIR", "COPY", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text()
    joined = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    lines = [line.strip() for line in joined.splitlines() if line.strip()]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def test_every_line_is_an_instruction() -> None:
    assert {name for name, _ in instructions()} <= INSTRUCTIONS


def test_make_has_the_targets_that_are_built() -> None:
    (run,) = [what for name, what in instructions() if name == "RUN" and what.startswith("make ")]
    targets = run.partition("&&")[0].split()[1:]
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", *targets],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_command_is_one_of_ours() -> None:
    found = dict(instructions())
    words = json.loads(found["CMD"])
    command = find(words[0])
    assert command is not None
    args = parse(command, words[1:], COMMON)
    assert args.get("data") == found["VOLUME"]
    assert args.get("port") == found["EXPOSE"]
    assert json.loads(found["ENTRYPOINT"])[-1] == "danlu"


def test_nothing_private_or_built_goes_into_the_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".git", ".venv", "web/node_modules"} <= set(ignored)
