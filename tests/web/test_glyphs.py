"""Every character that a page shows has a glyph: in the fonts it ships, or in a Chinese one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.docs.markdown import ROOT
from tests.web.filled import Filled
from tests.web.fonts import without_glyph
from tests.web.harness import WebHarness

_CATALOGUES = ROOT / "web" / "src" / "i18n"
_SHOWN = """() => [
    document.title,
    document.body.innerText,
    ...[...document.querySelectorAll('*')].flatMap((each) => [
        each.title, each.placeholder, each.value, each.getAttribute('aria-label'),
    ]),
].filter((text) => typeof text === 'string').join('')"""


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_page_shows_a_character_without_a_glyph(filled: Filled, lang: str) -> None:
    web = filled.web
    page = web.sign_in(web.page(lang), filled.me.name)
    wrong: dict[str, list[str]] = {}
    for name, (path, sign) in filled.pages().items():
        page.goto(f"{web.server.url}{path}")
        expect(page.locator(sign).first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        text = page.evaluate(_SHOWN)
        assert ("卡" in text or "任务" in text) == (lang == "zh"), name
        wrong[name] = without_glyph(page, text)
    assert {name: chars for name, chars in wrong.items() if chars} == {}


def test_no_text_of_the_catalogues_lacks_a_glyph(web: WebHarness) -> None:
    texts = "".join(
        text
        for path in sorted(_CATALOGUES.glob("*.ts"))
        for found in re.findall(r'"([^"\n]*)"|`([^`\n]*)`', Path(path).read_text())
        for text in found
    )
    assert "卡" in texts
    assert len(texts) > 10_000
    page = web.page("zh")
    page.goto(web.server.url)
    expect(page.locator("input[name=user]")).to_be_visible()
    assert without_glyph(page, texts) == []
    # The check itself finds one that no font has.
    assert without_glyph(page, "\u0378") == ["\u0378"]
