"""The architecture's tables name what is there."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.docs.markdown import ROOT

MOST_FORMS = 12
SOURCE = ROOT / "src" / "danlu"
TEXT = (ROOT / "docs" / "architecture.md").read_text()
NAME = re.compile(r"`((?:[a-z_]+\.)+\w+)`")
FOLDER = re.compile(r"`((?:[a-z_]+/)+)`")
IN_PROSE = re.compile(r"(?:`|\*\*)([a-z_]+(?:/[a-z_]+)+)/?(?:`|\*\*)")


def rows(title: str) -> list[str]:
    section = TEXT.split(f"{title}\n", 1)[1].split("\n## ", 1)[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def column(row: str, number: int) -> str:
    return row.split("|")[number]


def is_there(name: str) -> bool:
    """A module, or what a module holds, by its dotted name below `danlu`."""
    try:
        importlib.import_module(f"danlu.{name}")
    except ModuleNotFoundError:
        module, _, thing = name.rpartition(".")
        return hasattr(importlib.import_module(f"danlu.{module}"), thing)
    return True


def test_a_job_has_few_forms_between_command_line_and_process() -> None:
    assert 0 < len(rows("### What a job looks like on the way")) <= MOST_FORMS


def test_the_forms_of_a_job_are_there() -> None:
    names = [
        name
        for row in rows("### What a job looks like on the way")
        for name in NAME.findall(column(row, 2))
    ]
    assert len(names) > 10
    assert [name for name in names if not is_there(name)] == []


@pytest.mark.parametrize("row", rows("## Glossary"), ids=lambda row: column(row, 1).strip())
def test_a_term_of_the_glossary_is_there(row: str) -> None:
    names, folders = NAME.findall(column(row, 3)), FOLDER.findall(column(row, 3))
    assert names or folders
    assert [name for name in names if not is_there(name)] == []
    assert [folder for folder in folders if not (SOURCE / folder).is_dir()] == []


def test_the_glossary_has_each_term_once() -> None:
    terms = [term.strip() for row in rows("## Glossary") for term in column(row, 1).split(",")]
    assert sorted(set(terms)) == sorted(terms)


def test_every_package_has_its_row() -> None:
    named = {
        name.rstrip("/")
        for row in rows("## Packages")
        for name in re.findall(r"`([a-z]+/|[a-z]+\.py)`", column(row, 1))
    }
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    modules = {path.name for path in SOURCE.glob("*.py") if path.stem != "__init__"}
    assert named == packages | modules


def test_what_the_prose_names_is_there() -> None:
    """Paths are written from any folder on: `keeper/points` is in `engines/local`."""
    names = {name for name in IN_PROSE.findall(TEXT) if not (ROOT / name).exists()}
    assert len(names) > 20
    missing = [
        name
        for name in sorted(names)
        if not any(SOURCE.glob(f"**/{name}")) and not any(SOURCE.glob(f"**/{name}.py"))
    ]
    assert missing == []
