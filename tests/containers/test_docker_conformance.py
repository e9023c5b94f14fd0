"""The engine conformance suite with every task in a container of real Docker."""

from __future__ import annotations

import pytest

from tests.engines.conformance import Conformance
from tests.support.containers import ContainerDaemon


class TestDocker(Conformance):
    @pytest.fixture
    def daemon(self, docker_daemon: ContainerDaemon) -> ContainerDaemon:
        return docker_daemon
