"""The ways of four platforms' guides, from the first command to the result, with real containers.

Hosts, people and images are this test's own; everything else is typed as users type it.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PASSWORD, PeopleHarness
from tests.cli.person import Terminal
from tests.containers.conftest import docker_daemon  # noqa: F401
from tests.dialects.harness import ShimHarness, eventually
from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.folders import let_in
from tests.support.registry import PASSWORD as PASSWORD_OF_REGISTRY
from tests.support.registry import USER, Registry
from tests.support.server import DanluServer

LAB = """
[server]
circle_of_trust = true

[engine]
containers = "docker"
container_socket = "{socket}"

[[nodes]]
name = "rack1"
cpus = 24
memory = "200G"
gpus = "5:RTX3090"

[volumes.slow]
source = "{slow}"
target = "/slow"
everywhere = false

[registries."{registry}"]
user = "{user}"
password_file = "{password}"
plain_http = true
"""


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    registry = Registry(password=True)
    yield registry.start()
    registry.remove()


@pytest.fixture(scope="module")
def server(
    docker_daemon: ContainerDaemon,  # noqa: F811
    registry: Registry,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[DanluServer]:
    folder = tmp_path_factory.mktemp("guides")
    password = folder / "registry-password"
    password.write_text(PASSWORD_OF_REGISTRY)
    password.chmod(0o600)
    slow = folder / "slow"
    (slow / "alice").mkdir(parents=True)
    let_in(slow / "alice")
    (slow / "alice" / "notes.txt").write_text("written earlier\n")
    text = LAB.format(
        socket=docker_daemon.socket,
        slow=slow,
        registry=registry.host,
        user=USER,
        password=password,
    )
    server = DanluServer(folder / "data", text).start()
    yield server
    server.cleanup()


@pytest.fixture
def shim_harness(server: DanluServer, tmp_path: Path) -> Iterator[ShimHarness]:
    shim_harness = ShimHarness(server, let_in(tmp_path))
    yield shim_harness
    shim_harness.clear()


# -- A lab under Determined: a YAML file for a shell -------------------------------------


def test_a_shell_by_a_yaml_file(shim_harness: ShimHarness) -> None:
    slow = shim_harness.server.data.parent / "slow"
    shim_harness.file(
        "config.yaml",
        f"""description: my_task
resources:
  agent_label: 3090
  slots: 1
bind_mounts:
  - host_path: {slow}/alice
    container_path: /run/determined/workdir/alice
environment:
  image: {BUSYBOX}
""",
    )
    done = shim_harness.danlu("submit", "config.yaml")
    assert done.returncode == 0, done.stderr
    assert "danlu exec" in done.stderr
    ref = done.stdout.split()[0]
    eventually(lambda: shim_harness.show(ref.replace("/", "~"))["state"] == "running")
    words = ["cat", "/run/determined/workdir/alice/notes.txt"]
    assert shim_harness.danlu("exec", ref, "--", *words).stdout == "written earlier\n"


# -- A cluster that cannot reach the world's registries: images come by the lab's own ----


def test_an_image_is_pushed_to_the_labs_registry_and_jobs_run_in_it(
    shim_harness: ShimHarness,
    docker_daemon: ContainerDaemon,  # noqa: F811
    registry: Registry,
    tmp_path: Path,
) -> None:
    image = f"{registry.host}/tools:latest"
    env = {"DOCKER_CONFIG": str(tmp_path / "docker")}

    def docker(*words: str, **more: Any) -> None:
        done = docker_daemon.client(*words, env=env, **more)
        assert done.returncode == 0, done.stderr

    docker(
        "login", registry.host, "-u", USER, "--password-stdin", input=PASSWORD_OF_REGISTRY.encode()
    )
    docker("tag", BUSYBOX, image)
    docker("push", image)
    docker_daemon.drop_image(image)
    assert not docker_daemon.has_image(image)
    done = shim_harness.danlu("run", "--image", image, "--", "busybox", "echo", "from the registry")
    assert (done.returncode, done.stdout) == (0, "from the registry\n"), done.stderr
    assert docker_daemon.has_image(image)


# -- A cluster with DLC: the client is fetched, configured, and submits a params file ----


def test_the_client_is_fetched_and_a_params_file_submitted(shim_harness: ShimHarness) -> None:
    people_harness = PeopleHarness(Harness(shim_harness.server))
    group = people_harness.group()
    person = people_harness.person(group)
    url = f"{shim_harness.server.url}/light/binary/linux/amd64/dlc"
    with urllib.request.urlopen(url, timeout=180) as answer:
        (shim_harness.folder / "dlc").write_bytes(answer.read())
    (shim_harness.folder / "dlc").chmod(0o755)
    bare = {"DANLU_SERVER": "", "DANLU_TOKEN": "", "PATH": "/usr/bin:/bin"}
    host = shim_harness.server.url.removeprefix("http://")
    done = shim_harness.shell(
        f"""./dlc config \\
       --username {person.name} \\
       --region cn-somewhere \\
       --endpoint {host} \\
       --password '{PASSWORD}'
