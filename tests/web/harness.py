"""A server with four nodes of five GPUs each, some users, and a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.api.harness import Harness, Job
from tests.api.people_harness import PASSWORD, PeopleHarness, Someone
from tests.gateway.web import free_ports
from tests.support.server import DanluServer, free_port
from tests.web.fonts import add_chinese

CLUSTER = """
[server]
circle_of_trust = true
""" + "".join(
    f"""
[[nodes]]
name = "n{number}"
cpus = 40
memory = "256G"
gpus = "5:RTX3090"
"""
    for number in range(1, 5)
)
expect.set_options(timeout=30_000)


def with_doors(config: str) -> str:
    """The same with doors for SSH clients and for browsers."""
    first = free_ports(16)
    doors = f'ssh = "127.0.0.1:{free_port()}"\nweb = "127.0.0.1:{first}-{first + 15}"\n'
    return config.replace("[server]\n", f"[server]\n{doors}", 1)


class WebHarness:
    def __init__(self, server: DanluServer, browser: Browser, pictures: Path | None) -> None:
        self.server = server
        self.harness = Harness(server)
        self.people = PeopleHarness(self.harness)
        self._browser = browser
        self._pictures = pictures
        self._contexts: list[BrowserContext] = []
        self.broken: list[str] = []

    def page(
        self, lang: str = "en", theme: str = "dark", width: int = 1440, height: int = 900
    ) -> Page:
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            locale="zh-CN" if lang == "zh" else "en-GB",
            color_scheme="light" if theme == "light" else "dark",
            timezone_id="Asia/Shanghai",
        )
        self._contexts.append(context)
        add_chinese(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.broken.append(str(error)))
        return page

    def sign_in(
        self,
        page: Page,
        name: str,
        path: str = "/",
        password: str = PASSWORD,
        url: str | None = None,
    ) -> Page:
        page.goto(f"{url or self.server.url}{path}")
        page.locator("input[name=user]").fill(name)
        page.locator("input[name=password]").fill(password)
        page.locator("button.primary").click()
        expect(page.locator("header.top")).to_be_visible()
        return page

    def run(self, who: Someone, **job: Any) -> Job:
        """A job of somebody's that runs until it is stopped."""
        return self.harness.until(self.queue(who, **job), "running")

    def queue(self, who: Someone, **job: Any) -> Job:
        return who.submit(
            **{"command": "sleep 1000", "cpus": 1, "memory": "1G", "held": False, **job}
        )

    def picture(self, page: Page, name: str) -> None:
        if self._pictures is not None:
            self._pictures.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=self._pictures / f"{name}.png", full_page=True)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        self.people.close()
        self.harness.clear()
        self.harness.http.close()
        assert self.broken == [], self.broken
