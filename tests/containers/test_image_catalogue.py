"""The catalogue of images as people use it: verified, built, shared, with what is inside."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from danlu.services.image_packages import merged, packages_in
from tests.containers.test_saved_images import Values, config, running, stop, until
from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.server import DanluServer
from tests.support.tools import give, tools_tree


@pytest.fixture(scope="module")
def daemon(docker_daemon: ContainerDaemon) -> ContainerDaemon:
    return docker_daemon


@pytest.fixture(scope="module")
def server(
    daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("server") / "data", config(daemon)).start()
    yield server
    server.cleanup()


def shown(server: DanluServer, name: str) -> Values:
    found = server.cli("image", "show", name, "--json")
    assert found.returncode == 0, found.stderr
    image: Values = json.loads(found.stdout)
    return image


def archive(**files: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def test_packages_are_found_by_reading_layers() -> None:
    status = "Package: git\nStatus: install ok installed\nVersion: 1:2.39\n\n"
    status += "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n"
    first = archive(
        **{
            "var/lib/dpkg/status": status,
            "usr/lib/python3/dist-packages/numpy-2.1.0.dist-info/METADATA": "Name: numpy",
            "opt/conda/conda-meta/python-3.11.4-h955ad1f_0.json": "{}",
        }
    )
    pieces = [first[at : at + 7] for at in range(0, len(first), 7)]
    found = merged([packages_in(pieces), packages_in([archive(other="x")])])
    assert found["deb"] == {"git": "1:2.39"}
    assert found["pip"] == {"numpy": "2.1.0"}
    assert found["conda"] == {"python": "3.11.4"}


def test_a_saved_image_says_what_is_inside_and_where_it_is(server: DanluServer) -> None:
    folder = "/tmp/lib/torch-2.4.0.dist-info"
    job = running(server, f"mkdir -p {folder}; echo 'Name: torch' > {folder}/METADATA")
    done = server.cli("save", job["ref"], "inside:1")
    assert done.returncode == 0, done.stderr
    image: Any = until(lambda: shown(server, "inside:1")["inside"])
    assert image["pip"] == [{"name": "torch", "version": "2.4.0"}]
    assert image["packages_state"] == "read"
    assert shown(server, "inside:1")["nodes"][0]["state"] == "absent"
    done = server.cli("image", "pull", "inside:1")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert shown(server, "inside:1")["nodes"][0]["state"] == "present"
    stop(server, job)


def test_a_node_that_cannot_pull_is_shown_with_its_cause(server: DanluServer) -> None:
    server.cli("image", "add", "127.0.0.1:9/nothing:1")
    done = server.cli("image", "pull", "127.0.0.1:9/nothing:1")
    assert done.returncode != 0
    assert b"could not be pulled" in done.stdout and b"127.0.0.1:9" in done.stdout


def test_an_image_is_verified_by_a_job_and_unverified_under_a_new_digest(
    server: DanluServer,
) -> None:
    job = running(server, "echo one > /tmp/one")
    assert server.cli("save", job["ref"], "tried:1").returncode == 0
    without = json.loads(server.cli("image", "verify", "tried:1", "--json").stdout)
    assert without["works"] == ["ssh"], "what was not tried is not said to work"
    assert b"SSH\n" in server.cli("image", "show", "tried:1").stdout
    give(server.data, tools_tree())
    done = server.cli("image", "verify", "tried:1", "--json")
    image = json.loads(done.stdout)
    checks = {each["check"]: each["result"] for each in image["checks"]}
    assert checks == {"ssh": "ok", "lab": "ok", "code": "ok", "gpu": "skipped"}, image["checks"]
    assert image["works"] == ["ssh", "lab", "code"]
    assert b"SSH, JupyterLab, VS Code" in server.cli("image", "list").stdout
    assert image["checks"][0]["job"].startswith("admin/verify-")
    assert server.cli("exec", job["ref"], "--", "touch", "/tmp/two").returncode == 0
    assert server.cli("save", job["ref"], "tried:1").returncode == 0
    assert shown(server, "tried:1")["verified"] == "unverified"
    stop(server, job)


def test_a_proposal_becomes_a_ready_image(server: DanluServer) -> None:
    server.cli("image", "add", "pytorch/pytorch:2.4.0", "--note", "CUDA 12.4")
    assert server.cli("image", "propose", "pytorch/pytorch:2.4.0").returncode == 0
    assert b"pytorch" in server.cli("image", "list", "--proposed").stdout
    assert server.cli("image", "accept", "pytorch/pytorch:2.4.0").returncode == 0
    found = json.loads(server.cli("image", "list", "--ready", "--json").stdout)["images"]
    assert [each["proposal"] for each in found] == ["accepted"]


def test_an_environment_starts_again_from_what_it_was_saved_as(
    server: DanluServer, daemon: ContainerDaemon
) -> None:
    give(server.data, tools_tree())
    created = server.cli("env", "create", "dev", "--image", BUSYBOX, "-m", "1G")
    assert created.returncode == 0, created.stderr
    until(lambda: server.get("/environments/dev")["state"] == "running")
    made = server.cli("exec", "dev", "--", "sh", "-c", "echo kept > /tmp/kept")
    assert made.returncode == 0, made.stderr
    done = server.cli("env", "save", "dev", "dev:1", "--stop")
    assert done.returncode == 0, done.stderr
    found = server.get("/environments/dev")
    assert found["state"] == "stopped"
    assert found["saved_image"].endswith("/admin/dev:1")
    assert b"Saving dev as " in done.stdout
    shown = server.cli("env", "show", "dev").stdout.decode().splitlines()
    [saved] = [line for line in shown if "dev:1" in line]
    assert saved.startswith("Saved image"), "not a second line of what was asked for"
    stopped = server.cli("env", "save", "dev", "dev:2")
    assert stopped.returncode != 0
    assert b"dev is not running, so there is nothing to save" in stopped.stderr
    assert server.cli("env", "start", "dev").returncode == 0
    until(lambda: server.get("/environments/dev")["state"] == "running")
    again = server.cli("exec", "dev", "--", "cat", "/tmp/kept")
    assert again.stdout == b"kept\n", again.stderr
    server.cli("env", "delete", "dev", "--yes")
