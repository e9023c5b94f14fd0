"""Somebody's desk: a folder to work in, and the commands of other platforms on the PATH."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from danlu.cli.shims.install import install
from tests.support.server import DanluServer

PATIENCE = 180.0
ENDED = ("succeeded", "failed", "stopped")

T = TypeVar("T")
Job = dict[str, Any]


class ShimHarness:
    def __init__(self, server: DanluServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.bin = folder / "bin"
        # This machine may have the real ones.
        install(str(self.bin), [], over=True)

    @property
    def env(self) -> dict[str, str]:
        home = str(self.folder)
        path = f"{self.bin}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**self.server.env, "PATH": path, "HOME": home, "XDG_CONFIG_HOME": f"{home}/.config"}

    # -- files and commands -------------------------------------------------------------------

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """A command as the shell would find it."""
        more.setdefault("stdin", subprocess.DEVNULL)
        env = {**self.env, **more.pop("env", {})}
        return subprocess.run(
            words,
            env=env,
            cwd=more.pop("cwd", self.folder),
            text=True,
            capture_output=True,
            timeout=more.pop("patience", PATIENCE),
            check=False,
            **more,
        )

    def shell(self, text: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.run("bash", "-euo", "pipefail", "-c", text, **more)

    def danlu(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "danlu.cli", *words, **more)

    # -- jobs ---------------------------------------------------------------------------------

    def send(self, text: str, **query: Any) -> dict[str, Any]:
        """Submits a file over the API, in whatever language it is."""
        import json

        words = urllib.parse.urlencode(
            {
                key: value if isinstance(value, str) else json.dumps(value)
                for key, value in query.items()
            }
        )
        request = urllib.request.Request(
            f"{self.server.url}/danlu/v1/jobs?{words}",
            text.encode(),
            headers={
                "Authorization": f"Bearer {self.server.token}",
                "Content-Type": "text/plain",
            },
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found

    def show(self, ref: object) -> Job:
        found: Job = self.server.get(f"/jobs/{ref}")
        return found

    def wait(self, ref: object) -> Job:
        return self.server.wait({"id": ref}, PATIENCE)

    def log(self, ref: object, task: int = 0) -> str:
        return self.server.bytes_of(f"/jobs/{ref}/logs?task={task}").decode()

    def events(self, ref: object) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.server.get(f"/jobs/{ref}/events?limit=1000")["events"]
        return found

    def clear(self) -> None:
        def empty() -> bool:
            jobs = self.server.get("/jobs?active=true&limit=1000")["jobs"]
            for job in jobs:
                if job["state"] != "stopping":
                    self.server.post(f"/jobs/{job['id']}/stop", {"now": True})
            return not jobs

        eventually(empty)


def eventually(what: Callable[[], T | None], every: float = 0.05) -> T:
    deadline = time.monotonic() + PATIENCE
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(every)
