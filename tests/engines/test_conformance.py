"""The conformance suite on every engine there is, and on one that misbehaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.engines.api import Engine
from tests.engines import conftest
from tests.engines.conformance import Conformance


class TestLocalWithNamespaces(Conformance):
    @pytest.fixture
    def make(self) -> Callable[[Path], Engine]:
        return conftest.with_namespaces


class TestLocalWithoutNamespaces(Conformance):
    @pytest.fixture
    def make(self) -> Callable[[Path], Engine]:
        return conftest.without_namespaces


class TestLocalBare(Conformance):
    """Neither namespaces nor cgroups."""

    @pytest.fixture
    def make(self) -> Callable[[Path], Engine]:
        return conftest.bare


class TestFaulty(Conformance):
    """Answers and requests get lost, come late or twice: the outcomes stay the same."""

    @pytest.fixture
    def make(self) -> Callable[[Path], Engine]:
        return conftest.faulty
