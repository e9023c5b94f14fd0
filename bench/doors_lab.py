"""JupyterLab of an environment: from opening it until its page answers, against one by hand."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.doors_web import entered
from bench.measure import Options, median
from bench.server import Danlu
from bench.table import Goal, Row
from danlu.engines.local.tool_steps import Steps
from danlu.engines.local.tools import ToolsFolder, read_mark
from danlu.engines.local.tools_venv import make

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "danlu"
HAND = "the same JupyterLab, started by hand"


def rows(options: Options) -> Iterator[Row]:
    tools = _tools()
    gateway = 0
    try:
        with Danlu(8) as danlu:
            folder = Path(danlu.folder, "data/tools")
            folder.mkdir(mode=0o755, exist_ok=True)
            (folder / tools.name).symlink_to(tools)
            cold = _cold(lambda: _environment(danlu, "cold"))
            count = options.times(5, 2)
            warm, by_hand = [], []
            for number in range(count):  # in turn: what else the machine does meets both
                warm.append(_environment(danlu, f"warm{number}"))
                by_hand.append(_by_hand(tools, danlu.folder))
            alone = _cold(lambda: _by_hand(tools, danlu.folder))
            gateway = int(Path(danlu.folder, "data/gateway/lock").read_text())
    finally:
        if gateway:  # it outlives its server
            os.kill(gateway, signal.SIGKILL)
    yield Row("JupyterLab opened until it answers, cold, s", cold, alone, HAND)
    what = "JupyterLab opened until it answers, warm, s"
    yield Row(what, median(warm), median(by_hand), HAND, Goal("at most", 1.5, "x"))


def _tools() -> Path:
    """The virtual environment of tests, which is kept outside the repository."""
    folder = ToolsFolder(CACHE)
    if read_mark(folder.venv) is None:
        make(folder, getattr(sys, "_base_executable", sys.executable), Steps(1, lambda _: None))
    return folder.venv


def _cold(measure: Callable[[], float]) -> float:
    """With nothing of it in the page cache, where root may empty that."""
    subprocess.run(["sync"], check=True)
    if os.geteuid() == 0:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    return measure()


def _environment(danlu: Danlu, name: str) -> float:
    with danlu.client() as client:
        client.environments.create(name, cpus=1, memory="2G")
        while client.environments.show(name)["state"] != "running":
            time.sleep(0.02)
        started = time.perf_counter()
        door = client.open_door(name, "lab")
    cookie = entered(door["port"], door["path"])
    while _status(door["port"], cookie) != 200:
        time.sleep(0.02)
    took = time.perf_counter() - started
    with danlu.client() as client:  # meanwhile the server may have ended an idle connection
        client.environments.delete(name)
    return took


def _by_hand(tools: Path, folder: Path) -> float:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    words = [tools / "bin/python", "-m", "jupyterlab", "--no-browser", "--allow-root"]
    words += [f"--port={port}", "--ip=127.0.0.1", "--ServerApp.token="]
    env = {**os.environ, "HOME": str(folder)}
    started = time.perf_counter()
    with subprocess.Popen(
        words, env=env, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as lab:
        try:
            while _status(port, "") != 200:
                time.sleep(0.02)
            return time.perf_counter() - started
        finally:
            lab.kill()


def _status(port: int, cookie: str) -> int:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=180)
    try:
        link.request("GET", "/api", headers={"Cookie": cookie} if cookie else {})
        return link.getresponse().status
    except OSError:
        return 0
    finally:
        link.close()
