"""A real server in a process of its own, on a free port, with its data in a folder of the test."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.support.certificates import Certificate
from tests.support.folders import let_in

PATIENCE = 180.0  # only so that what is broken fails a test instead of hanging it

_PORTS = itertools.count(random.randrange(1000))


class DanluServer:
    """Starts `python -m danlu.server` and talks to it. Ends its tasks when the test is over."""

    module = "danlu.server"
    wrapper: tuple[str, ...] = ()  # a program that becomes the server

    def __init__(
        self,
        data: Path,
        config: str = "",
        port: int | None = None,
        extra_env: dict[str, str] | None = None,
        host: str = "127.0.0.1",
        certificate: Certificate | None = None,
    ) -> None:
        """`certificate`: with TLS; danlu.toml has to name the files."""
        self.data = data
        let_in(data.parent)
        self.port = port or free_port()
        self.host = host
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'http' if certificate is None else 'https'}://{shown}:{self.port}"
        self.tls = None if certificate is None else certificate.client
        self.token = ""
        self.extra_env = extra_env or {}  # of the server's own process
        self.process: subprocess.Popen[bytes] | None = None
        self.log = data.parent / f"{data.name}.server.log"
        self.config = data.parent / f"{data.name}.toml"
        config = config if "ssh = " in config else without_ssh(config)
        self.config.write_text(config if "[registry" in config else without_registry(config))
        self.config.chmod(0o600)

    @property
    def env(self) -> dict[str, str]:
        """For the command line."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DANLU_")}
        home = str(self.data.parent)
        return {
            **kept,
            "DANLU_SERVER": self.url,
            "DANLU_TOKEN": self.token,
            "DANLU_LANG": "en",
            "XDG_CONFIG_HOME": f"{home}/.config",
            "HOME": home,
        }

    def start(self, timeout: float = PATIENCE) -> DanluServer:
        self.launch()
        self.wait_until_up(timeout)
        return self

    def launch(self) -> None:
        """Starts the process without waiting for it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *self.wrapper,
                    sys.executable,
                    "-m",
                    self.module,
                    "--data",
                    str(self.data),
                    "--host",
                    self.host,
                    "--port",
                    str(self.port),
                    "--config",
                    str(self.config),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**self.env, **self.extra_env, "DANLU_NO_CONTEXT": "1"},
                cwd=self.data.parent,
            )

    def wait_until_up(self, timeout: float = PATIENCE) -> None:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended: {self.tail()}")
            try:
                info = json.loads((self.data / "server.json").read_text())
                if info["pid"] == self.process.pid:
                    self.token = info["token"]
                    self.get("/server")
                    return
            except (OSError, ValueError, KeyError):
                pass
            time.sleep(0.02)
        raise AssertionError(f"the server did not come up: {self.tail()}")

    def kill(self) -> None:
        """As a power switch would: no goodbye."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()

    def cleanup(self) -> None:
        """Ends what the test left running, by asking the server for it."""
        try:
            if self.process is None or self.process.poll() is not None:
                self.start()
            while jobs := self.get("/jobs?active=true&limit=1000")["jobs"]:
                for job in jobs:
                    self.post(f"/jobs/{job['id']}/stop", {"now": True})
                time.sleep(0.1)
        finally:
            self.stop()
            self.end_gateway()
            self.end_registry()

    @property
    def gateway(self) -> int | None:
        """The process that serves SSH clients and outlives the server."""
        return _holder(self.data / "gateway/lock")

    @property
    def registry(self) -> int | None:
        """The process that serves images and outlives the server."""
        return _holder(self.data / "registry/lock")

    @property
    def images(self) -> str:
        """The address of the registry on this machine."""
        return f"127.0.0.1:{(self.data / 'registry/port').read_text().strip()}"

    def end_registry(self) -> None:
        while (pid := self.registry) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def end_gateway(self) -> None:
        while (pid := self.gateway) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def get(self, path: str, timeout: float = PATIENCE) -> Any:
        return self.call("GET", path, timeout=timeout)

    def post(self, path: str, body: Any = None, timeout: float = PATIENCE) -> Any:
        return self.call("POST", path, body, timeout)

    def call(self, method: str, path: str, body: Any = None, timeout: float = PATIENCE) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/danlu/v1{path}",
            data,
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout, context=self.tls) as answer:
            return json.loads(answer.read())

    def bytes_of(self, path: str) -> bytes:
        request = urllib.request.Request(
            f"{self.url}/danlu/v1{path}", headers={"Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE, context=self.tls) as answer:
            return bytes(answer.read())

    def submit(self, **job: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.post("/jobs", job)["jobs"][0]
        return found

    def wait(self, job: dict[str, Any], timeout: float = PATIENCE) -> dict[str, Any]:
        deadline = time.monotonic() + timeout
        while True:
            found: dict[str, Any] = self.get(f"/jobs/{job['id']}/wait?timeout=5")
            if found["state"] in ("succeeded", "failed", "stopped"):
                return found
            assert time.monotonic() < deadline, f"still {found['state']}: {found['ref']}"

    def goes_on(self, name: str) -> dict[str, Any]:
        """The latest job of this name once it runs; its output may be seen before that is noted."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found: dict[str, Any] = self.get(f"/jobs?name={name}&limit=1")["jobs"][0]
            if found["state"] == "running":
                return found
            assert found["state"] in ("queued", "starting"), found["state"]
            assert time.monotonic() < deadline, f"still {found['state']}: {found['ref']}"
            time.sleep(0.02)

    def cli(self, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        more.setdefault("timeout", PATIENCE)
        more.setdefault("cwd", tempfile.gettempdir())  # a folder that every user may enter
        more.setdefault("stdin", subprocess.DEVNULL if "input" not in more else None)
        if "input" in more:
            more.pop("stdin")
        return subprocess.run(
            [sys.executable, "-m", "danlu.cli", *words],
            capture_output=True,
            env={**self.env, **more.pop("env", {})},
            check=False,
            **more,
        )

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


def _holder(path: Path) -> int | None:
    """Whoever has locked a file and has written its number there."""
    with contextlib.suppress(OSError, ValueError), open(path) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(lock.read())
    return None


def without_registry(config: str) -> str:
    """Nor for images."""
    return f"registry.enabled = false\n{config}"


def without_ssh(config: str) -> str:
    """Most tests need no port for SSH clients."""
    written, count = re.subn(r"(?m)^\s*\[server\].*$", '[server]\nssh = "off"', config, count=1)
    return written if count else f'server.ssh = "off"\n{config}'


def free_port() -> int:
    """One that stays free until it is used: not of those that the system gives to any connection
    or that servers lease to tasks, and no two processes that run tests count in the same part."""
    worker = int("0" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw"))
    while True:
        port = 10_000 + worker % 10 * 1000 + next(_PORTS) % 1000
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
