"""Chromium for tests, without anything of its user's."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

from tests.support.parts import need


def chromium() -> Iterator[Browser]:
    """For a fixture of one module: while Playwright's synchronous API is open, its event loop
    counts as running in this process, and asyncio tests of others could not start theirs.
    """
    program = need("chromium")
    with sync_playwright() as playwright:
        # Root, as in containers, has no sandbox to enter.
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
