"""A job file with an open bracket or quote: told as it was written, not as it was sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.server import DanluServer


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("command: [\n", 1),
        ("name: x\ncommand: 'python train.py\n", 2),
        ('name: x\ncommand: "python train.py\nmemory: 1G\n', 2),
        ("name: x\nenv: {A: 1\n", 2),
    ],
)
def test_what_is_not_closed_is_told_with_its_own_line(
    server: DanluServer, tmp_path: Path, text: str, line: int
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    done = server.cli("submit", str(path))
    assert done.returncode == 2
    assert f"{path}:{line}: Invalid YAML" in done.stderr.decode()
    assert "id:" not in done.stderr.decode(), "nobody wrote that"
