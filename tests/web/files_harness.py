"""Folders for the file centre, and a browser that opens it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.api.people_harness import Someone
from tests.web.harness import WebHarness

MB = 1 << 20


def tree(folder: Path, files: int, sizes: tuple[int, ...] = (0, 1, 700, 5_000, 20_000)) -> Path:
    """A folder of files with names of every kind."""
    names = ("a", "数据 集", "with space", "ünï", "-dash", "100%", "#hash?x=1&y", "x" * 120)
    for number in range(files):
        place = folder / f"part {number % 13}" / ("深" if number % 3 else "deep")
        place.mkdir(parents=True, exist_ok=True)
        file = place / f"{names[number % len(names)]}-{number}.bin"
        file.write_bytes(os.urandom(sizes[number % len(sizes)]))
    return folder


def large(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        for _ in range(size // (8 * MB)):
            file.write(os.urandom(8 * MB))
        file.write(os.urandom(size % (8 * MB)))
    return path


def digests(folder: Path) -> dict[str, str]:
    """By path below the folder."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): digest(path) for path in found}


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def at_least(percent: int) -> re.Pattern[str]:
    return re.compile("^(" + "|".join(str(each) for each in range(percent, 100)) + ")$")


class FileCentre:
    def __init__(
        self,
        web: WebHarness,
        who: Someone,
        lang: str = "en",
        theme: str = "dark",
        url: str | None = None,
    ) -> None:
        """`url`: of the server as the browser reaches it."""
        self.web, self.who = web, who
        self.url = url or web.server.url
        self.page = web.page(lang, theme)
        self.home = web.server.data / "home" / who.name
        web.sign_in(self.page, who.name, "/files", url=self.url)
        self.listed()

    def listed(self) -> Page:
        expect(self.page.locator(".file-rows")).to_be_visible()
        expect(self.page.locator(".files-page [aria-busy=true]")).to_have_count(0)
        return self.page

    def open(self, path: str) -> None:
        self.page.goto(f"{self.url}/files{path}")
        self.listed()

    def row(self, name: str) -> Locator:
        return self.page.locator(".file-row").filter(
            has=self.page.get_by_role("link", name=name, exact=True)
        )

    def names(self) -> list[str]:
        return self.page.locator(".file-row .name").all_inner_texts()

    def take(self, kind: str, *paths: Path) -> None:
        """As the browser's own dialog hands them over."""
        chosen = [str(path) for path in paths]
        found = self.page.locator(f"input[data-upload={kind}]")
        found.set_input_files(chosen, timeout=300_000)  # it reads the whole folder first

    def sent(self, minutes: float = 2) -> None:
        expect(self.page.locator(".tray li[data-state]").first).to_be_visible()
        rest = self.page.locator(".tray li[data-state]:not([data-state=done])")
        expect(rest).to_have_count(0, timeout=minutes * 60_000)

    def begun(self, name: str, percent: int = 1) -> None:
        """Waits until so much of an upload is there, and not all of it."""
        bar = self.page.get_by_role("progressbar", name=name)
        expect(bar).to_have_attribute("aria-valuenow", at_least(percent), timeout=120_000)
