"""Jobs with an image, as people see them: submitted, pulled, run, explained."""

from __future__ import annotations

import json
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.containers import BUSYBOX, ContainerDaemon, busybox_image
from tests.support.registry import Registry, large_layer
from tests.support.server import DanluServer, free_port


@pytest.fixture(scope="module", params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> ContainerDaemon:
    found: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    return found


AWAY = f"127.0.0.1:{free_port()}"
"""A registry the admin allows, where nobody answers."""


def config(daemon: ContainerDaemon, registry: Registry) -> str:
    return (
        f'[engine]\ncontainers = "{daemon.kind}"\ncontainer_socket = "{daemon.socket}"\n'
        f'images_from = ["configured", "public", "{AWAY}"]\n'
        f'[registries."{registry.host}"]\nplain_http = true\n'
    )


@pytest.fixture(scope="module")
def server(
    daemon: ContainerDaemon, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DanluServer]:
    folder = tmp_path_factory.mktemp("server")
    server = DanluServer(folder / "data", config(daemon, registry)).start()
    yield server
    server.cleanup()


def until(what: Any, patience: float = 180.0) -> Any:
    deadline = time.monotonic() + patience
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def events(server: DanluServer, job: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.get(f"/jobs/{job['id']}/events")["events"]
    return found


def test_danlu_run_runs_in_the_image(server: DanluServer) -> None:
    done = server.cli("run", "--image", BUSYBOX, "--", "sh", "-c", "busybox | head -1; pwd; exit 3")
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith(b"BusyBox")
    assert done.stdout.endswith(b"/userhome\n")


def test_input_and_output_are_bytes(server: DanluServer) -> None:
    data = bytes(range(256)) * 1000
    done = server.cli("run", "--image", BUSYBOX, "--", "cat", input=data)
    assert done.stdout == data


def test_exec_needs_no_more_than_the_program_itself(server: DanluServer) -> None:
    job = server.submit(image=BUSYBOX, command=["sleep", "600"])
    until(lambda: server.get(f"/jobs/{job['id']}")["state"] == "running")
    done = server.cli("exec", job["ref"], "--", "cat", "/proc/1/comm")
    assert done.stdout == b"danlu-holder\n", done.stderr
    server.post(f"/jobs/{job['id']}/stop", {"now": True})
    server.wait(job)


def test_an_image_that_is_nowhere_is_told_with_its_cause(
    server: DanluServer, registry: Registry
) -> None:
    image = f"{registry.host}/nowhere:1"
    job = server.wait(server.submit(image=image, command="true"))
    assert (job["state"], job["reason"], job["attempt"]) == ("failed", "image_not_found", 1)
    assert image in job["reason_en"]
    assert image in job["reason_zh"]
    assert "tag" in job["advice_en"]


@pytest.mark.parametrize("daemon", ["docker"], indirect=True)
def test_a_registry_that_is_away_is_tried_again_but_not_for_ever(server: DanluServer) -> None:
    job = server.submit(image=f"{AWAY}/x:1", command="true")
    ended = server.wait(job, timeout=300)
    assert (ended["state"], ended["reason"]) == ("failed", "registry_unreachable")
    assert ended["attempt"] == 4
    assert [event["kind"] for event in events(server, job)].count("requeued") == 3


def test_a_name_that_no_image_can_have_is_refused_at_once(server: DanluServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.submit(image="PyTorch:2.4", command="true")
    assert caught.value.code == 422
    text = caught.value.read().decode()
    assert "in lower case" in text
    assert "PyTorch:2.4" in text


def test_a_pull_is_shown_while_it_lasts(
    server: DanluServer, daemon: ContainerDaemon, registry: Registry, tmp_path: Path
) -> None:
    name = f"shown-{daemon.kind}"
    registry.add(name, [busybox_image(), large_layer(tmp_path / "blob", name, 160 << 20)])
    image = f"{registry.host}/{name}:1"
    seen: set[str] = set()

    def shown() -> bool:
        now, why = server.get(f"/jobs/{job['id']}"), server.get(f"/jobs/{job['id']}/why")
        seen.update((now["doing_en"], why["sentence_en"], why["sentence_zh"]))
        english = [text for text in seen if text.startswith(f"Pulling image {image}: ")]
        chinese = [text for text in seen if text.startswith(f"正在拉取镜像 {image}：")]
        over = now["state"] not in ("queued", "starting")
        assert not over, f"it was never seen on its way: {seen}"
        return any(" of " in text for text in english) and bool(chinese)

    with registry.slow() as a_moment:
        job = server.submit(image=image, command="echo ran")
        until(lambda: a_moment() or shown())
    ended = server.wait(job)
    assert ended["state"] == "succeeded"
    kinds = [event["kind"] for event in events(server, job)]
    assert kinds[:3] == ["submitted", "placed", "pulling"]
    assert kinds[-3:] == ["pulled", "started", "ended"]
    pulled = next(event for event in events(server, job) if event["kind"] == "pulled")
    assert pulled["data"]["layers"] >= 2
    assert image in pulled["zh"]
    daemon.drop_image(image)


def test_a_job_is_stopped_while_its_image_is_pulled(
    server: DanluServer, daemon: ContainerDaemon, registry: Registry, tmp_path: Path
) -> None:
    name = f"stopped-{daemon.kind}"
    registry.add(name, [large_layer(tmp_path / "blob", name, 160 << 20), busybox_image()])
    image = f"{registry.host}/{name}:1"
    with registry.slow() as a_moment:
        job = server.submit(image=image, command="echo ran")
        until(lambda: a_moment() or "pulling" in [event["kind"] for event in events(server, job)])
        server.post(f"/jobs/{job['id']}/stop", {})
        ended = server.wait(job)
    assert (ended["state"], ended["reason"]) == ("stopped", "stopped_by_user")
    assert "started" not in [event["kind"] for event in events(server, job)]
    assert server.bytes_of(f"/jobs/{job['id']}/logs") == b""


@pytest.mark.parametrize("daemon", ["docker"], indirect=True)
def test_a_job_waits_for_a_runtime_that_is_away(
    server: DanluServer, daemon: ContainerDaemon
) -> None:
    daemon.stop()
    try:
        job = server.submit(image=BUSYBOX, command="echo ran")
        waits = "Waiting for the container runtime: docker"
        until(lambda: server.get(f"/jobs/{job['id']}/why")["sentence_en"].startswith(waits))
    finally:
        daemon.start()
    assert server.wait(job)["state"] == "succeeded"


def test_over_its_memory_a_job_in_a_container_says_so(server: DanluServer) -> None:
    text = "dd if=/dev/zero of=/dev/null bs=300M count=1"
    job = server.wait(server.submit(image=BUSYBOX, command=text, memory="64M", cpus=1))
    assert (job["state"], job["reason"]) == ("failed", "out_of_memory")
    assert "64" in job["reason_en"]


def test_without_a_runtime_a_job_with_an_image_is_refused_with_what_to_install(
    tmp_path: Path,
) -> None:
    text = f'[engine]\ncontainer_socket = "{tmp_path}/none.sock"\n'
    server = DanluServer(tmp_path / "data", text).start()
    try:
        with pytest.raises(urllib.error.HTTPError) as caught:
            server.submit(image="pytorch:2.4", command="true")
        assert caught.value.code == 422
        error = json.loads(caught.value.read())["error"]
        assert "none.sock" in json.dumps(error)
    finally:
        server.cleanup()


LOOK = (
    "ls /gdata; cat /gdata/seen/x /gdata/asked/x /gdata/own/deep/x /gdata/link /gdata/file;"
    "for i in /gdata/new /gdata/seen/new /gdata/own/new; do mkdir $i 2>/dev/null || echo refused;"
    "done"
)


def test_datasets_are_beside_what_gdata_has_and_cannot_be_written(
    server: DanluServer, tmp_path: Path
) -> None:
    gdata = server.data / "gdata"
    (gdata / "own" / "deep").mkdir(parents=True)
    (gdata / "own/deep/x").write_text("own\n")
    (gdata / "file").write_text("file\n")
    (gdata / "link").symlink_to("own/deep/x")
    before = sorted(str(path) for path in gdata.rglob("*"))
    tmp_path.chmod(0o755)
    for name in ("seen", "asked"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(f"{name}\n")
    server.cli("volume", "add", "nas", str(tmp_path), "--read-only")
    words = ("--volume", "nas", "--wait")
    server.cli("dataset", "add", "seen", "--folder", "seen", *words, "--everywhere")
    server.cli("dataset", "add", "asked", "--folder", "asked", *words, "--on-request")
    try:
        run = ("run", "--quiet", "--image", BUSYBOX)
        done = server.cli(*run, "--dataset", "asked", "--", "sh", "-c", LOOK)
        names = ["asked", "file", "link", "own", "seen"]
        seen = [*names, "seen", "asked", "own", "own", "file", *["refused"] * 3]
        assert done.stdout.decode().split() == seen, done.stderr
        done = server.cli(*run, "--", "ls", "/gdata")
        assert done.stdout.decode().split() == names[1:], done.stderr
        assert sorted(str(path) for path in gdata.rglob("*")) == before
    finally:
        for name in ("seen", "asked"):
            server.cli("dataset", "remove", name, "--yes")
        server.cli("volume", "remove", "nas", "--yes")
