"""The engine conformance suite with every task in a container of real Podman."""

from __future__ import annotations

import pytest

from tests.engines.conformance import Conformance
from tests.support.containers import ContainerDaemon


class TestPodman(Conformance):
    @pytest.fixture
    def daemon(self, podman_daemon: ContainerDaemon) -> ContainerDaemon:
        return podman_daemon
