"""What is asked of a runtime: names of images, containers, GPUs. No runtime is needed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.api import (
    HostMount,
    Identity,
    Launch,
    Refused,
    TaskLaunch,
    Unreachable,
)
from danlu.engines.local.check import Abilities
from danlu.engines.local.config import ContainerConfig, LocalConfig, Registry
from danlu.engines.local.container import holder, refs
from danlu.engines.local.container.libc import libc_is_old
from danlu.engines.local.container.pulls import Layers
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.plan import PlanContext, make_plan
from danlu.spec.job import Command, GpuRequest, Resources, RunAs
from danlu.spec.placement import Placement

DOCKER = Runtime("docker", "/run/docker.sock", gpus="nvidia")
PODMAN = Runtime("podman", "/run/podman/podman.sock", gpus="cdi")
DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("pytorch", "docker.io/library/pytorch:latest"),
        ("pytorch:2.4", "docker.io/library/pytorch:2.4"),
        ("nvidia/cuda:12.4.1-base", "docker.io/nvidia/cuda:12.4.1-base"),
        ("docker.io/busybox", "docker.io/library/busybox:latest"),
        ("reg.lab:5000/team/a_b__c:V1", "reg.lab:5000/team/a_b__c:V1"),
        ("localhost/mine", "localhost/mine:latest"),
        ("[::1]:5000/x:1", "[::1]:5000/x:1"),
        (f"x@{DIGEST}", f"docker.io/library/x@{DIGEST}"),
        (f"reg.lab/x:1@{DIGEST}", f"reg.lab/x@{DIGEST}"),
    ],
)
def test_a_short_name_stands_for_a_whole_one(text: str, full: str) -> None:
    assert str(refs.parse(text)) == full


@pytest.mark.parametrize(
    ("folder", "name", "old"),
    [
        (f"lib/{os.uname().machine}-linux-gnu", "libc-2.27.so", True),
        ("lib64", "libc-2.17.so", True),
        ("usr/lib", "libc-2.28.so", False),
        ("lib64", "libc-2.31.so", False),
        ("lib64", "libc.musl.so", False),
        ("lib64", "libc-2.x.so", False),
        ("lib64", "", False),
    ],
)
def test_an_old_libc_is_known_by_its_name(
    tmp_path: Path, folder: str, name: str, old: bool
) -> None:
    assert not libc_is_old(str(tmp_path))
    (tmp_path / folder).mkdir(parents=True)
    if name:
        (tmp_path / folder / "libc.so.6").symlink_to(name)
    else:
        (tmp_path / folder / "libc.so.6").touch()  # as newer ones are
    assert libc_is_old(str(tmp_path)) is old


@pytest.mark.parametrize(
    "text", ["", "Upper", "a b", "x:", ":1", "/x", "x/", "a//b", "x@sha256:12", "-x", "x:bad/tag"]
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(refs.BadName):
        refs.parse(text)


def test_an_image_may_be_known_by_the_name_of_a_mirror_or_as_made_here() -> None:
    mirror = Registry("mirror.lab", mirror_of=("docker.io",))
    assert refs.names_of("x:1", "podman", [mirror, Registry("other.lab")]) == [
        "docker.io/library/x:1",
        "localhost/x:1",
        "mirror.lab/library/x:1",
    ]
    assert refs.names_of("other.lab/x:1", "docker", [mirror]) == ["other.lab/x:1"]


def ground(runtime: Runtime | None, tmp_path: Path, **values: Any) -> PlanContext:
    return PlanContext(
        LocalConfig(tmp_path, containers=ContainerConfig()),
        Abilities(namespaces=True, namespaces_how="direct", identities=True),
        {"n1": "127.0.0.1"},
        values.pop("first_gpu", {"n1": 0}),
        "tag",
        ("0", "1", "2"),
        runtime,
        "Install one",
    )


def launch(gpus: tuple[int, ...] = (), **values: Any) -> Launch:
    resources = Resources(GpuRequest(len(gpus)), 1.5, 2 << 30, 1 << 26)
    command = Command(RunAs.ARGV, ("nvidia-smi",))
    values.setdefault("image", "pytorch:2.4")
    task = TaskLaunch(0, "worker", 0, command, resources, **values)
    place = Placement("n1", gpus)
    return Launch("attempt", "job", 1, Identity("alice", None, 2000, 2000), (task,), (place,))


def message(plan: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plan.payload)["tasks"][0]
    return found


def test_docker_is_asked_for_the_tasks_own_gpus(tmp_path: Path) -> None:
    task = message(make_plan(launch((0, 2)), ground(DOCKER, tmp_path)))
    asked = task["container"]["create"]
    (request,) = asked["HostConfig"]["DeviceRequests"]
    assert request == {"DeviceIDs": ["0", "2"], "Capabilities": [["gpu"]]}
    assert asked["Env"] == ["NVIDIA_VISIBLE_DEVICES=0,2"]
    assert task["processes"][0]["CUDA_VISIBLE_DEVICES"] == "0,1", "it sees no others"


def test_podman_is_asked_for_gpus_by_cdi(tmp_path: Path) -> None:
    asked = message(make_plan(launch((1,)), ground(PODMAN, tmp_path)))["container"]["create"]
    assert asked["devices"] == [{"path": "nvidia.com/gpu=1"}]


def test_an_image_that_wants_all_gpus_gets_none_it_did_not_ask_for(tmp_path: Path) -> None:
    asked = message(make_plan(launch(), ground(DOCKER, tmp_path)))["container"]["create"]
    assert "DeviceRequests" not in asked["HostConfig"]
    assert asked["Env"] == ["NVIDIA_VISIBLE_DEVICES=void"]


def test_declared_gpus_are_only_counted(tmp_path: Path) -> None:
    task = message(make_plan(launch((0, 2)), ground(DOCKER, tmp_path, first_gpu={})))
    assert "DeviceRequests" not in task["container"]["create"]["HostConfig"]
    assert task["processes"][0]["CUDA_VISIBLE_DEVICES"] == "0,2"


def test_real_gpus_without_a_way_to_hand_them_over_are_refused(tmp_path: Path) -> None:
    plain = Runtime("docker", "/run/docker.sock")
    with pytest.raises(Refused, match="nvidia-container-toolkit"):
        make_plan(launch((0,)), ground(plain, tmp_path))
    make_plan(launch(), ground(plain, tmp_path))


def test_nothing_is_privileged_and_limits_are_set(tmp_path: Path) -> None:
    mounts = (HostMount("data", "/srv/data", "/mnt/data", read_only=True),)
    asked = message(make_plan(launch(mounts=mounts), ground(DOCKER, tmp_path)))["container"]
    host = asked["create"]["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert not host.get("Privileged")
    assert (host["Memory"], host["MemorySwap"]) == (2 << 30, 2 << 30)
    assert (host["CpuQuota"], host["CpuPeriod"]) == (150_000, 100_000)
    assert host["ShmSize"] == 1 << 26
    seen = {mount["Target"]: (mount["Source"], mount["ReadOnly"]) for mount in host["Mounts"]}
    assert seen["/mnt/data"] == ("/srv/data", True)
    assert seen[holder.INSIDE][1]
    spec = message(make_plan(launch(mounts=mounts), ground(PODMAN, tmp_path)))["container"]
    assert spec["create"]["cap_drop"] == ["all"]
    assert spec["create"]["no_new_privileges"]
    assert spec["create"]["resource_limits"]["memory"]["limit"] == 2 << 30


def test_what_cannot_be_limited_is_not_asked_for(tmp_path: Path) -> None:
    rootless = Runtime("podman", "/x", rootless=True, limits=frozenset())
    asked = message(make_plan(launch(), ground(rootless, tmp_path)))["container"]["create"]
    assert "resource_limits" not in asked


def test_a_runtime_that_is_away_may_come_back(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="Install one"):
        make_plan(launch(), ground(None, tmp_path))


def test_a_dry_run_names_the_image(tmp_path: Path) -> None:
    assert "image:   pytorch:2.4" in make_plan(launch(), ground(DOCKER, tmp_path)).text


def test_layers_add_up() -> None:
    layers = Layers("x")
    for report in (
        {"status": "Pulling from x", "id": "1"},
        {"status": "Already exists", "id": "aa"},
        {"status": "Downloading", "id": "bb", "progressDetail": {"current": 10, "total": 100}},
        {"status": "Downloading", "id": "cc", "progressDetail": {"current": 5, "total": 50}},
        {"status": "Downloading", "id": "bb", "progressDetail": {"current": 60, "total": 100}},
    ):
        layers.take(report)
    found = layers.progress()
    assert (found.done, found.total, found.layers_done, found.layers) == (65, 150, 1, 3)
    assert not found.unpacking
    layers.take({"status": "Download complete", "id": "bb"})
    layers.take({"status": "Download complete", "id": "cc"})
    layers.take(
        {"status": "Extracting", "id": "bb", "progressDetail": {"current": 1, "total": 100}}
    )
    found = layers.progress()
    assert (found.done, found.layers_done, found.unpacking) == (150, 3, True)
    layers.take({"status": "Pull complete", "id": "bb"})
    assert not layers.progress().unpacking


def ignored(status: str) -> list[int]:
    (line,) = (line for line in status.splitlines() if line.startswith("SigIgn:"))
    mask = int(line.split()[1], 16)
    return [number for number in range(1, 65) if mask >> (number - 1) & 1]


def test_the_holder_waits_for_ever_and_reaps(tmp_path: Path) -> None:
    path = tmp_path / "holder"
    holder.put(str(path), os.uname().machine)
    before = path.stat().st_ino
    holder.put(str(path), os.uname().machine)
    assert path.stat().st_ino == before, "what is right is left alone"
    process = subprocess.Popen([str(path), "name"], stdin=subprocess.DEVNULL)
    try:
        status = Path(f"/proc/{process.pid}/status")
        while signal.SIGCHLD not in ignored(text := status.read_text()):
            assert process.poll() is None, text
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
