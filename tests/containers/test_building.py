"""Images built from a base and packages, on both runtimes."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator

import pytest

from tests.containers.test_saved_images import Values, config, until
from tests.support.containers import BUSYBOX, ContainerDaemon, busybox_image
from tests.support.server import DanluServer

FINAL = ("failed", "succeeded", "stopped")


@pytest.fixture(scope="module", params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> ContainerDaemon:
    found: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    return found


@pytest.fixture(scope="module")
def server(
    daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("server") / "data", config(daemon)).start()
    yield server
    server.cleanup()


CONDA = """#!/bin/sh
[ "$1" = install ] && { echo "$@"; echo "$MAMBA_ROOT_PREFIX"; } > /bin/from-conda; true
"""
PYTHON = """#!/bin/sh
{ id -u; grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status; ls -d /userhome /gdata; } 2>&1 |
tee /bin/built; echo "$@" >> /bin/built; mknod /bin/device c 1 1; true
"""


def base_image() -> bytes:
    """With a Python that writes down what it may, and a micromamba what it was asked for."""
    out = io.BytesIO(busybox_image())
    with tarfile.open(fileobj=out, mode="a") as tar:
        for name, text in (("bin/python3", PYTHON), ("bin/micromamba", CONDA)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def ended(server: DanluServer, ref: str) -> Values:
    def look() -> Values | None:
        found: Values = server.get(f"/jobs/{ref.replace('/', '~')}")
        return found if found["state"] in FINAL else None

    done: Values = until(look)
    return done


def test_a_build_is_root_in_its_container_alone_and_may_nothing_else(
    server: DanluServer, daemon: ContainerDaemon
) -> None:
    daemon.import_image("danlu-base:1", base_image())
    done = server.cli(
        *("image", "build", "built:1", "--base", "danlu-base:1", "--pip", "numpy==2.1.0"),
        *("--conda", "zlib", "--json"),
    )
    made = json.loads(done.stdout)
    assert ended(server, made["job"])["state"] == "succeeded", server.cli("logs", made["job"])
    image = until(lambda: [e for e in server.get("/images")["images"] if e["source"] == "built"])[0]
    assert image["name"] == made["image"]
    look = server.cli("run", "--image", image["name"], "--", "cat", "/bin/built").stdout.decode()
    lines = look.splitlines()
    assert lines[0] == "0"
    rights = dict(line.split(":\t") for line in lines if ":\t" in line)
    assert int(rights["CapEff"], 16) == int(rights["CapPrm"], 16) == 0
    assert rights["NoNewPrivs"] == "1"
    assert look.count("No such file") == 2, "no volume of anybody's"
    assert "numpy==2.1.0" in lines[-1]
    conda = server.cli("run", "--image", image["name"], "--", "cat", "/bin/from-conda")
    assert conda.stdout.decode().splitlines() == [
        "install -y -n base -c conda-forge zlib",
        "/opt/conda",
    ]
    device = server.cli("run", "--image", image["name"], "--", "ls", "/bin/device")
    assert device.returncode != 0
    daemon.drop_image("danlu-base:1")


def test_a_build_that_fails_leaves_nothing(server: DanluServer) -> None:
    for kind, lacking in (("pip", "no python3"), ("conda", "neither conda"), ("apt", "no apt-get")):
        made = server.post("/images/build", {"name": "failed:1", "base": BUSYBOX, kind: ["numpy"]})
        assert ended(server, made["job"])["state"] == "failed"
        log = server.cli("logs", made["job"]).stdout.decode()
        assert f"The base image has {lacking}" in log and "基础镜像" in log
    assert server.cli("image", "show", "failed:1").returncode != 0
    for bad in ("numpy; reboot", "--index-url=http://evil", "$(id)"):
        done = server.cli("image", "build", "x:1", "--base", BUSYBOX, f"--pip={bad}")
        assert done.returncode != 0 and b"is not a package" in done.stderr, done.stderr
