"""A real Danlu server in a temporary folder, on a free port, with a given number of slots."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import processes
from danlu.sdk import Client

DANLU = str(Path(sys.executable).with_name("danlu"))


class Danlu:
    def __init__(self, slots: int | None, config: str = "") -> None:
        """Without slots, the nodes are those of the engine in `config`."""
        self.folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
        # Tasks may run as another user; the data folder inside stays private.
        self.folder.chmod(0o755)
        # Without the caller's server and Python settings (PYTHONDONTWRITEBYTECODE and so on).
        strange = ("DANLU_", "PYTHON")
        self.env = {key: text for key, text in os.environ.items() if not key.startswith(strange)}
        self.env |= {"DANLU_NO_CONTEXT": "1", "XDG_CONFIG_HOME": str(self.folder / "config")}
        self._server: subprocess.Popen[bytes] | None = None
        self._clients: list[Client] = []
        try:
            self._start(slots, config)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Danlu:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def client(self) -> Client:
        """One connection, opened by its first request."""
        client = Client(self.url, self.token, timeout=600)
        client.version()
        self._clients.append(client)
        return client

    def command(self, *words: str, text: bytes | None = None) -> bytes:
        """`danlu ...` as a user would run it."""
        done = subprocess.run(
            [DANLU, *words],
            env=self.env,
            cwd=self.folder,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"danlu {words[0]} ended with {done.returncode}: {done.stderr!r}")
        return done.stdout

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    def pids(self) -> list[int]:
        """The server and its spawner."""
        return [self.pid, *processes.children(self.pid)]

    def keepers(self) -> list[int]:
        """The keepers of running tasks."""
        parents = processes.children(self.pid)
        nearby = [child for parent in parents for child in processes.children(parent)]
        return processes.named("danlu-keeper", nearby)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._end_tasks()
        for client in self._clients:
            client.close()
        if self._server is not None:
            processes.stop([self._server])
            self._server = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end_tasks(self) -> None:
        """Tasks outlive their server, so they are ended first."""
        if self._server is None or self._server.poll() is not None:
            return
        with Client(self.url, self.token, timeout=60) as client:
            stop_all(client)

    def _start(self, slots: int | None, more: str) -> None:
        config = self.folder / "danlu.toml"
        node = f'[[nodes]]\nname = "n1"\ncpus = {slots}\nmemory = "{slots}G"\n'
        config.write_text(more if slots is None else more + node)
        data = self.folder / "data"
        words = ["--config", str(config), "--data", str(data), "--port", "0"]
        argv = [sys.executable, "-m", "danlu.server", *words]
        log = self.folder / "server.log"
        self._server = processes.start(argv, log, self.env, self.folder)
        info = self._published(data / "server.json", log)
        self.url, self.token = str(info["url"]), str(info["token"])
        self.env |= {"DANLU_SERVER": self.url, "DANLU_TOKEN": self.token}
        with Client(self.url, self.token, timeout=60) as client:
            client.whoami()

    def _published(self, path: Path, log: Path) -> dict[str, Any]:
        assert self._server is not None
        while self._server.poll() is None:
            with contextlib.suppress(FileNotFoundError):
                info: dict[str, Any] = json.loads(path.read_text())
                return info
            time.sleep(0.02)
        raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


def active(client: Client) -> bool:
    return bool(client.jobs(active=True, limit=1)["jobs"])


def wait_until_idle(client: Client, pause: float = 0.1) -> None:
    while active(client):
        time.sleep(pause)


def stop_all(client: Client) -> None:
    asked: set[str] = set()
    while jobs := client.jobs(active=True, limit=1000)["jobs"]:
        for job in jobs:
            if job["id"] not in asked:
                asked.add(job["id"])
                client.stop(job["id"], now=True)
        time.sleep(0.1)
