"""`import danlu` is cheap, and finds the client when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_importing_danlu_loads_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import danlu;"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['danlu']"


def test_what_danlu_offers_is_found_and_nothing_else_is() -> None:
    import danlu
    from danlu.sdk.client import Client

    assert danlu.Client is Client
    with pytest.raises(AttributeError):
        danlu.Clientele  # noqa: B018
