"""Environments as three guides print them: created, entered, debugged in, left; curves; a notebook.

What they print is read from them: limits of names, images, folders, queues, ports. People and hosts
are this test's own.
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.conftest import BARE
from tests.dialects.harness import ShimHarness
from tests.dialects.printed import Guide
from tests.gateway.client import PASSWORD, Client, eventually
from tests.gateway.web import WebServer, entered
from tests.support.folders import let_in
from tests.support.server import free_port
from tests.support.tools import give, tools_venv

NODES = """
[[nodes]]
name = "rack1"
cpus = 24
memory = "200G"
gpus = "5:RTX3090"

[[nodes]]
name = "desk1"
cpus = 24
memory = "200G"
gpus = "2:P100"

[queues.{queue}]
nodes = ["rack1"]

[queues.debug]
nodes = ["desk1"]
kinds = ["environment", "service"]

[environments]
queue = "debug"

[volumes.notebook]
source = "{notebook}"
path = "/opt/notebook"
read_only = true
"""
pytestmark = pytest.mark.skipif(BARE, reason="needs namespaces")


class Site(WebServer):
    """Whose nodes are those of the guides."""

    def __init__(self, data: Path, nodes: str) -> None:
        super().__init__(data)
        self.config.write_text(self.config.read_text().partition("[[nodes]]")[0] + nodes)


@pytest.fixture(scope="module")
def queue() -> str:
    found = re.search(r"ilaunch q (\S+)", Guide("004").block("ilaunch"))
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, queue: str) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("guides")
    site = Site(folder / "data", NODES.format(queue=queue, notebook=tools_venv()))
    give(site.data, tools_venv())
    site.start()
    yield site
    site.cleanup()


@pytest.fixture(scope="module")
def alice(site: Site) -> Client:
    return site.person("alice")


def danlu(alice: Client, *words: str, code: int = 0) -> str:
    done = alice.server.cli(*words, env={"DANLU_TOKEN": alice.token})
    assert done.returncode == code, done
    return (done.stdout if code == 0 else done.stderr).decode()


def runs(alice: Client, name: str) -> dict[str, Any]:
    eventually(lambda: alice.call("GET", f"/environments/{name}")["state"] == "running")
    alice.job = name
    found: dict[str, Any] = alice.call("GET", f"/environments/{name}")
    return found


def test_an_environment_is_created_entered_and_stopped(alice: Client) -> None:
    """A name, CPUs, GPUs where needed, memory; Lab, an editor, a terminal, or ssh by password."""
    longest = re.search(r"不能超过(\d+)个字符", Guide("001").text)
    assert longest is not None
    name = "my_first_env".ljust(int(longest[1]), "0")
    danlu(alice, "env", "create", f"{name}0", code=2)
    danlu(alice, "env", "create", name, "-c", "4", "-m", "8G", "-g", "1:P100")
    found = runs(alice, name)
    assert (found["job"]["gpu_model"], found["job"]["nodes"]) == ("P100", ["desk1"])
    door = entered(alice, name, {"door": "lab"})
    assert door.started("/api").told["version"]
    assert danlu(alice, "env", "open", name, "terminal", "--print").startswith("http")
    inside = alice.with_password(PASSWORD, "pwd; echo made > /mnt/user/alice/it.py")
    assert inside.stdout == b"/userhome\n", inside
    danlu(alice, "env", "stop", name)
    eventually(lambda: alice.call("GET", f"/environments/{name}")["state"] == "stopped")
    assert alice.call("GET", "/jobs?active=true")["jobs"] == []  # its GPU is free
    danlu(alice, "env", "start", name)
    runs(alice, name)
    assert alice.said("cat /userhome/it.py") == b"made\n"
    danlu(alice, "env", "delete", name)


def test_curves_of_a_training_are_looked_at(alice: Client, site: Site) -> None:
    printed = re.search(r"^/mnt/user/yourname/\S+", Guide("001").text, re.MULTILINE)
    assert printed is not None
    folder = printed[0].replace("yourname", "alice")
    command = f"mkdir -p {folder} && touch {folder}/events.out.tfevents.1"
    made = alice.call("POST", "/jobs", {"name": "train", "command": command})["jobs"][0]
    assert site.wait(made)["state"] == "succeeded"
    shown = json.loads(danlu(alice, "tensorboard", folder, "--json"))
    door = entered(alice, shown["job"]["id"], {"door": "tensorboard"})
    assert b"TensorBoard" in door.started("/", {"Accept": "text/html"}).body
    danlu(alice, "stop", shown["job"]["ref"])


def test_a_job_is_debugged_on_a_node_for_debugging(alice: Client, tmp_path: Path) -> None:
    """A file of the guide's with the type of GPU it names; then ssh, and data by scp."""
    guide = Guide("002")
    kind = re.search(r"gpuType时[^a-z]*([a-z]+)", guide.text)
    assert kind is not None
    job = json.loads(guide.block("hello_gpu_cluster"))
    job["gpuType"] = kind[1]
    job["taskRoles"][0]["command"] = "sleep 100000"
    file = let_in(tmp_path) / "debug.json"
    file.write_text(json.dumps(job))
    ref = danlu(alice, "submit", str(file), "--set", "image=null").split()[0]
    alice.job = ref.rpartition("/")[2]
    eventually(lambda: alice.call("GET", f"/jobs/{alice.job}")["state"] == "running")
    assert alice.call("GET", f"/jobs/{alice.job}")["nodes"] == ["desk1"]
    (tmp_path / "data.bin").write_bytes(bytes(1000))
    assert alice.copy(tmp_path / "data.bin", ":/userhome/").returncode == 0
    assert alice.said("stat -c %s /userhome/data.bin") == b"1000\n"
    danlu(alice, "stop", alice.job)