./dlc get workspace""",
        env=bare,
    )
    assert done.returncode == 0, done.stderr
    assert f"| {group} " in done.stdout
    done = shim_harness.shell(
        f"""cat << EOF > first.params
name=mytask
kind=PyTorchJob
worker_count=1
worker_cpu=4
worker_gpu=0
worker_memory=4
worker_shared_memory=4
worker_image={BUSYBOX}
command=echo "hello world"
priority=1
workspace_id={group}
interactive=false
EOF
./dlc create job --params_file ./first.params""",
        env=bare,
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"\|\s+(dlc[0-9a-z]+)\s+\|", done.stdout)
    assert found is not None
    ident = found[1]

    def over() -> bool:
        shown = json.loads(shim_harness.run("./dlc", "get", "job", ident, env=bare).stdout)
        return shown["Status"] == "Succeeded"

    eventually(over)
    assert shim_harness.run("./dlc", "logs", ident, env=bare).stdout == "hello world\n"
    people_harness.close()


# -- A platform with OpenPAI: JSON jobs, pasted ------------------------------------------


def test_a_json_job_leaves_its_result_in_the_users_folder(shim_harness: ShimHarness) -> None:
    shim_harness.file(
        "hello.json",
        json.dumps(
            {
                "jobName": "first_job",
                "image": BUSYBOX,
                "taskRoles": [
                    {
                        "name": "first_role",
                        "taskNumber": 1,
                        "cpuNumber": 1,
                        "memoryMB": 512,
                        "gpuNumber": 0,
                        "command": "cd /userhome; sleep 1; mkdir -p result;"
                        " date > result/when.txt; echo over",
                    }
                ],
            },
            indent=2,
        ),
    )
    done = shim_harness.danlu("submit", "hello.json")
    assert done.returncode == 0, done.stderr
    ref = done.stdout.split()[0].replace("/", "~")
    assert shim_harness.wait(ref)["state"] == "succeeded"
    assert shim_harness.log(ref) == "over\n"
    assert (shim_harness.server.data / "home" / "admin" / "result" / "when.txt").read_text()


def test_a_json_job_asks_for_gpus_and_shared_memory(shim_harness: ShimHarness) -> None:
    text = json.dumps(
        {
            "jobName": "train-4gpu-",
            "image": BUSYBOX,
            "gpuType": "",
            "retryCount": 0,
            "taskRoles": [
                {
                    "name": "four_gpus",
                    "taskNumber": 1,
                    "cpuNumber": 8,
                    "memoryMB": 4096,
                    "shmMB": 64,
                    "gpuNumber": 4,
                    "command": "cd /userhome/; if [ ! -d checkpoints ]; then mkdir -p checkpoints;"
                    " fi; echo $CUDA_VISIBLE_DEVICES; df -m /dev/shm | tail -1",
                }
            ],
        }
    )
    (job,) = shim_harness.send(text)["jobs"]
    shown = shim_harness.show(job["id"])
    assert shown["gpus"] == 4
    assert shown["spec"]["roles"]["four_gpus"]["shm"] == "64M"
    assert shim_harness.wait(job["id"])["state"] == "succeeded", shim_harness.log(job["id"])
    first, second = shim_harness.log(job["id"]).splitlines()
    assert first == "0,1,2,3"
    assert second.split()[1] == "64"


# -- A lab under Slurm: launchers, scripts, and a terminal -------------------------------


def test_the_labs_launchers_run_a_program_on_so_many_gpus(shim_harness: ShimHarness) -> None:
    shim_harness.file(
        "main.py", "import os; print(os.environ['CUDA_VISIBLE_DEVICES'].count(',') + 1)\n"
    )
    done = shim_harness.run("ilaunch", "q", "default", "gpu", "0,1,2,3", "python3", "main.py")
    assert (done.stdout, done.returncode) == ("4\n", 0), done.stderr
    done = shim_harness.run("zlaunch", "-q", "d", "--gpu=5", "--", "python3", "main.py")
    assert (done.stdout, done.returncode) == ("5\n", 0), done.stderr


def test_a_script_runs_by_sbatch(shim_harness: ShimHarness) -> None:
    shim_harness.file("main.py", "print('trained')\n")
    shim_harness.file(
        "train.sh",
        """#!/bin/bash
#SBATCH -J train
#SBATCH -p default
#SBATCH --gres=gpu:5
#SBATCH --cpus-per-task=10
srun python3 main.py
""",
    )
    done = shim_harness.run("sbatch", "--wait", "train.sh")
    assert done.returncode == 0, done.stderr
    number = done.stdout.split()[-1]
    assert (shim_harness.folder / f"slurm-{number}.out").read_text() == "trained\n"


def test_srun_with_a_terminal_gives_a_shell(shim_harness: ShimHarness) -> None:
    words = ["srun", "--gres=gpu:1", "--pty", "bash"]
    with Terminal(*words, env=shim_harness.env, folder=shim_harness.folder) as person:
        person.type("echo GPUs=$CUDA_VISIBLE_DEVICES; exit 3\n")
        person.read_until("GPUs=0")
        assert person.end() == 3
