from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from danlu.control import life
from tests.support.folders import let_in
from tests.support.parts import missing
from tests.support.postgres import HOW_TO_GET_IT, PostgresServer, find_binaries

# Properties are about values, never about seconds: other work may share the machine.
settings.register_profile("values", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("values")

life.strict = True  # a step that no attempt may take fails the test in which it is taken

# A shell that runs us in the background hands down Ctrl-C as ignored, nohup the hangup; what tests
# start is not to inherit that: they interrupt it. (What has a handler here is as usual there.)
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(
            number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None
        )


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """pytest's own, where tasks can read and write too."""
    return let_in(tmp_path)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    binaries = find_binaries()
    if binaries is None:
        missing("PostgreSQL", HOW_TO_GET_IT)
    server = PostgresServer(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()
