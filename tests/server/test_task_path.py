"""The PATH of tasks is the system's, or what the admin sets; never the server's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from danlu.server.settings import ConfigError, load
from tests.support.folders import let_in
from tests.support.server import DanluServer

SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _own_programs(folder: Path) -> Path:
    folder.mkdir()
    program = folder / "danlus-own-pip"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    let_in(folder)
    return folder


def _run(server: DanluServer, command: str) -> str:
    job = server.wait(server.submit(command=command))
    return server.bytes_of(f"/jobs/{job['id']}/logs").decode().strip()


def test_tasks_do_not_find_the_servers_own_programs(tmp_path: Path) -> None:
    folder = _own_programs(tmp_path / "bin")
    path = f"{folder}:{os.environ['PATH']}"
    server = DanluServer(tmp_path / "data", extra_env={"PATH": path})
    try:
        server.start()
        assert _run(server, "echo $PATH; danlus-own-pip || true").splitlines()[0] == SYSTEM
        assert "not found" in _run(server, "danlus-own-pip")
    finally:
        server.cleanup()


def test_an_admin_adds_folders_to_the_path_of_tasks(tmp_path: Path) -> None:
    folder = _own_programs(tmp_path / "bin")
    server = DanluServer(tmp_path / "data", f'[engine]\npath = "{folder}:/usr/bin:/bin"\n')
    try:
        server.start()
        assert _run(server, "danlus-own-pip") == "found"
    finally:
        server.cleanup()


@pytest.mark.parametrize("path", ['""', '"bin"', '"/usr/bin:"', '"/usr/bin:.:/bin"', "7", "[]"])
def test_a_path_has_absolute_folders(tmp_path: Path, path: str) -> None:
    file = tmp_path / "danlu.toml"
    file.write_text(f"[engine]\npath = {path}\n")
    with pytest.raises(ConfigError, match=r"engine\.path"):
        load(file)
