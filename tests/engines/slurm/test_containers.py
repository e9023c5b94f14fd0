"""Images on Slurm's nodes: each runtime is called with its own options, and never with a secret."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.slurm.node import containers

IMAGE = "docker.io/library/busybox:1"
ENV = {"LR": "0.1", "KEY": "hidden", "HOME": "/userhome", "LD_PRELOAD": "/lib/x.so"}


def task_of(kind: str, program: str, **more: Any) -> dict[str, Any]:
    return {
        "image_run": {
            "kind": kind,
            "program": program,
            "images": [IMAGE, "localhost/busybox:1"],
            "user": "ann",
            "secret_names": ["KEY"],
        },
        "mounts": [
            {"source": "/home/ann", "target": "/userhome", "read_only": False},
            {"source": "/data", "target": "/gdata", "read_only": True},
        ],
        "own_home": "/home/ann",
        "own_run": "/tmp/danlu-x",
        "sockets": "/tmp/danlu-y",
        "stdin": "none",
        "shm": 1 << 30,
        "memory": 2 << 30,
        "cpus": 2.0,
        "workdir": "/userhome/job",
        **more,
    }


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "runtime"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def started(
    kind: str, program: str, run_as: str = "argv", **more: Any
) -> tuple[list[str], dict[str, str], containers.Container]:
    task = task_of(kind, program, **more)
    container = containers.make(task, "danlu-a-0", [])
    container.main = True
    argv, env = container.command(["python", "t.py"], run_as, ENV, task["workdir"], False)
    container.main = False
    return argv, env, container


@pytest.mark.parametrize("kind", containers.KINDS)
def test_secrets_are_in_no_command_line_and_reach_the_task(kind: str, program: str) -> None:
    argv, env, container = started(kind, program)
    again, other = container.command(["sh"], "argv", ENV, "/", True)
    for words, variables in ((argv, env), (again, other)):
        assert not any("hidden" in word for word in words)
        assert "hidden" in variables.values()
    assert env["PATH"].startswith("/usr")
    assert "LD_PRELOAD" not in env, "it is for the task, not for the runtime"
    assert env["HOME"] == "/home/ann"


@pytest.mark.parametrize("kind", ["podman", "docker"])
def test_podman_and_docker_give_what_was_asked_for_and_no_more(kind: str, program: str) -> None:
    argv, env, container = started(kind, program)
    text = " ".join(argv)
    assert argv[:2] == [program, "run"]
    assert argv[-3:] == [IMAGE, "python", "t.py"]
    assert "--network=host" in argv
    assert "--cap-drop=all" in argv
    assert "type=bind,source=/home/ann,target=/userhome" in argv
    assert "type=bind,source=/data,target=/gdata,readonly" in argv
    assert "type=bind,source=/tmp/danlu-x,target=/tmp/danlu-x" in argv
    assert "--workdir /userhome/job" in text
    assert f"--shm-size {1 << 30}" in text
    assert "--env LR" in text
    assert env["LR"] == "0.1"
    assert "--env HOME=/userhome" in text
    inside, _ = container.command(["id"], "argv", ENV, "/tmp", True)
    assert inside[:2] == [program, "exec"]
    assert "--tty" in inside
    assert inside[-2:] == ["danlu-a-0-0", "id"]
    if kind == "docker":
        assert f"--user={os.getuid()}:{os.getgid()}" in argv
        assert f"--memory={2 << 30}" in argv


def test_a_container_for_each_process_and_all_are_removed(program: str) -> None:
    container = containers.make(task_of("docker", program), "danlu-a-0", [])
    container.main = True
    names = [container.command(["true"], "argv", {}, "/", False)[0][4] for _ in range(2)]
    assert names == ["danlu-a-0-0", "danlu-a-0-1"]
    assert container.removals()[0][-2:] == names
    assert container.cleanup(2)["commands"] == container.removals()


def test_apptainer_runs_as_its_user_with_the_home_at_its_place(program: str) -> None:
    argv, env, _ = started("apptainer", program)
    text = " ".join(argv)
    assert "--home /home/ann:/userhome" in text
    assert "--bind /data:/gdata:ro" in text
    assert "--pwd /userhome/job" in text
    assert argv[-3:] == [f"docker://{IMAGE}", "python", "t.py"]
    assert env["APPTAINERENV_KEY"] == "hidden"


def test_enroot_makes_a_folder_of_the_image_and_removes_it(program: str) -> None:
    container = containers.make(task_of("enroot", program), "danlu-a-0", [])
    fetch = container.fetch()
    assert fetch is not None
    assert "docker.io#library/busybox:1" in fetch
    argv, _, _ = started("enroot", program)
    at = argv.index("danlu-a-0-0")
    assert argv[at + 1 :][-3:] == ["/userhome/job", "python", "t.py"]
    assert "/data:/gdata:none:x-create=dir,bind,ro" in argv
    assert container.removals() == [[program, "remove", "--force", "danlu-a-0-0"]]


def test_a_shell_command_uses_the_images_own_shell(program: str) -> None:
    argv, _, _ = started("podman", program, run_as="shell")
    at = argv.index(IMAGE)
    assert argv[at + 1 : at + 3] == ["/bin/sh", "-c"]
    assert argv[-1] == "python"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(containers.NoContainer, match="no /no/such/podman"):
        containers.find("podman", "/no/such/podman")
    monkeypatch.setattr(containers, "_which", lambda name: "")
    with pytest.raises(containers.NoContainer, match="none of apptainer, podman, enroot, docker"):
        containers.find("auto")


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Error: manifest unknown", "image_not_found"),
        ("denied: requested access to the resource is denied", "image_denied"),
        ("dial tcp: no route to host", "image_failed"),
        ("", "image_failed"),
    ],
)
def test_why_an_image_cannot_be_had(said: str, hint: str) -> None:
    assert containers.why_not(IMAGE, said).hint == hint
