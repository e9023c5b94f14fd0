"""The architecture's tables name what is there."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.docs.markdown import ROOT

MOST_FORMS = 12
TEXT = (ROOT / "docs" / "architecture.md").read_text()
NAME = re.compile(r"`((?:[a-z_]+\.)+[A-Z]\w*)`")


def rows(title: str) -> list[str]:
    section = TEXT.split(f"{title}\n", 1)[1].split("\n## ", 1)[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def test_a_job_has_few_forms_between_command_line_and_process() -> None:
    assert 0 < len(rows("### What a job looks like on the way")) <= MOST_FORMS


@pytest.mark.parametrize("title", ["### What a job looks like on the way", "## Glossary"])
def test_what_a_table_names_is_there(title: str) -> None:
    names = [name for row in rows(title) for name in NAME.findall(row)]
    assert len(names) > 10
    for name in names:
        module, _, thing = name.rpartition(".")
        assert hasattr(importlib.import_module(f"danlu.{module}"), thing), name
