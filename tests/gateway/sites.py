"""A server with web doors for the tests of one module, and people on it: fixtures to import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.client import Client
from tests.gateway.web import WebServer
from tests.support.tools import give, tools_venv


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    yield from running(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module", name="site")
def site_with_tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """In which environments without an image start at once."""
    yield from running(tmp_path_factory.mktemp("site"), tools_venv())


def running(folder: Path, *tools: Path) -> Iterator[WebServer]:
    server = WebServer(folder / "data")
    give(server.data, *tools)
    server.start()
    yield server
    server.cleanup()


@pytest.fixture(scope="module")
def alice(site: WebServer) -> Client:
    return site.person("alice")


@pytest.fixture(scope="module")
def bob(site: WebServer) -> Client:
    return site.person("bob")


@pytest.fixture(scope="module")
def program(site: WebServer, alice: Client) -> tuple[str, int]:
    """A job of alice's that serves a page, and its port."""
    return site.program(alice)
