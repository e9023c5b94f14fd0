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

from tests.api.lab import Lab
from tests.api.society import PASSWORD, Society
from tests.containers.conftest import docker_daemon  # noqa: F401
from tests.dialects.desk import Desk, eventually
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
def desk(server: DanluServer, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(server, let_in(tmp_path))
    yield desk
    desk.clear()


@pytest.fixture
def society(desk: Desk) -> Iterator[Society]:
    society = Society(Lab(desk.server))
    yield society
    society.close()


# -- Guide 000: the YAML; `det` itself is for later ----------------------------------------------


def test_the_yaml_of_a_shell(desk: Desk, guides: dict[str, Guide]) -> None:
    text = guides["000"].block("bind_mounts:")
    slow = desk.server.data.parent / "slow" / "alice"
    desk.file("config.yaml", re.sub(r"(host_path: )\S+", rf"\g<1>{slow}", text))
    done = desk.danlu("submit", "config.yaml")
    assert done.returncode == 0, done.stderr
    ref = done.stdout.split()[0]
    assert value_of("description", text) in ref
    eventually(lambda: desk.show(ref.replace("/", "~"))["state"] == "running")
    job = desk.show(ref.replace("/", "~"))
    assert job["nodes"] == ["rack2"]
    assert job["gpu_model"] == value_of("agent_label", text)
    inside = value_of("container_path", text)
    done = desk.danlu("exec", ref, "--", "cat", f"{inside}/notes.txt")
    assert done.stdout == "written earlier\n", done.stderr


# -- Guide 001: from the download of the client to the result ------------------------------------


def test_the_client_from_its_download_to_the_result(
    desk: Desk, society: Society, guides: dict[str, Guide]
) -> None:
    need("wget")
    guide = guides["001"]
    group = society.group()
    person = society.person(group)
    bare = {"DANLU_SERVER": "", "DANLU_TOKEN": "", "PATH": "/usr/bin:/bin", "no_proxy": "*"}
    downloads = guide.all("wget ", "/dlc")
    assert len(downloads) == 4
    for number, block in enumerate(downloads):
        (desk.folder / str(number)).mkdir()
        block = re.sub(r"https://[^/]+", desk.server.url, block)
        done = desk.shell(block, env=bare, cwd=desk.folder / str(number))
        assert done.returncode == 0, done.stderr
    here = {"env": bare, "cwd": desk.folder / "0"}

    block = guide.block("dlc config")
    block = re.sub(r"(--username )\S+", rf"\g<1>{person.name}", block)
    block = re.sub(r"(--password )\S+", rf"\g<1>{shlex.quote(PASSWORD)}", block)
    host = desk.server.url.removeprefix("http://")
    done = desk.shell(re.sub(r"(--endpoint )\S+", rf"\g<1>{host}", block), **here)
    assert done.returncode == 0, done.stderr

    done = desk.shell(guide.block("dlc get workspace"), **here)
    assert f"| {group} " in done.stdout, done.stderr

    params = guide.block("worker_image=")
    done = desk.shell(re.sub(r"(workspace_id=).*", rf"\g<1>{group}", params), **here)
    assert done.returncode == 0, done.stderr
    done = desk.shell(guide.block("dlc create job"), **here)
    assert done.returncode == 0, done.stderr
    found = re.search(r"\|\s+(dlc[0-9a-z]+)\s+\|", done.stdout)
    assert found is not None, done.stdout

    def over() -> bool:
        shown = json.loads(desk.run("./dlc", "get", "job", found[1], **here).stdout)
        assert shown["DisplayName"] == value_of("name", params)
        return bool(shown["Status"] == "Succeeded")

    eventually(over)
    assert desk.run("./dlc", "logs", found[1], **here).stdout == "hello world\n"


def test_the_command_of_the_form_and_the_folders_it_may_use(
    desk: Desk, society: Society, guides: dict[str, Guide]
) -> None:
    """Without an image: the folders are the platform's, the Python is the machine's."""
    guide = guides["001"]
    group = society.group()
    person = society.person(group)
    home = desk.server.data / "home" / person.name
    who = {"env": {"DANLU_TOKEN": person.token}}
    (command,) = commands(guide.block("mnist.py"))
    command = re.sub(r"/mnt/user/[^/ ]+", f"/mnt/user/{person.name}", command)
    script = command.split()[1].removeprefix(f"/mnt/user/{person.name}/")
    desk.danlu("run", "--", "mkdir", "-p", f"/userhome/{Path(script).parent}", **who)
    (home / script).write_text("import sys; print(sys.argv[1:])\n")
    done = desk.danlu("run", "--", *shlex.split(command), **who)
    assert done.stdout == f"{shlex.split(command)[2:]}\n", done.stderr

    # The second tree is for one group only: a volume that the admin declares.
    (desk.folder / "tree").mkdir()
    tree = let_in(desk.folder / "tree")
    names = (person.name, group) * 2
    printed = [line.split()[0] for line in commands(guide.block("/mnt2/"))]
    paths = [f"{path.rpartition('/')[0]}/{name}" for path, name in zip(printed, names, strict=True)]
    options = ["--path", "/mnt2", "--group", group]
    done = desk.danlu("volume", "add", group, str(tree), *options)
    assert done.returncode == 0, done.stderr
    desk.danlu("run", "--", "mkdir", "-p", *paths[2:], **who)
    done = desk.danlu("run", "--", "ls", "-d", *paths, **who)
    assert sorted(done.stdout.split()) == sorted(paths), done.stderr
    elsewhere = {"env": {"DANLU_TOKEN": society.person().token}}
    assert desk.danlu("run", "--", "ls", "-d", paths[2], **elsewhere).returncode == 2


def test_the_images_it_lists(
    desk: Desk,
    guides: dict[str, Guide],
    docker_daemon: ContainerDaemon,  # noqa: F811
) -> None:
    images = commands(guides["001"].block("-py3-"))
    assert len(images) == 4
    for image in images:
        docker_daemon.import_image(image, _image())
        done = desk.danlu("run", "--image", image, "--", "python", "train.py")
        assert done.stdout.endswith(" train.py\n"), done.stderr


# -- Guide 002: two JSON jobs, by the command line and pasted ------------------------------------


def test_the_json_jobs(desk: Desk, guides: dict[str, Guide]) -> None:
    first, second = guides["002"].all('"jobName"')
    desk.file("first.json", first)
    done = desk.danlu("submit", "first.json")
    assert done.returncode == 0, done.stderr
    waiting = done.stdout.split()[0].replace("/", "~")

    assert value_of("gpuNumber", second) == "4"
    size = value_of("shmMB", second)
    home = desk.server.data / "home" / "admin"
    for try_again in (False, True):
        (pasted,) = desk.send(second)["jobs"]
        assert desk.wait(pasted["id"])["state"] == "succeeded", desk.log(pasted["id"])
        *pulled, last = desk.log(pasted["id"]).splitlines()
        assert last.startswith(f"0,1,2,3 {size} /userhome/")
        assert bool(pulled) == try_again  # the folder is there by then
    assert list(home.glob("*/checkpoints")) or (home / "checkpoints").is_dir()

    assert desk.wait(waiting)["state"] == "succeeded", desk.log(waiting)
    assert desk.log(waiting) == "finished\n"
    assert (home / "output" / "out.txt").read_text()


# -- Guide 004: launchers; Conda and pip are in test_conda ---------------------------------------


def test_the_launchers(desk: Desk, guides: dict[str, Guide]) -> None:
    need("python", "python-is-python3")
    desk.file("main.py", "import os; print(os.environ['CUDA_VISIBLE_DEVICES'].count(',') + 1)\n")
    done = desk.shell(guides["004"].block("ilaunch"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4\n5\n"