def test_a_notebook_on_the_gpus_of_the_queue(
    alice: Client, site: Site, queue: str, tmp_path: Path
) -> None:
    """By a script for the queue and a tunnel, as the guide tells; and by an environment instead."""
    avoided = re.search(r"不要直接使用 (\d+) 端口", Guide("004").text)
    assert avoided is not None
    port = free_port()
    assert port != int(avoided[1])
    harness = ShimHarness(site, let_in(tmp_path))
    harness.file(
        "notebook.sh",
        f"""#!/bin/bash
#SBATCH --job-name=jupyter
#SBATCH --partition={queue}
#SBATCH --gres=gpu:1
#SBATCH --chdir=/userhome
echo "on $(hostname) with GPU $CUDA_VISIBLE_DEVICES"
/opt/notebook/bin/python -m jupyterlab --no-browser --ip=127.0.0.1 --port={port} \\
  --ServerApp.token=secret
""",
    )
    done = harness.run("sbatch", "notebook.sh", env={"DANLU_TOKEN": alice.token})
    assert done.returncode == 0, done
    alice.job = alice.call("GET", "/jobs?name=jupyter&limit=1")["jobs"][0]["ref"].split("/")[1]
    eventually(lambda: alice.call("GET", f"/jobs/{alice.job}")["state"] == "running")
    assert alice.call("GET", f"/jobs/{alice.job}")["nodes"] == ["rack1"]
    here = free_port()
    with alice.open("-N", "-L", f"{here}:localhost:{port}") as tunnel:
        try:
            deadline = time.monotonic() + 180
            while asked(here, "/api") != 200:
                assert time.monotonic() < deadline, danlu(alice, "logs", alice.job)
                time.sleep(0.2)
            assert asked(here, "/api/kernels?token=secret") == 200
            assert asked(here, "/api/kernels") == 403
        finally:
            tunnel.kill()
    danlu(alice, "stop", alice.job)
    danlu(alice, "env", "create", "notebook", "-g", "1", "--queue", queue)
    assert runs(alice, "notebook")["job"]["nodes"] == ["rack1"]
    assert entered(alice, "notebook", {"door": "lab"}).started("/api").status == 200
    danlu(alice, "env", "delete", "notebook")


def asked(port: int, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}{path}", timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as no:
        return no.code
    except OSError:
        return 0
