"""To have others, or root's daemon, take an image that a task serves on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from danlu.engines.api import NoImage
from danlu.engines.local.config import Registry as Known
from danlu.engines.local.container import refs
from tests.engines.conftest import engine_of
from tests.security.conftest import Attacker
from tests.support.registry import Registry

USUAL = ("configured", "public")


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    registry = Registry()
    yield registry.start()
    registry.remove()


async def test_an_image_served_on_loopback_is_not_fetched(
    contained: Attacker, registry: Registry
) -> None:
    with pytest.raises(NoImage) as refused:
        engine = engine_of(contained.harness)
        await engine.prepare_image("n1", f"{registry.host}/evil:1", lambda _: None)
    assert refused.value.reason == "image_denied"
    assert "the admin lists registries" in str(refused.value)


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1:5000", "127.0.0.1", "127.1:5000", "localhost", "localhost:5000", "[::1]:5000"),
        *("0.0.0.0:5000", "10.0.0.7:5000", "192.168.1.5", "2130706433", "0x7f000001:5000"),
        *("my.localhost", "printer.local", "gw.lan", "host.internal:443"),
        # Names of the internet that lead back to this machine, at a port that any task can take.
        *("localtest.me:5000", "127.0.0.1.nip.io:8080"),
    ],
)
def test_only_names_of_the_internet_at_the_usual_port_are_public(host: str) -> None:
    assert not refs.may_come_from(host, USUAL, ())
    assert refs.may_come_from(host, USUAL, (Known(host),)), "unless the admin knows it"
    assert refs.may_come_from(host, (host,), ())


@pytest.mark.parametrize("host", ["docker.io", "nvcr.io", "ghcr.io", "quay.io:443"])
def test_public_registries_are_allowed_unless_the_admin_says_otherwise(host: str) -> None:
    assert refs.may_come_from(host, USUAL, ())
    assert not refs.may_come_from(host, ("configured",), ())
