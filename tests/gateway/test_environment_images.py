"""Environments in images of all kinds, with the clients that people use.

People's uids are known to none of these images, and nothing for environments is installed in them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.containers.conftest import docker_daemon, podman_daemon, registry
from tests.dialects.miniforge import NAME, installer
from tests.gateway.client import Client, eventually, finished
from tests.gateway.web import WebServer, entered
from tests.inside.client import LabBehind
from tests.support.containers import BUSYBOX, IMAGE, ContainerDaemon
from tests.support.parts import need
from tests.support.roots import alpine_like, bionic_with_conda, debian_with_python
from tests.support.tools import give, tools_tree

__all__ = ["docker_daemon", "podman_daemon", "registry"]

DEBIAN, MUSL, BIONIC = "danlu-debian:1", "danlu-musl:1", "danlu-bionic:1"
CELL = "import os, sys; print(sys.executable, sys.version_info[1], os.getuid(), os.getcwd())"
# What VS Code opens its terminals with.
PTY = """
const pty = require("/opt/danlu/code/node_modules/code-server/lib/vscode/node_modules/node-pty");
const shell = pty.spawn("/bin/sh", [], { cols: 80, rows: 24, env: process.env });
let said = "";
shell.onData((text) => { said += text; if (said.includes("is 42")) process.exit(0); });
shell.write("echo is $((6 * 7))\\n");
"""
# As Remote-SSH unpacks it: VS Code's own scripts, and a Node for any machine with glibc 2.28.
REMOTE_SSH = r"""set -e
ours=/opt/danlu/code/node_modules/code-server/lib/vscode; here=~/.vscode-server/bin/1
mkdir -p $here && cp -r $ours/bin $here && cp /opt/danlu/node/bin/node $here && chmod u+w $here/node
ln -s $ours/out $ours/node_modules $ours/package.json $ours/product.json $here
patchelf --remove-rpath $here/node
patchelf --set-interpreter /lib64/ld-linux-x86-64.so.2 $here/node
$here/node --version > /dev/null 2>&1 || echo it does not start
$here/bin/code-server-oss --version
rm -r ~/.vscode-server
"""
# Not by `mount`, which the image may not have.
CLOSE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
space = os.open(f"/proc/{sys.argv[1]}/ns/mnt", os.O_RDONLY)
remount, bind, read_only = 32, 4096, 1
if libc.setns(space, 0) or libc.mount(None, b"/", None, remount | bind | read_only, None):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""
pytestmark = pytest.mark.slow


class Images:
    """A server, somebody, and images that are made when they are asked for."""

    def __init__(self, daemon: ContainerDaemon, folder: Path) -> None:
        config = f'[engine]\ncontainers = "{daemon.kind}"\ncontainer_socket = "{daemon.socket}"\n'
        self.daemon = daemon
        self.server = WebServer(folder / "data", config=config)
        give(self.server.data, tools_tree())
        self.server.start()
        self.alice = self.server.person("alice")

    def has(self, image: str) -> str:
        makes = {DEBIAN: debian_with_python, MUSL: alpine_like, BIONIC: bionic_with_conda}
        if image in makes and not self.daemon.has_image(image):
            self.daemon.import_image(image, makes[image]().read_bytes())
        return image

    def environment(self, image: str, **keys: Any) -> Client:
        """In which it starts, and the commands that follow go to it."""
        alice, name = self.alice, f"in_{image.partition(':')[0].replace('-', '_')}"
        alice.call("POST", "/environments", {"name": name, "image": self.has(image), **keys})
        eventually(lambda: self._runs(name))
        alice.job = name
        return alice

    def _runs(self, name: str) -> bool:
        found = self.alice.call("GET", f"/environments/{name}")
        assert found["state"] in ("queued", "starting", "running"), found
        return bool(found["state"] == "running")

    def end(self) -> None:
        self.alice.call("DELETE", f"/environments/{self.alice.job}")


@pytest.fixture(scope="module")
def in_docker(
    docker_daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Images]:
    images = Images(docker_daemon, tmp_path_factory.mktemp("in-docker"))
    yield images
    images.server.cleanup()


@pytest.fixture(scope="module")
def in_podman(
    podman_daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Images]:
    images = Images(podman_daemon, tmp_path_factory.mktemp("in-podman"))
    yield images
    images.server.cleanup()


def lab_of(alice: Client) -> LabBehind:
    door = entered(alice, alice.job, {"door": "lab"})
    assert door.started("/api").status == 200
    return LabBehind(door.origin, door.cookies)


async def ran(alice: Client, code: str = CELL) -> str:
    """A cell in the kernel that JupyterLab offers first."""
    lab = lab_of(alice)
    return await lab.run((await lab.kernels())["default"], code)


def vs_code_opens_a_terminal(alice: Client) -> None:
    door = entered(alice, alice.job, {"door": "code"})
    page = door.started("/", {"Accept": "text/html"})
    while page.status in (301, 302, 303, 307):
        page = door.ask("/" + page.field("location").removeprefix("./").lstrip("/"))
    assert (page.status, b"workbench" in page.body) == (200, True), page
    done = alice.ssh("--", "/opt/danlu/node/bin/node -", input=PTY.encode())
    assert done.returncode == 0, done


def files_go_both_ways(alice: Client, folder: Path) -> None:
    """scp by both of its protocols, sftp, and rsync."""
    data = os.urandom(100_000)
    (folder / "file").write_bytes(data)
    for protocol in ("-s", "-O"):
        assert alice.copy(protocol, folder / "file", ":sent").returncode == 0
        assert alice.copy(protocol, ":sent", folder / "back").returncode == 0
        assert (folder / "back").read_bytes() == data
    (folder / "batch").write_text(f"get sent {folder}/fetched\nrm sent\n")
    options = ["-b", folder / "batch", *alice.options, "-P", str(alice.server.ssh_port)]
    assert finished(["sftp", *options, alice.address]).returncode == 0
    assert (folder / "fetched").read_bytes() == data
    way = " ".join(["ssh", *alice.options, "-p", str(alice.server.ssh_port)])
    for pair in (
        [folder / "file", f"{alice.address}:"],
        [f"{alice.address}:file", folder / "again"],
    ):
        done = finished([need("rsync"), "-a", "-e", way, *pair])
        assert done.returncode == 0, done
    assert (folder / "again").read_bytes() == data


async def everything_works(alice: Client, folder: Path) -> list[str]:
    """The words of the cell."""
    words = (await ran(alice)).split()
    assert words[2] == alice.said("id -u").decode().strip(), words
    vs_code_opens_a_terminal(alice)
    git = "git init -q x && cd x && git -c user.name=a -c user.email=b commit -q --allow-empty "
    assert alice.said(f"{git} -m first && git log --format=%s && cd && rm -r x") == b"first\n"
    assert alice.ssh("--", "touch /opt/danlu/x").returncode != 0
    files_go_both_ways(alice, folder)
    return words


@pytest.mark.parametrize(
    ("image", "python", "closed"),
    [
        (DEBIAN, "/usr/bin/python3", False),
        (MUSL, "/usr/bin/python3", True),
        (BUSYBOX, "/opt/danlu/", True),
    ],
)
async def test_in_docker(
    in_docker: Images, image: str, python: str, closed: bool, tmp_path: Path
) -> None:
    """`closed`: with a root that cannot be written."""
    alice = in_docker.environment(image)
    if closed:
        close_root(in_docker.daemon)
    assert (await everything_works(alice, tmp_path))[0].startswith(python)
    in_docker.end()


@pytest.mark.parametrize(("image", "python"), [(MUSL, "/usr/bin/python3"), (IMAGE, "/opt/danlu/")])
async def test_in_podman(in_podman: Images, image: str, python: str, tmp_path: Path) -> None:
    """Also one that has nothing at all."""
    alice = in_podman.environment(image)
    assert (await everything_works(alice, tmp_path))[0].startswith(python)
    in_podman.end()


async def test_an_old_image_for_training_with_a_root_that_cannot_be_written(
    in_docker: Images, tmp_path: Path
) -> None:
    """glibc of 2018, conda, gigabytes of libraries."""
    alice = in_docker.environment(BIONIC)
    close_root(in_docker.daemon)
    assert alice.ssh("--", "touch /tmp/../x").returncode != 0
    words = await everything_works(alice, tmp_path)
    assert words[:2] == ["/opt/conda/bin/python", "8"]
    remote = alice.ssh("--", "bash", input=REMOTE_SSH.encode()).stdout.decode().splitlines()
    assert (remote[0], remote[-1]) == ("it does not start", "x64"), remote
    base = "import mine, os; print(mine.where, os.environ['FROM_CONDA'])"
    assert await ran(alice, base) == "conda base yes\n"
    lab = lab_of(alice)
    assert {"base (Python 3.8)", "Python 3.8 (/usr/bin)"} <= set(await lab.names())
    # An environment that is made at a terminal is a kernel at once.
    (tmp_path / NAME).write_bytes(installer())
    assert alice.copy(tmp_path / NAME, ":").returncode == 0
    alice.ssh("--", f"sh {NAME}", input=b"\nyes\n/userhome/miniforge3\nno\n")
    conda = "/userhome/miniforge3/bin/conda"
    alice.ssh("--", f"{conda} create -n vision python", input=b"y\n")
    names: dict[str, str] = {}
    while not any(name.startswith("vision") for name in names):
        names = await lab.names()
    [vision] = [kernel for name, kernel in names.items() if name.startswith("vision")]
    code = "import os, sys; print(sys.prefix, os.environ['CONDA_DEFAULT_ENV'])"
    assert await lab.run(vision, code) == "/userhome/miniforge3/envs/vision vision\n"
    in_docker.end()


def close_root(daemon: ContainerDaemon) -> None:
    """The whole file system of its containers, whatever their user may do there."""
    for each in daemon.api().wire.call("GET", "/containers/json"):
        pid = daemon.client("inspect", "-f", "{{.State.Pid}}", each["Id"]).stdout.decode().strip()
        subprocess.run([sys.executable, "-c", CLOSE, pid], check=True)
