"""A program in a task of somebody else's, on the same machine as an environment: what it reaches of
JupyterLab, its kernels, VS Code and TensorBoard there, and of the platform.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.client import Client, eventually
from tests.gateway.sites import alice, running
from tests.gateway.web import Door, WebServer, entered
from tests.inside.client import LabBehind
from tests.security.conftest import only_as_root
from tests.support.folders import open_python
from tests.support.tools import tools_tree

__all__ = ["alice"]

# What anybody in this network can see of sockets: ports that listen with their users, and names.
SEEN = """
import json
ports = []
for kind in ("tcp", "tcp6", "udp", "udp6"):
    for line in open(f"/proc/net/{kind}").readlines()[1:]:
        words = line.split()
        if kind.startswith("udp") or words[3] == "0A":
            ports.append([int(words[7]), kind, int(words[1].rpartition(":")[2], 16)])
lines = [line.split() for line in open("/proc/net/unix").readlines()[1:]]
print(json.dumps([ports, [words[7] for words in lines if len(words) > 7]]))
"""
# Names of the sockets of one's own processes.
OWN = """
import glob, json, os
held = {os.readlink(path)[8:-1] for path in glob.glob("/proc/[0-9]*/fd/*") if os.path.lexists(path)}
lines = [line.split() for line in open("/proc/net/unix").readlines()[1:]]
print(json.dumps(sorted({words[7] for words in lines if len(words) > 7 and words[6] in held})))
"""
CONNECT = """
import json, socket, sys
reached = []
for name in json.load(sys.stdin):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(10)
    try:
        link.connect("\\0" + name[1:] if name.startswith("@") else name)
    except OSError:
        continue
    reached.append(name)
print(json.dumps(reached))
"""
ASK = """
import json, sys, urllib.error, urllib.request
answers = []
for url, method, fields in json.load(sys.stdin):
    asked = urllib.request.Request(url, method=method, headers=fields)
    asked.data = b"{}" if method == "POST" else None
    try:
        answers.append(urllib.request.urlopen(asked, timeout=60).status)
    except urllib.error.HTTPError as no:
        answers.append(no.code)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    only_as_root()
    yield from running(tmp_path_factory.mktemp("site"), tools_tree())


@pytest.fixture(scope="module")
def mallory(site: WebServer) -> Client:
    mallory = site.person("mallory")
    mallory.run()
    return mallory


def does(who: Client, program: str, given: Any = None) -> Any:
    """A program in the task that `who` is in, and what it tells."""
    done = who.ssh("--", f"{open_python()} -c '{program}'", input=json.dumps(given).encode())
    assert done.returncode == 0, done
    return json.loads(done.stdout)


async def opened(alice: Client) -> dict[str, Door]:
    """All tools of an environment, with a kernel that has run a cell."""
    alice.call("POST", "/environments", {"name": "dev", "cpus": 2, "memory": "4G"})
    eventually(lambda: alice.call("GET", "/environments/dev")["state"] == "running")
    alice.job = "dev"
    doors = {tool: entered(alice, "dev", {"door": tool}) for tool in ("lab", "code", "tensorboard")}
    assert doors["lab"].started("/api").status == 200
    lab = LabBehind(doors["lab"].origin, doors["lab"].cookies)
    assert await lab.run((await lab.kernels())["default"], "print(6 * 7)") == "42\n"
    assert doors["code"].started("/healthz").status == 200
    assert doors["tensorboard"].started("/data/environment").status == 200
    return doors


async def test_a_neighbours_task_reaches_nothing_of_an_environment(
    site: WebServer, alice: Client, mallory: Client
) -> None:
    doors = await opened(alice)
    me, them = (int(each.said("id -u")) for each in (mallory, alice))
    assert me != them
    ports, names = does(mallory, SEEN)
    assert [port for port in ports if port[0] == them] == [], "tools listen on no port"
    hers = does(alice, OWN)
    assert {name.rpartition("/")[2] for name in hers} >= {"lab.sock", "code.sock", "control.sock"}
    assert set(hers) <= set(names), "which everybody sees"
    assert does(mallory, CONNECT, hers) == []

    token = f"danlu-session={alice.token}"
    asks = [(f"{site.url}/danlu/v1/environments/alice~dev", "GET", {})]
    asks += [(f"{site.url}/danlu/v1/jobs/alice~dev/doors", "POST", {})]
    for door in doors.values():
        for fields in ({}, {"Cookie": token}, {"Authorization": f"Bearer {mallory.token}"}):
            asks.append((f"{door.origin}/api/contents", "GET", fields))
            asks.append((f"{door.origin}/api/kernels", "POST", {**fields, "Origin": door.origin}))
    assert set(does(mallory, ASK, asks)) == {401}
    assert alice.call("GET", "/environments/dev")["state"] == "running"
