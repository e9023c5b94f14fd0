"""What four guides print, run as it is printed, on the local engine with real containers.

Replaced are hosts, people and folders of machines, by pattern. Images are not: the test has images
of those names.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.harness import Harness
from tests.api.people_harness import PASSWORD, PeopleHarness
from tests.containers.conftest import docker_daemon  # noqa: F401
from tests.dialects.harness import ShimHarness, eventually
from tests.dialects.printed import Guide, commands, value_of
from tests.support.containers import ContainerDaemon, busybox_image
from tests.support.folders import let_in
from tests.support.parts import need
from tests.support.server import DanluServer

CONFIG = """
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

[[nodes]]
name = "rack2"
cpus = 8
memory = "50G"
gpus = "2:{model}"

[queues.{queue}]
nodes = ["rack1"]

[volumes.slow]
source = "{slow}"
target = "/slow"
everywhere = false
"""

# What an image for training brings along, as far as the printed commands use it.
GIT = """#!/bin/sh
case $1 in
  clone) folder=$(basename "$2" .git); mkdir -p "$folder"; echo "cloned $2" > "$folder/origin" ;;
  pull) cat origin ;;
esac
"""
PYTHON = """#!/bin/sh
echo "$CUDA_VISIBLE_DEVICES $(df -m /dev/shm | awk 'END {print $2}') $*"
"""


@pytest.fixture(scope="module")
def guides() -> dict[str, Guide]:
    return {number: Guide(number) for number in ("000", "001", "002", "004")}


@pytest.fixture(scope="module")
def server(
    guides: dict[str, Guide],
    docker_daemon: ContainerDaemon,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[DanluServer]:
    shell = guides["000"].block("bind_mounts:")
    for image in (
        value_of("image", shell),
        value_of("worker_image", guides["001"].block("worker_image=")),
        *(value_of("image", block) for block in guides["002"].all('"jobName"')),
    ):
        docker_daemon.import_image(image, _image())
    folder = tmp_path_factory.mktemp("printed")
    slow = folder / "slow"
    (slow / "alice").mkdir(parents=True)
    let_in(slow / "alice")
    (slow / "alice" / "notes.txt").write_text("written earlier\n")
    launch = guides["004"].block("ilaunch")
    queue = re.search(r"ilaunch q (\S+)", launch)
    assert queue is not None
    text = CONFIG.format(
        socket=docker_daemon.socket,
        slow=slow,
        model=value_of("agent_label", shell),
        queue=queue[1],
    )
    server = DanluServer(folder / "data", text).start()
    yield server
    server.cleanup()


def _image() -> bytes:
    out = io.BytesIO(busybox_image())
    with tarfile.open(fileobj=out, mode="a") as tar:
        for name, text in (("git", GIT), ("python", PYTHON)):
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.size, entry.mode = len(text), 0o755
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


@pytest.fixture
def shim_harness(server: DanluServer, tmp_path: Path) -> Iterator[ShimHarness]:
    shim_harness = ShimHarness(server, let_in(tmp_path))
    yield shim_harness
    shim_harness.clear()


@pytest.fixture
def people_harness(shim_harness: ShimHarness) -> Iterator[PeopleHarness]:
    people_harness = PeopleHarness(Harness(shim_harness.server))
    yield people_harness
    people_harness.close()


# -- Guide 000: the YAML; `det` itself is for later ----------------------------------------------


def test_the_yaml_of_a_shell(shim_harness: ShimHarness, guides: dict[str, Guide]) -> None:
    text = guides["000"].block("bind_mounts:")
    slow = shim_harness.server.data.parent / "slow" / "alice"
    shim_harness.file("config.yaml", re.sub(r"(host_path: )\S+", rf"\g<1>{slow}", text))
    done = shim_harness.danlu("submit", "config.yaml")
    assert done.returncode == 0, done.stderr
    ref = done.stdout.split()[0]
    assert value_of("description", text) in ref
    eventually(lambda: shim_harness.show(ref.replace("/", "~"))["state"] == "running")
    job = shim_harness.show(ref.replace("/", "~"))
    assert job["nodes"] == ["rack2"]
    assert job["gpu_model"] == value_of("agent_label", text)
    inside = value_of("container_path", text)
    done = shim_harness.danlu("exec", ref, "--", "cat", f"{inside}/notes.txt")
    assert done.stdout == "written earlier\n", done.stderr


# -- Guide 001: from the download of the client to the result ------------------------------------


def test_the_client_from_its_download_to_the_result(
    shim_harness: ShimHarness, people_harness: PeopleHarness, guides: dict[str, Guide]
) -> None:
    need("wget")
    guide = guides["001"]
    group = people_harness.group()
    person = people_harness.person(group)
    bare = {"DANLU_SERVER": "", "DANLU_TOKEN": "", "PATH": "/usr/bin:/bin", "no_proxy": "*"}
    downloads = guide.all("wget ", "/dlc")
    assert len(downloads) == 4
    for number, block in enumerate(downloads):
        (shim_harness.folder / str(number)).mkdir()
        block = re.sub(r"https://[^/]+", shim_harness.server.url, block)
        done = shim_harness.shell(block, env=bare, cwd=shim_harness.folder / str(number))
        assert done.returncode == 0, done.stderr
    here = {"env": bare, "cwd": shim_harness.folder / "0"}

    block = guide.block("dlc config")
    block = re.sub(r"(--username )\S+", rf"\g<1>{person.name}", block)
    block = re.sub(r"(--password )\S+", rf"\g<1>{shlex.quote(PASSWORD)}", block)
    host = shim_harness.server.url.removeprefix("http://")
    done = shim_harness.shell(re.sub(r"(--endpoint )\S+", rf"\g<1>{host}", block), **here)
    assert done.returncode == 0, done.stderr

    done = shim_harness.shell(guide.block("dlc get workspace"), **here)
    assert f"| {group} " in done.stdout, done.stderr

    params = guide.block("worker_image=")
    done = shim_harness.shell(re.sub(r"(workspace_id=).*", rf"\g<1>{group}", params), **here)
    assert done.returncode == 0, done.stderr
    done = shim_harness.shell(guide.block("dlc create job"), **here)
    assert done.returncode == 0, done.stderr
    found = re.search(r"\|\s+(dlc[0-9a-z]+)\s+\|", done.stdout)
    assert found is not None, done.stdout

    def over() -> bool:
        shown = json.loads(shim_harness.run("./dlc", "get", "job", found[1], **here).stdout)
        assert shown["DisplayName"] == value_of("name", params)
        return bool(shown["Status"] == "Succeeded")

    eventually(over)
    assert shim_harness.run("./dlc", "logs", found[1], **here).stdout == "hello world\n"


def test_the_command_of_the_form_and_the_folders_it_may_use(
    shim_harness: ShimHarness, people_harness: PeopleHarness, guides: dict[str, Guide]
) -> None:
    """Without an image: the folders are the platform's, the Python is the machine's."""
    guide = guides["001"]
    group = people_harness.group()
    person = people_harness.person(group)
    home = shim_harness.server.data / "home" / person.name
    who = {"env": {"DANLU_TOKEN": person.token}}
    (command,) = commands(guide.block("mnist.py"))
    command = re.sub(r"/mnt/user/[^/ ]+", f"/mnt/user/{person.name}", command)
    script = command.split()[1].removeprefix(f"/mnt/user/{person.name}/")
    shim_harness.danlu("run", "--", "mkdir", "-p", f"/userhome/{Path(script).parent}", **who)
    (home / script).write_text("import sys; print(sys.argv[1:])\n")
    done = shim_harness.danlu("run", "--", *shlex.split(command), **who)
    assert done.stdout == f"{shlex.split(command)[2:]}\n", done.stderr

    # The second tree is for one group only: a volume that the admin declares.
    (shim_harness.folder / "tree").mkdir()
    tree = let_in(shim_harness.folder / "tree")
    names = (person.name, group) * 2
    printed = [line.split()[0] for line in commands(guide.block("/mnt2/"))]
    paths = [f"{path.rpartition('/')[0]}/{name}" for path, name in zip(printed, names, strict=True)]
    options = ["--path", "/mnt2", "--group", group]
    done = shim_harness.danlu("volume", "add", group, str(tree), *options)
    assert done.returncode == 0, done.stderr
    shim_harness.danlu("run", "--", "mkdir", "-p", *paths[2:], **who)
    done = shim_harness.danlu("run", "--", "ls", "-d", *paths, **who)
    assert sorted(done.stdout.split()) == sorted(paths), done.stderr
    elsewhere = {"env": {"DANLU_TOKEN": people_harness.person().token}}
    assert shim_harness.danlu("run", "--", "ls", "-d", paths[2], **elsewhere).returncode == 2


def test_the_images_it_lists(
    shim_harness: ShimHarness,
    guides: dict[str, Guide],
    docker_daemon: ContainerDaemon,  # noqa: F811
) -> None:
    images = commands(guides["001"].block("-py3-"))
    assert len(images) == 4
    for image in images:
        docker_daemon.import_image(image, _image())
        done = shim_harness.danlu("run", "--image", image, "--", "python", "train.py")
        assert done.stdout.endswith(" train.py\n"), done.stderr


# -- Guide 002: two JSON jobs, by the command line and pasted ------------------------------------


def test_the_json_jobs(shim_harness: ShimHarness, guides: dict[str, Guide]) -> None:
    first, second = guides["002"].all('"jobName"')
    shim_harness.file("first.json", first)
    done = shim_harness.danlu("submit", "first.json")
    assert done.returncode == 0, done.stderr
    waiting = done.stdout.split()[0].replace("/", "~")

    assert value_of("gpuNumber", second) == "4"
    size = value_of("shmMB", second)
    home = shim_harness.server.data / "home" / "admin"
    for try_again in (False, True):
        (pasted,) = shim_harness.send(second)["jobs"]
        assert shim_harness.wait(pasted["id"])["state"] == "succeeded", shim_harness.log(
            pasted["id"]
        )
        *pulled, last = shim_harness.log(pasted["id"]).splitlines()
        assert last.startswith(f"0,1,2,3 {size} /userhome/")
        assert bool(pulled) == try_again  # the folder is there by then
    assert list(home.glob("*/checkpoints")) or (home / "checkpoints").is_dir()

    assert shim_harness.wait(waiting)["state"] == "succeeded", shim_harness.log(waiting)
    assert shim_harness.log(waiting) == "finished\n"
    assert (home / "output" / "out.txt").read_text()


# -- Guide 004: launchers; Conda and pip are in test_conda ---------------------------------------


def test_the_launchers(shim_harness: ShimHarness, guides: dict[str, Guide]) -> None:
    need("python", "python-is-python3")
    shim_harness.file(
        "main.py", "import os; print(os.environ['CUDA_VISIBLE_DEVICES'].count(',') + 1)\n"
    )
    done = shim_harness.shell(guides["004"].block("ilaunch"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4\n5\n"
