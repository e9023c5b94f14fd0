from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from danlu.api.pages import BUILT
from tests.support.browser import chromium
from tests.support.parts import missing
from tests.support.server import DanluServer
from tests.support.tools import give, tools_venv
from tests.web.filled import Filled, fill
from tests.web.harness import CLUSTER, WebHarness, with_doors

PICTURES = os.environ.get("DANLU_TEST_PICTURES")
"""A folder that keeps a picture of every page the tests look at."""


@pytest.fixture(scope="session")
def pages() -> None:
    if not (BUILT / "index.html").exists():
        missing("The web pages", "make web")


@pytest.fixture(scope="module")
def browser(pages: None) -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("web") / "data", CLUSTER)
    server.start()
    yield server
    server.cleanup()


@pytest.fixture
def web(server: DanluServer, browser: Browser) -> Iterator[WebHarness]:
    web = WebHarness(server, browser, Path(PICTURES) if PICTURES else None)
    yield web
    web.close()


@pytest.fixture
def page(web: WebHarness) -> Page:
    return web.page()


@pytest.fixture(scope="module")
def filled(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A cluster of its own with something on every page."""
    server = DanluServer(tmp_path_factory.mktemp("filled") / "data", with_doors(CLUSTER))
    give(server.data, tools_venv())
    server.start()
    web = WebHarness(server, browser, Path(PICTURES) if PICTURES else None)
    yield fill(web)
    web.close()
    server.cleanup()
