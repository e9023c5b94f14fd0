"""Mirrors that the admin set once are what pip uses in every task; the user's own win."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.folders import open_python
from tests.support.server import DanluServer

MIRROR = "http://mirror.example.org/simple"
CONFIG = f"""
[mirrors]
pip = "{MIRROR}"
pip_extra = ["https://extra.example.org/simple"]
conda = "https://mirror.example.org/anaconda"
apt = "http://mirror.example.org/debian"
"""
ASK = f"{open_python()} -m pip config list; echo $DANLU_APT_MIRROR; cat /etc/conda/condarc.d/*.yml"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("mirrors") / "data", CONFIG).start()
    yield server
    server.cleanup()


def run(server: DanluServer, *words: str) -> str:
    done = server.cli("run", "--quiet", "-w", "-", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_pip_and_conda_use_the_mirrors_in_every_task(server: DanluServer) -> None:
    told = run(server, "--", "sh", "-c", ASK)
    assert f"global.index-url='{MIRROR}'" in told
    assert "global.trusted-host='mirror.example.org'" in told
    assert "global.extra-index-url='https://extra.example.org/simple'" in told
    assert "http://mirror.example.org/debian" in told
    assert "https://mirror.example.org/anaconda/pkgs/main" in told


def test_the_users_own_settings_win(server: DanluServer) -> None:
    mine = "https://mine.example.org/simple"
    write = (
        "mkdir -p $HOME/.config/pip && printf '[global]\\nindex-url = %s\\n' "
        f"{mine} > $HOME/.config/pip/pip.conf; {open_python()} -m pip download --no-deps "
        "--retries 0 --timeout 1 -d /tmp no-such-name 2>&1 | head -1; "
        "rm $HOME/.config/pip/pip.conf"
    )
    assert f"Looking in indexes: {mine}" in run(server, "--", "sh", "-c", write)
    other = run(server, "-e", "XDG_CONFIG_DIRS=/nowhere", "--", "sh", "-c", ASK)
    assert MIRROR not in other


def test_a_task_in_an_image_has_them_too(docker_daemon: ContainerDaemon, tmp_path: Path) -> None:
    socket = docker_daemon.socket
    config = f'[engine]\ncontainers = "docker"\ncontainer_socket = "{socket}"\n{CONFIG}'
    server = DanluServer(tmp_path / "data", config).start()
    try:
        show = "cat $(echo $XDG_CONFIG_DIRS | cut -d: -f1)/pip/pip.conf /etc/conda/condarc.d/*.yml"
        told = run(server, "--image", BUSYBOX, "--", "sh", "-c", show)
    finally:
        server.cleanup()
    assert f"index-url = {MIRROR}" in told
    assert "channel_alias: https://mirror.example.org/anaconda/cloud" in told
