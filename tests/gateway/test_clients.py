"""Other programs than OpenSSH's: paramiko, VS Code's Remote-SSH step by step, and very many."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
from contextlib import closing
from pathlib import Path

import asyncssh
import paramiko
import pytest

from tests.gateway.client import PASSWORD, PATIENCE, Client, eventually, finished
from tests.support.parts import need
from tests.support.server import free_port


def connected(client: Client, **how: object) -> paramiko.SSHClient:
    link = paramiko.SSHClient()
    link.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    how = {"look_for_keys": False, "allow_agent": False, "timeout": PATIENCE, **how}
    user = f"{client.name}+{client.job}"
    link.connect("127.0.0.1", client.server.ssh_port, user, **how)  # type: ignore[arg-type]
    return link


def test_paramiko_runs_commands_copies_files_and_forwards(alice: Client, tmp_path: Path) -> None:
    with closing(connected(alice, key_filename=str(alice.key))) as link:
        stdin, stdout, stderr = link.exec_command("cat; echo err >&2; exit 7", timeout=PATIENCE)
        stdin.write(b"in\n")
        stdin.channel.shutdown_write()
        assert (stdout.read(), stderr.read()) == (b"in\n", b"err\n")
        assert stdout.channel.recv_exit_status() == 7
        data = os.urandom(3_000_000)
        (tmp_path / "file").write_bytes(data)
        with link.open_sftp() as sftp:
            sftp.put(str(tmp_path / "file"), "by-paramiko")  # asks for the size afterwards
            sftp.mkdir("folder")
            sftp.rename("by-paramiko", "folder/moved")
            assert sftp.listdir("folder") == ["moved"]
            sftp.get("folder/moved", str(tmp_path / "back"))
            sftp.remove("folder/moved")
            sftp.rmdir("folder")
        digests = [hashlib.sha256((tmp_path / n).read_bytes()).digest() for n in ("file", "back")]
        assert digests[0] == digests[1]
        shell = link.invoke_shell("vt100", 100, 30)
        shell.settimeout(PATIENCE)
        shell.sendall(b"stty size; exit 3\n")
        said = b""
        while piece := shell.recv(4096):
            said += piece
        assert b"30 100" in said
        assert shell.recv_exit_status() == 3
        transport = link.get_transport()
        assert transport is not None
        with socket.create_server(("127.0.0.1", 0)) as listening:
            here = listening.getsockname()
            channel = transport.open_channel("direct-tcpip", here, ("127.0.0.1", 1))
            other, _ = listening.accept()
            with other:
                channel.sendall(b"there")
                assert other.recv(100) == b"there"
                other.sendall(b"and back")
                assert channel.recv(100) == b"and back"


def test_paramiko_with_a_password_right_and_wrong(alice: Client) -> None:
    with closing(connected(alice, password=PASSWORD)) as link:
        assert link.exec_command("echo in")[1].read() == b"in\n"
    with pytest.raises(paramiko.AuthenticationException):
        connected(alice, password="not this one")


# -- VS Code's Remote-SSH ------------------------------------------------------------------------

# What its script does, with a server of a few lines in place of the one it would download.
BOOTSTRAP = r"""
id=3f1e
printf '%s: running\n' "$id"
arch=$(uname -m); platform=$(uname -s)
folder="$HOME/.vscode-server"; mkdir -p "$folder/bin"
cd "$folder" || exit 1
command -v tar >/dev/null && command -v flock >/dev/null && printf '%s%%tools\n' "$id"
cat > bin/server.py <<'END'
import http.server, os, socket, socketserver, sys
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b"server of " + os.environ["USER"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def address_string(self):
        return "there"
class OnSocket(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    pass
if sys.argv[1] == "socket":
    server = OnSocket(os.path.abspath("code.sock"), Answer)
    print("listening on", server.server_address, flush=True)
else:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    print("listening on", server.server_address[1], flush=True)
server.serve_forever()
END
exec 9>lock; flock 9
nohup python3 bin/server.py MODE > log 2>&1 9>&- < /dev/null &
pid=$!
flock -u 9
for try in $(seq 100); do
  on=$(sed -n 's/^listening on //p' log); [ -n "$on" ] && break; sleep 0.1
done
printf '%s: start\nSSH_AUTH_SOCK==%s==\nlisteningOn==%s==\nosReleaseId==%s==\narch==%s==\n' \
  "$id" "$SSH_AUTH_SOCK" "$on" "$platform" "$arch"
printf 'pid==%s==\n%s: end\n' "$pid" "$id"
while read -r line; do printf 'heard %s\n' "$line"; done
"""


class RemoteSsh:
    """The extension's local side: a script on the input of a shell, beside a proxy."""

    def __init__(self, client: Client, mode: str) -> None:
        self.proxy = free_port()
        words = ("-T", "-D", str(self.proxy), "-o", "ConnectTimeout=15", "--", "bash")
        self.ssh = client.open(*words, bufsize=0)
        assert self.ssh.stdin is not None
        assert self.ssh.stdout is not None
        self.ssh.stdin.write(BOOTSTRAP.replace("MODE", mode).encode())
        self.said = b""
        while b"3f1e: end\n" not in self.said:
            piece = self.ssh.stdout.read(4096)
            assert piece, self.said
            self.said += piece

    def value(self, name: str) -> str:
        found = re.search(rf"^{name}==(.*)==$", self.said.decode(), re.MULTILINE)
        assert found is not None, self.said
        return found[1]

    def close(self) -> None:
        self.ssh.kill()
        self.ssh.communicate()


def curl(*words: str) -> bytes:
    return finished([need("curl"), "-sS", "--max-time", "60", *words]).stdout


def test_the_steps_of_remote_ssh_with_a_port(alice: Client) -> None:
    remote = RemoteSsh(alice, "port")
    try:
        assert b"3f1e%tools" in remote.said
        assert remote.value("osReleaseId") == "Linux"
        url = f"http://127.0.0.1:{remote.value('listeningOn')}/"
        through = f"127.0.0.1:{remote.proxy}"
        assert curl("--socks5-hostname", through, url) == b"server of alice"
        # What is written later arrives at once: the extension talks to its script.
        assert remote.ssh.stdin is not None
        assert remote.ssh.stdout is not None
        remote.ssh.stdin.write(b"are you there\n")
        assert remote.ssh.stdout.read(100) == b"heard are you there\n"
        # A second window uses another connection, and the server it finds.
        with alice.open("-T", "-D", str(other := free_port()), "--", "echo in; cat") as second:
            assert second.stdout is not None
            assert second.stdout.readline() == b"in\n"
            assert curl("--socks5-hostname", f"127.0.0.1:{other}", url) == b"server of alice"
            second.kill()
        pid = remote.value("pid")
    finally:
        remote.close()
    # It stays for the time when the laptop is opened again.
    assert alice.said(f"kill -0 {pid} && echo there") == b"there\n"
    alice.said(f"kill {pid}")


def test_the_steps_of_remote_ssh_with_a_socket(alice: Client, tmp_path: Path) -> None:
    remote = RemoteSsh(alice, "socket")
    try:
        path = remote.value("listeningOn")
        assert path.startswith("/userhome/.vscode-server/")
        port, ours = free_port(), tmp_path / "s"
        ways = ("-L", f"127.0.0.1:{port}:{path}", "-L", f"{ours}:{path}")
        with alice.open("-T", *ways, "--", "echo in; cat") as forward:
            assert forward.stdout is not None
            assert forward.stdout.readline() == b"in\n"
            assert curl(f"http://127.0.0.1:{port}/") == b"server of alice"
            assert curl("--unix-socket", str(ours), "http://localhost/") == b"server of alice"
            forward.kill()
        alice.said(f"kill {remote.value('pid')}; rm {path}")
    finally:
        remote.close()


# -- many ------------------------------------------------------------------------------------------


async def test_two_hundred_idle_sessions_cost_little(alice: Client) -> None:
    def memory() -> int:
        text = Path(f"/proc/{alice.server.gateway}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0])

    turns = asyncio.Semaphore(10)

    async def session() -> tuple[asyncssh.SSHClientConnection, asyncssh.SSHClientProcess[str]]:
        async with turns:
            link = await asyncssh.connect(
                "127.0.0.1",
                alice.server.ssh_port,
                username=f"alice+{alice.job}",
                client_keys=[str(alice.key)],
                known_hosts=None,
                config=[],
            )
            process = await link.create_process("cat")
            process.stdin.write("hello\n")
            assert await process.stdout.readline() == "hello\n"
            return link, process

    first = await session()
    before = memory()
    many = await asyncio.gather(*(session() for _ in range(200)))
    try:
        assert memory() - before < 200 * 1024, "kilobytes"
        for _, process in many:  # all of them are still there
            process.stdin.write("again\n")
        answers = await asyncio.gather(*(process.stdout.readline() for _, process in many))
        assert answers == ["again\n"] * 200
    finally:
        for link, _ in (first, *many):
            link.abort()


@pytest.mark.slow
def test_who_does_not_sign_in_within_a_minute_has_to_go(alice: Client) -> None:
    """One says nothing at all, one exchanges keys and then waits; one is inside."""
    address = ("127.0.0.1", alice.server.ssh_port)
    with alice.open("--", "echo ready; exec cat") as inside:
        assert inside.stdout is not None
        assert inside.stdin is not None
        assert inside.stdout.readline() == b"ready\n"
        silent = socket.create_connection(address, 120)
        undecided = paramiko.Transport(socket.create_connection(address, 120))
        undecided.start_client(timeout=PATIENCE)
        assert undecided.is_active()
        with silent:
            while silent.recv(4096):
                pass
        eventually(lambda: not undecided.is_active())
        inside.stdin.write(b"still here\n")
        inside.stdin.flush()
        assert inside.stdout.readline() == b"still here\n"
        inside.kill()
