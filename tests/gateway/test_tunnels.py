"""Ports and sockets, forwarded both ways."""

from __future__ import annotations

import contextlib
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.client import Client, eventually, finished, make_key
from tests.support.folders import open_python
from tests.support.parts import need
from tests.support.server import free_port

SERVE = f"""{open_python()} -c '
import socket, sys
where = sys.argv[1]
if where.startswith("/"):
    s = socket.socket(socket.AF_UNIX); s.bind(where)
else:
    s = socket.socket(); s.setsockopt(1, 2, 1); s.bind(("127.0.0.1", int(where)))
s.listen(); print("ready", flush=True)
while True:
    c, _ = s.accept()
    data = b""
    while piece := c.recv(65536): data += piece
    c.sendall(data[::-1]); c.close()
' """
ASK = (
    "import socket, sys; where = sys.argv[1];"
    "s = socket.socket(socket.AF_UNIX if where[0] == '/' else socket.AF_INET);"
    "s.connect(where if where[0] == '/' else ('127.0.0.1', int(where)));"
    "s.sendall(b'abc' * 100_000); s.shutdown(1); data = b'';\n"
    "while piece := s.recv(65536): data += piece\n"
    "print(data == b'cba' * 100_000)"
)


@contextlib.contextmanager
def held(client: Client, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """An ssh that has said `ready`."""
    running = client.open("-o", "ExitOnForwardFailure=yes", *words)
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        yield running
    finally:
        running.kill()
        running.communicate()


def asked(where: str) -> bytes:
    return finished([sys.executable, "-c", ASK, where]).stdout


@pytest.mark.parametrize("inside", ["port", "path"])
@pytest.mark.parametrize("outside", ["port", "path"])
def test_what_listens_in_the_task_is_reached(
    alice: Client, inside: str, outside: str, tmp_path: Path
) -> None:
    there = str(free_port()) if inside == "port" else f"/tmp/{os.urandom(4).hex()}"
    here = str(free_port()) if outside == "port" else str(tmp_path / "s")
    to = f"localhost:{there}" if inside == "port" else there
    with held(alice, "-L", f"{here}:{to}", "--", SERVE + there):
        assert asked(here) == b"True\n"
        assert asked(here) == b"True\n"


@pytest.mark.parametrize("inside", ["port", "path"])
def test_the_task_reaches_what_listens_here(alice: Client, inside: str, tmp_path: Path) -> None:
    there = str(free_port()) if inside == "port" else f"/tmp/{os.urandom(4).hex()}"
    here = str(tmp_path / "s")
    serving = subprocess.Popen(["sh", "-c", f"exec {SERVE}{here}"], stdout=subprocess.PIPE)
    try:
        assert serving.stdout is not None
        assert serving.stdout.readline() == b"ready\n"
        with held(alice, "-R", f"{there}:{here}", "--", "echo ready; exec sleep 1000"):
            ask = f'{open_python()} -c "$(cat)" {there}'
            assert alice.ssh("--", ask, input=ASK.encode()).stdout == b"True\n"
    finally:
        serving.kill()
        serving.communicate()
    if inside == "path":
        assert alice.said(f"while [ -e {there} ]; do sleep 0.05; done; echo gone") == b"gone\n"


def test_a_proxy_leads_wherever_the_task_gets(alice: Client) -> None:
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a page")

        def log_message(self, *_: object) -> None:
            pass

    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    proxy = free_port()
    try:
        with held(alice, "-D", str(proxy), "--", "echo ready; exec sleep 1000"):
            got = finished(
                [need("curl"), "-s", "--socks5-hostname", f"127.0.0.1:{proxy}",
                 f"http://localhost:{site.server_port}/"]
            )  # fmt: skip
            assert got.stdout == b"a page", got
    finally:
        site.shutdown()
        site.server_close()


def test_a_closed_port_is_refused_and_nothing_else_suffers(alice: Client) -> None:
    here = str(free_port())
    with held(alice, "-L", f"{here}:localhost:1", "--", "echo ready; exec sleep 1000") as running:
        assert asked(here) == b""
        assert running.poll() is None
    refused = alice.ssh("-o", "ExitOnForwardFailure=yes", "-R", "0.0.0.0:0:localhost:1", "-N")
    assert refused.returncode == 255
    assert b"forwarding failed" in refused.stderr


def test_the_agent_is_there_and_goes_with_the_connection(alice: Client, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    agent = subprocess.Popen(
        [need("ssh-agent", "openssh-client"), "-D", "-a", tmp_path / "agent"],
        stdout=subprocess.DEVNULL,
    )
    env = {**os.environ, "SSH_AUTH_SOCK": str(tmp_path / "agent")}
    try:
        eventually((tmp_path / "agent").exists)
        assert finished(["ssh-add", tmp_path / "other"], env=env).returncode == 0
        said = alice.said("ssh-add -l; echo $SSH_AUTH_SOCK", "-A", env=env).decode().splitlines()
        assert "ED25519" in said[0]
        gone = alice.said(f"while [ -e {said[1]} ]; do sleep 0.05; done; echo gone")
        assert gone == b"gone\n"
        assert alice.said("echo -$SSH_AUTH_SOCK-", env=env) == b"--\n"
    finally:
        agent.kill()
        agent.wait()
