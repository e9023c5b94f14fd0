"""The system's own SSH programs, as somebody with a key and a running job uses them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support.parts import need
from tests.support.server import DanluServer, free_port

PATIENCE = 60.0  # only so that what is broken fails a test instead of hanging it
PASSWORD = "correct-horse-battery"
OPTIONS = (
    "StrictHostKeyChecking=no",
    "UserKnownHostsFile=/dev/null",
    "LogLevel=ERROR",
    "IdentitiesOnly=yes",
    "ControlPath=none",
)
Words = Sequence[str | os.PathLike[str]]
Finished = subprocess.CompletedProcess[bytes]


class SshServer(DanluServer):
    """With a door for SSH clients, and `alice`, who has a key."""

    def __init__(self, data: Path, config: str = "", **more: Any) -> None:
        self.ssh_port = free_port()
        config = config or '[[nodes]]\nname = "n1"\ncpus = 24\nmemory = "200G"\n'
        listen = f'[server]\nssh = "127.0.0.1:{self.ssh_port}"\ncircle_of_trust = true\n'
        super().__init__(data, f"{listen}{config}", **more)
        self.folder = data.parent / "clients"

    def start(self, timeout: float = 180.0) -> SshServer:
        super().start(timeout)
        return self

    def person(self, name: str) -> Client:
        self.folder.mkdir(exist_ok=True)
        code = self.post("/invites", {})["code"]
        self.post("/sign-up", {"name": name, "password": PASSWORD, "code": code})
        token = self.post("/login", {"user": name, "password": PASSWORD})["token"]
        client = Client(self, name, token, self.folder / name)
        make_key(client.key)
        client.call("POST", "/ssh-keys", {"key": client.key.with_suffix(".pub").read_text()})
        return client


def make_key(path: Path) -> None:
    subprocess.run(
        [need("ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", "", "-f", path],
        check=True,
    )


class Client:
    def __init__(self, server: SshServer, name: str, token: str, key: Path) -> None:
        need("ssh", "openssh-client")
        self.server = server
        self.name = name
        self.token = token
        self.key = key
        self.job = ""

    def call(self, method: str, path: str, body: Any = None) -> Any:
        ours, self.server.token = self.server.token, self.token
        try:
            return self.server.call(method, path, body)
        finally:
            self.server.token = ours

    def run(self, command: str | list[str] = "sleep 100000", **job: Any) -> str:
        """Submits a job that runs, and that the following commands go to."""
        made = self.call("POST", "/jobs", {"command": command, "name": "box", **job})["jobs"][0]
        while (found := self.call("GET", f"/jobs/{made['id']}"))["state"] != "running":
            assert found["state"] in ("queued", "starting"), found
            time.sleep(0.02)
        self.job = made["ref"].rpartition("/")[2]
        return self.job

    @property
    def address(self) -> str:
        return f"{self.name}+{self.job}@127.0.0.1"

    @property
    def options(self) -> list[str]:
        return [word for each in OPTIONS for word in ("-o", each)] + ["-i", str(self.key)]

    def words(self, *more: str, to: str | None = None, typed: bool = False) -> list[str]:
        """`more`: options, and after `--` a command."""
        at = more.index("--") if "--" in more else len(more)
        port = str(self.server.ssh_port)
        known = ["ssh", *self.options, "-p", port]
        if not typed:
            known += ["-o", "BatchMode=yes"]
        return [*known, *more[:at], to or self.address, *more[at + 1 :]]

    def ssh(self, *more: str, to: str | None = None, **how: Any) -> Finished:
        return finished(self.words(*more, to=to), **how)

    def said(self, command: str, *options: str, **how: Any) -> bytes:
        answer = self.ssh(*options, "--", command, **how)
        assert answer.returncode == 0, answer
        return answer.stdout

    def open(self, *more: str, **how: Any) -> subprocess.Popen[bytes]:
        how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **how}
        return subprocess.Popen(self.words(*more), **how)

    def copy(self, *words: str | Path, program: str = "scp", **how: Any) -> Finished:
        """`:path` means the task's."""
        there = [f"{self.address}{word}" if str(word)[0] == ":" else word for word in words]
        return finished([program, *self.options, "-P", str(self.server.ssh_port), *there], **how)

    def with_password(self, password: str, *words: str, to: str | None = None) -> Finished:
        """As typed: the program that asks for it is told to ask this one."""
        asked = self.server.folder / f"ask-{os.urandom(4).hex()}"
        asked.write_text(f"#!{sys.executable}\nprint({password!r})\n")
        asked.chmod(0o755)
        only = ["-o", "PubkeyAuthentication=no", "-o", "NumberOfPasswordPrompts=1"]
        only += ["-o", "PreferredAuthentications=password"]
        env = {**os.environ, "SSH_ASKPASS": str(asked), "SSH_ASKPASS_REQUIRE": "force"}
        command = self.words(*only, "--", *words, to=to, typed=True)
        # At this level the sentences of the server are shown.
        return finished([word.replace("=ERROR", "=INFO") for word in command], env=env)


def finished(words: Words, **how: Any) -> Finished:
    how = {"timeout": PATIENCE, "capture_output": True, "check": False, **how}
    if "input" not in how:
        how.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(words, **how)


def eventually(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
