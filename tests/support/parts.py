"""Parts of the real world that a test needs: there, or said to be missing."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def missing(what: str, how: str) -> NoReturn:
    """Skips on a user's machine; where everything must be tested (CI=true), it fails."""
    message = f"{what} is not installed: {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def need(program: str, package: str | None = None) -> str:
    found = shutil.which(program)
    if found is None:
        missing(program, f"apt-get install {package or program}")
    return found
