"""What the pages are made of: both languages, one place for colours, types from the API."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.api.pages import BUILT
from tests.docs.markdown import ROOT
from tests.support.parts import missing

SOURCES = ROOT / "web" / "src"
_COLOUR = re.compile(
    r"#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|oklch|oklab|lab|lch|hwb)\("
    r"|:\s*(?:white|black|red|green|blue|orange|yellow|gr[ae]y)\b"
)


def test_colours_are_named_in_one_place_only() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(SOURCES.rglob("*"))
        if path.suffix in (".ts", ".tsx", ".css") and path.name not in ("tokens.css", "schema.ts")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _COLOUR.search(line)
    ]
    assert found == []


def test_both_themes_have_every_colour() -> None:
    text = (SOURCES / "tokens.css").read_text()
    dark, light = (
        set(re.findall(r"(--[\w-]+):", part))
        for part in re.findall(r"theme=\"\w+\"\] \{(.*?)\}", text, re.S)
    )
    assert dark == light


def test_the_lock_names_no_registry() -> None:
    text = (ROOT / "web" / "package-lock.json").read_text()
    assert '"resolved"' not in text
    assert "registry" not in text


def node_is_there() -> bool:
    """Where scripts/web looks: the machine's, or else the one of this environment."""
    own = Path(sys.executable).parent
    return any(shutil.which("npm", path=path) for path in (None, str(own)))


@pytest.mark.slow
def test_the_pages_agree_with_the_api_and_miss_no_text() -> None:
    """The types of requests and answers are made from the server as it is now. A language that
    lacks a text, or has one too many, is a mistake of types, too."""
    if not (ROOT / "web" / "node_modules").is_dir() or not node_is_there():
        missing("What the pages are built with", "make web")
    checked = subprocess.run(
        [ROOT / "scripts" / "web", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_chinese_has_no_half_width_punctuation() -> None:
    texts = [path.read_text() for path in sorted((SOURCES / "i18n").glob("*zh.ts"))]
    wrong = re.findall(r"[\u4e00-\u9fff][,;:?!](?=[\s\"`\u4e00-\u9fff])", "".join(texts))
    assert len(texts) > 3
    assert wrong == []


@pytest.mark.slow
def test_the_parts_of_the_pages_do_what_they_promise() -> None:
    """Archives, plans of uploads, addresses and very long lists, without a browser."""
    if not (ROOT / "web" / "node_modules" / "vitest").is_dir() or not node_is_there():
        missing("What the pages are built with", "make web")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    tested = subprocess.run(
        ["npm", "test", "--silent"],
        cwd=ROOT / "web",
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_built_pages_carry_no_source_maps_or_absolute_paths() -> None:
    if not BUILT.is_dir():
        missing("The web pages", "make web")
    for path in BUILT.rglob("*.js"):
        assert str(ROOT) not in path.read_text()


def test_everything_a_node_can_lack_is_put_into_words_in_both_languages() -> None:
    from danlu.sched.explain import blockers

    source = inspect.getsource(blockers._lacks)
    known = set(re.findall(r'yield "(\w+)"', source)) - {"gpus"}  # shown by its own column
    for language in ("en", "zh"):
        text = (SOURCES / "i18n" / f"{language}.ts").read_text()
        table = re.search(r"const lacks: .*?\{(.*?)\};", text, re.S)
        assert table is not None
        assert set(re.findall(r"(\w+): \"", table[1])) == known
