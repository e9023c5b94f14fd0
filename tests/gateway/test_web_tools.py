"""Tools of a development environment, started by whoever opens them first."""

from __future__ import annotations

import os

import pytest

from danlu.engines.api import TaskRef
from danlu.engines.local.reach import LocalReach
from danlu.gateway.web.heads import LARGEST, read_response
from danlu.gateway.web.upstream import Tools, Way
from danlu.wire import Rejected
from tests.gateway.client import Client, eventually
from tests.gateway.sites import site
from tests.gateway.web import WebServer, entered
from tests.support.folders import open_python

__all__ = ["site"]

SUPERVISOR = """
import asyncio, json, os, subprocess, sys

folder, program = sys.argv[1:]
os.makedirs(folder)
running = {}

async def serve(reader, writer):
    tool = json.loads(await reader.readline())["start"]
    if tool == "code":
        answer = {"error": {"en": "no VS Code here", "zh": "这里没有 VS Code"}}
    elif tool == "tensorboard":
        answer = {"strange": True}
    else:
        path = f"{folder}/{tool}.sock"
        if tool not in running or running[tool].poll() is not None:
            if os.path.exists(path):
                os.unlink(path)
            words = [sys.executable, program, path]
            running[tool] = subprocess.Popen(words, stdout=subprocess.PIPE)
            print("started", running[tool].pid, flush=True)
            running[tool].stdout.readline()
        answer = {"ready": True, "socket": path}
    writer.write(json.dumps(answer).encode() + b"\\n")
    writer.close()

async def main():
    server = await asyncio.start_unix_server(serve, f"{folder}/control.sock")
    print("ready", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
REQUEST = b"GET /tree HTTP/1.1\r\nHost: x\r\n\r\n"


class Environment:
    """A job whose first process starts tools when it is asked to."""

    def __init__(self, server: WebServer) -> None:
        self.server = server
        script = server.data.parent / "supervisor.py"
        script.write_text(SUPERVISOR)
        self.alice = server.person("alice")
        folder = f"/tmp/{os.urandom(6).hex()}"
        self.alice.run([open_python(), str(script), folder, str(server.app)])
        eventually(lambda: "ready" in self.log)
        attempt = self.alice.call("GET", f"/jobs/{self.alice.job}")["attempts"][-1]["id"]
        reach = LocalReach(f"{server.data}/run")
        self.way = Way(reach, TaskRef(attempt, 0), f"{folder}/control.sock")

    @property
    def log(self) -> str:
        return self.server.bytes_of(f"/jobs/alice~{self.alice.job}/logs").decode()


@pytest.fixture(scope="module")
def environment(site: WebServer) -> Environment:
    return Environment(site)


async def status(tools: Tools, way: Way) -> int:
    upstream = await tools.connect(way, "lab")
    await upstream.send(REQUEST)
    try:
        return read_response(await upstream.source.head(LARGEST)).status
    finally:
        upstream.close()


async def test_a_tool_is_started_once_and_again_when_it_has_ended(
    environment: Environment,
) -> None:
    tools = Tools()
    assert await status(tools, environment.way) == 200
    assert await status(tools, environment.way) == 200
    assert environment.log.count("started") == 1
    alice, pid = environment.alice, environment.log.split()[-1]
    words = ("exec", alice.job, "--", "sh", "-c", f"kill -9 {pid}; sleep 1")
    done = environment.server.cli(*words, env={"DANLU_TOKEN": alice.token})
    assert done.returncode == 0, done
    assert await status(tools, environment.way) == 200
    assert environment.log.count("started") == 2


async def test_what_the_supervisor_says_is_passed_on(environment: Environment) -> None:
    with pytest.raises(Rejected) as no:
        await Tools().connect(environment.way, "code")
    assert no.value.text.en == "no VS Code here"
    assert no.value.text.zh == "这里没有 VS Code"
    with pytest.raises(Rejected) as no:
        await Tools().connect(environment.way, "tensorboard")
    assert no.value.code == "starting"


def test_a_job_without_tools_says_so(site: WebServer) -> None:
    bob: Client = site.person("bob")
    answer = entered(bob, bob.run(), {"door": "lab"}).ask("/", {"Accept": "text/html"})
    assert answer.status == 502
    assert b"only development environments" in answer.body
    assert "只有开发环境".encode() in answer.body
