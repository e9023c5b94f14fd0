"""What axe finds wrong with a page."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.docs.markdown import ROOT
from tests.support.parts import missing

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"


def serious(page: Page) -> list[str]:
    if not AXE.exists():
        missing("axe-core", "make web")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['html'][:160]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
