"""A demo in a folder of its own, started as a newcomer would."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests.support.server import free_port

DANLU = [sys.executable, "-m", "danlu.cli"]


class Visitor:
    """A newcomer's account, with nothing prepared."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "XDG_"))}
        self.env = {**kept, "HOME": str(home), "DANLU_LANG": "en"}
        self.server: subprocess.Popen[str] | None = None
        self.said = ""

    @property
    def data(self) -> Path:
        return self.home / "demo"

    def start(self, *words: str) -> str:
        self.server = subprocess.Popen(
            [*DANLU, "up", "--demo", "--data", str(self.data), "--port", str(free_port()), *words],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert self.server.stdout is not None
        said = []
        for line in self.server.stdout:
            said.append(line)
            if "Ctrl-C" in line:
                break
        self.said = "".join(said)
        return self.said

    def interrupt(self) -> int:
        assert self.server is not None
        self.server.send_signal(signal.SIGINT)
        return self.server.wait(120)

    def danlu(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*DANLU, *words, "--context", "demo"], env=self.env, capture_output=True, text=True,
            check=False, timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def json(self, *words: str) -> Any:
        return json.loads(self.danlu(*words, "--json").stdout)

    def jobs(self) -> dict[str, dict[str, Any]]:
        """The latest job of each owner and name."""
        found: dict[str, dict[str, Any]] = {}
        for job in self.json("jobs", "--all", "--limit", "300")["jobs"]:
            found.setdefault(f"{job['owner']}/{job['name']}", job)
        return found

    def why(self, name: str) -> str:
        return self.danlu("why", self.jobs()[name]["ref"]).stdout

    def sign_in(self, name: str) -> dict[str, Any]:
        url, password = self.address(), self.password()
        body = json.dumps({"user": name, "password": password}).encode()
        request = urllib.request.Request(
            f"{url}/danlu/v1/session", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def address(self) -> str:
        found = re.search(r"http://127\.0\.0\.1:\d+", self.said)
        assert found is not None
        return found[0]

    def password(self) -> str:
        found = re.search(r"password (\S+)", self.said)
        assert found is not None
        return found[1]

    def tasks(self) -> list[str]:
        """Processes of this demo's jobs."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes()
                # With namespaces, only its mounts tell where its home is.
                known = (folder / "environ").read_bytes() + (folder / "mountinfo").read_bytes()
                mine = str(self.data).encode() in known
            except OSError:
                continue
            if b"demo/train" in words and mine:
                found.append(words.decode())
        return found
