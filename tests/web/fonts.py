"""The Chinese font of the tests, pinned in web/package.json: no machine shows boxes instead."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Route

from tests.docs.markdown import ROOT
from tests.support.parts import missing

FONT = ROOT / "web" / "node_modules" / "@fontsource-variable" / "noto-sans-sc"
_AT = "/test-font/"
_LINK = f"""addEventListener('DOMContentLoaded', () => {{
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = '{_AT}index.css';
    document.head.append(link);
}});"""
_MISSING = """async (text) => {
    const family = getComputedStyle(document.body).fontFamily;
    const chars = [...new Set(text)].filter((char) => char.trim() !== '');
    await document.fonts.load(`20px ${family}`, chars.join(''));
    await document.fonts.ready;
    const draw = (char) => {
        const canvas = document.createElement('canvas');
        canvas.width = canvas.height = 24;
        const context = canvas.getContext('2d', { willReadFrequently: true });
        context.font = `20px ${family}`;
        context.fillText(char, 2, 19);
        return context.getImageData(0, 0, 24, 24).data.join();
    };
    // No font has a glyph for an unassigned character: this is how a missing one looks.
    const none = ['\\u0378', '\\u{10FFFD}', '\\uFFFF', ' '].map(draw);
    return chars.filter((char) => none.includes(draw(char)));
}"""


def add_chinese(context: BrowserContext) -> None:
    """Under the name the pages look for; it is not part of what they ship."""
    if FONT.is_dir():
        context.route(f"**{_AT}**", _answer)
        context.add_init_script(_LINK)


def _answer(route: Route) -> None:
    path = FONT / urlsplit(route.request.url).path.removeprefix(_AT)
    if path.suffix == ".css":
        text = path.read_text().replace("Noto Sans SC Variable", "Noto Sans CJK SC")
        route.fulfill(body=text, content_type="text/css")
    else:
        route.fulfill(path=path, content_type="font/woff2")


def without_glyph(page: Page, text: str) -> list[str]:
    """The characters that the page's own fonts cannot show."""
    if not FONT.is_dir():
        missing("The Chinese font of the tests", "make web")
    found: list[str] = page.evaluate(_MISSING, text)
    return found
