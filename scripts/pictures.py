"""Starts a demo, looks at three of its pages and keeps what it sees."""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tests.support.demo import Visitor

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SIZE: ViewportSize = {"width": 1280, "height": 800}
LARGEST = 150_000  # bytes
_TO_WEBP = """async ([png, quality]) => {
    const image = await createImageBitmap(await (await fetch(png)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").drawImage(image, 0, 0);
    const found = await canvas.convertToBlob({ type: "image/webp", quality });
    const bytes = new Uint8Array(await found.arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}"""


def main() -> int:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("scripts/screenshots needs Chromium: apt install chromium")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        demo = Visitor(Path(home))
        demo.start()
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            for lang, theme in (("en", "dark"), ("zh", "light")):
                take(browser, demo, lang, theme)
        finally:
            browser.close()
            demo.interrupt()
    return 0


def take(browser: Browser, demo: Visitor, lang: str, theme: str) -> None:
    jobs = demo.jobs()
    pages = {
        "map": "/",
        "why": f"/jobs/{jobs['zhangyue/llava-ft']['ref'].replace('/', '~')}",
        "job": f"/jobs/{jobs['zhangyue/vit-base']['ref'].replace('/', '~')}",
    }
    context = browser.new_context(
        viewport=SIZE,
        locale="zh-CN" if lang == "zh" else "en-GB",
        color_scheme="light" if theme == "light" else "dark",
        timezone_id="Asia/Shanghai",
    )
    page = context.new_page()
    page.goto(demo.address())
    page.locator("input[name=user]").fill("zhangyue")
    page.locator("input[name=password]").fill(demo.password())
    page.locator("button.primary").click()
    page.locator(".gpu .busy").first.wait_for(timeout=60_000)
    for name, path in pages.items():
        page.goto(f"{demo.address()}{path}")
        page.wait_for_load_state("load")
        page.wait_for_timeout(5_000)  # until the charts and the log are drawn
        keep(browser, page, PICTURES / f"{name}-{lang}.webp")
    context.close()


def keep(browser: Browser, page: Page, path: Path) -> None:
    png = "data:image/png;base64," + base64.b64encode(page.screenshot()).decode()
    blank = browser.new_page()
    for quality in (0.9, 0.8, 0.7, 0.6):
        found = base64.b64decode(blank.evaluate(_TO_WEBP, [png, quality]))
        if len(found) <= LARGEST:
            break
    blank.close()
    path.write_bytes(found)
    print(f"{path.relative_to(ROOT)} {len(found) // 1024} KB")


if __name__ == "__main__":
    sys.exit(main())
