"""The address the API had before: another platform's clients expect their own there."""

from __future__ import annotations

import httpx
import pytest

from tests.support.server import DanluServer


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/jobs/x/why", "/api/v1/login"])
def test_old_paths_name_the_new_address(server: DanluServer, path: str) -> None:
    answer = httpx.get(f"{server.url}{path}")
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert path.replace("/api/v1", "/danlu/v1") in error["message_en"]
    assert path.replace("/api/v1", "/danlu/v1") in error["message_zh"]


def test_a_post_to_the_old_address_does_nothing(server: DanluServer) -> None:
    answer = httpx.post(f"{server.url}/api/v1/users", json={"name": "eve"})
    assert answer.status_code == 404
