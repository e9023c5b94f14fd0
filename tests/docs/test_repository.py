"""What people find who come to the repository: guides that are true, forms one can fill in."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.docs.markdown import ROOT

FORMS = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
GUIDES = ("CONTRIBUTING.md", "SECURITY.md")
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def test_every_file_that_the_guide_for_contributors_names_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`([\w./*-]+/[\w./*-]*)`", text))
    assert len(named) > 20
    for word in named:
        places = [ROOT / word, ROOT / "src/danlu" / word]
        assert any(list(place.parent.glob(place.name)) for place in places), word


@pytest.mark.parametrize("name", GUIDES)
def test_no_address_of_a_person_is_in_a_guide(name: str) -> None:
    assert not re.search(r"[\w.]+@[\w.]+", (ROOT / name).read_text())


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_can_be_filled_in(form: object) -> None:
    values = yaml.safe_load(form.read_text())  # type: ignore[attr-defined]
    assert values["name"] and values["description"]
    assert {part["type"] for part in values["body"]} <= KINDS
    fields = [part for part in values["body"] if part["type"] != "markdown"]
    names = [part["id"] for part in fields]
    assert len(set(names)) == len(names)
    assert all(re.search("[\u4e00-\u9fff]", part["attributes"]["label"]) for part in fields)


def test_the_main_page_leads_to_the_guides_for_contributors() -> None:
    for page in ("README.md", "README.zh-CN.md"):
        text = (ROOT / page).read_text()
        assert all(f"]({name})" in text for name in GUIDES)
