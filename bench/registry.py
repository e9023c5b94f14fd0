"""The image registry: pushes and pulls against Debian's docker-registry on the same machine."""

from __future__ import annotations

import abc
import contextlib
import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from bench import processes
from bench.measure import Options, in_turns, median, note
from bench.server import Danlu
from bench.table import Goal, Row

SUMMARY = "pushing and pulling layers against docker-registry, and memory"
PIECE = 1 << 16
SIZE = 1 << 30
ANCHOR = "docker-registry"


def run(options: Options) -> Iterator[Row]:
    size = SIZE // 16 if options.quick else SIZE
    with Danlu(2, '[registry]\nport = 15050\nfree = "100M"\n') as danlu:
        idle, _ = processes.memory(danlu.pids())
        ours = _Ours(danlu)
        try:
            theirs = _theirs()
            with theirs or contextlib.nullcontext():
                yield from _measured(ours, theirs, size, options.times(5, 2), idle)
        finally:
            ours.end()


def _measured(
    ours: _Subject, theirs: _Subject | None, size: int, rounds: int, idle: float
) -> Iterator[Row]:
    subjects = {"danlu": ours} | ({} if theirs is None else {"anchor": theirs})
    content = os.urandom(size)
    pushes = in_turns(rounds, {n: (lambda s=s: s.push(content)) for n, s in subjects.items()})
    pulls = in_turns(rounds, {n: (lambda s=s: s.pull()) for n, s in subjects.items()})
    name = None if theirs is None else ANCHOR

    def anchor(found: dict[str, list[float]]) -> float | None:
        return median(found["anchor"]) if theirs is not None else None

    large = f"{size >> 20} MiB"
    goal = Goal("at least", 1, "x")
    yield Row(f"push a layer of {large}, MB/s", median(pushes["danlu"]), anchor(pushes), name, goal)
    yield Row(f"pull a layer of {large}, MB/s", median(pulls["danlu"]), anchor(pulls), name, goal)
    peak = ours.peak()
    most = None if theirs is None else theirs.peak()
    yield Row("peak memory of its process, MB", peak, most, name, Goal("at most", 80, "MB"))
    yield Row("memory of the server without a registry process, MB", idle)


class _Subject(abc.ABC):
    """A registry; `pid` once it was asked."""

    port: int
    repository: str

    def headers(self) -> dict[str, str]:
        return {}

    @property
    @abc.abstractmethod
    def pid(self) -> int: ...

    def push(self, content: bytes) -> float:
        """Of new content each time, in one stream of pieces, as Docker does it; MB/s."""
        content = os.urandom(32) + content[32:]
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        link = self._link()
        os.sync()  # so that nobody waits for what another has left to the disk
        start = time.perf_counter()
        where = self._do(link, "POST", f"/v2/{self.repository}/blobs/uploads/")
        pieces = (content[at : at + PIECE] for at in range(0, len(content), PIECE))
        where = self._do(link, "PATCH", where, pieces)
        joint = "&" if "?" in where else "?"
        self._do(link, "PUT", f"{where}{joint}{urlencode({'digest': digest})}")
        self._digest = digest
        return len(content) / 1e6 / (time.perf_counter() - start)

    def pull(self) -> float:
        link = self._link()
        start, got = time.perf_counter(), 0
        link.request("GET", f"/v2/{self.repository}/blobs/{self._digest}", headers=self.headers())
        answer = link.getresponse()
        buffer = memoryview(bytearray(1 << 20))
        while count := answer.readinto(buffer):
            got += count
        return got / 1e6 / (time.perf_counter() - start)

    def peak(self) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
        raise RuntimeError("the kernel does not tell")

    def _link(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def _do(
        self, link: http.client.HTTPConnection, method: str, path: str, body: object = None
    ) -> str:
        headers = self.headers()
        if body is not None:
            headers |= {"content-type": "application/octet-stream", "transfer-encoding": "chunked"}
        link.request(method, path, body, headers, encode_chunked=body is not None)  # type: ignore[arg-type]
        answer = link.getresponse()
        text = answer.read()
        assert answer.status < 300, (answer.status, text)
        where = answer.headers.get("location", "")
        return where.removeprefix(f"http://127.0.0.1:{self.port}")


class _Ours(_Subject):
    repository = "ready/bench"

    def __init__(self, danlu: Danlu) -> None:
        self._danlu = danlu
        self._folder = Path(danlu.folder, "data/registry")
        self.port = int((self._folder / "port").read_text())
        pair = b64encode(f"admin:{danlu.token}".encode()).decode()
        link = self._link()
        query = urlencode({"scope": f"repository:{self.repository}:pull,push"})
        link.request("GET", f"/token?{query}", headers={"authorization": f"Basic {pair}"})
        self._token = json.loads(link.getresponse().read())["token"]

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token}"}

    @property
    def pid(self) -> int:
        return int((self._folder / "lock").read_text())

    def end(self) -> None:
        """It outlives its server."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(self.pid, signal.SIGKILL)


class _Theirs(_Subject):
    repository = "bench/x"

    def __init__(self, program: str) -> None:
        self.port = 15051
        self._folder = Path(tempfile.mkdtemp(prefix="danlu-bench-registry-"))
        config = {
            "version": "0.1",
            "storage": {"filesystem": {"rootdirectory": str(self._folder / "data")}},
            "http": {"addr": f"127.0.0.1:{self.port}"},
        }
        path = self._folder / "config.yml"
        path.write_text(json.dumps(config))
        with (self._folder / "log").open("wb") as log:
            command = [program, "serve", str(path)]
            # In a session of its own, as ours: the kernel shares CPUs between sessions.
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True
            )
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            with contextlib.suppress(OSError):
                link = self._link()
                link.request("GET", "/v2/")
                link.getresponse().read()
                return
            time.sleep(0.05)
        raise RuntimeError("docker-registry does not start")

    def __enter__(self) -> _Theirs:
        return self

    def __exit__(self, *_: object) -> None:
        processes.stop([self._process])
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        return self._process.pid


def _theirs() -> _Theirs | None:
    program = shutil.which("docker-registry")
    if program is None:
        note("no docker-registry to compare with (apt-get install docker-registry)")
        return None
    return _Theirs(program)
