"""`danlu snapshot` and `danlu replay`: a strange decision is a file, decided again elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import DanluServer

CLUSTER = """
[scheduler]
place = "spread"

[[nodes]]
name = "n1"
cpus = 8
memory = "32G"
gpus = "4:RTX3090"

[[nodes]]
name = "n2"
cpus = 8
memory = "32G"
gpus = "4:A100"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("replay") / "data", CLUSTER)
    server.start()
    yield server
    server.cleanup()


@pytest.fixture(scope="module")
def picture(server: DanluServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two jobs leave two GPUs free on each node; one needs four on one node; one is held."""
    small: dict[str, Any] = {"gpus": 2, "cpus": 1, "memory": "1G"}
    secret = {"command": "sleep 1000 # hush", "env": {"WORD": "hush-hush"}}
    for _ in range(2):
        job = server.submit(name="small", **secret, **small)
        while server.get(f"/jobs/{job['id']}")["state"] != "running":
            pass
    server.submit(name="large", command="true", gpus=4, cpus=4, memory="4G")
    server.submit(name="kept", command="true", held=True, cpus=1, memory="1G")
    done = server.cli("snapshot")
    assert done.returncode == 0, done.stderr
    file = tmp_path_factory.mktemp("file") / "odd.json"
    file.write_bytes(done.stdout)
    return file


def replay(*words: object, lang: str = "en", **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Without any server."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("DANLU_")}
    return subprocess.run(
        [sys.executable, "-m", "danlu.cli", "replay", *map(str, words)],
        capture_output=True,
        env={**env, "DANLU_LANG": lang, "DANLU_SERVER": "http://127.0.0.1:1"},
        check=False,
        timeout=120,
        **more,
    )


def test_the_file_holds_no_command_and_no_variable(picture: Path) -> None:
    text = picture.read_text()
    assert "small" in text
    for word in ("hush", "sleep", "WORD"):
        assert word not in text


def test_what_is_replayed_is_what_the_server_says(server: DanluServer, picture: Path) -> None:
    done = replay(picture)
    assert done.returncode == 0, done.stderr
    told = done.stdout.decode()
    why = server.get("/jobs/large-1/why")
    assert f"admin/large-1: {why['sentence_en']}" in told
    assert "2 x 2 GPUs, distributed: starts now on n1, n2" in told
    assert "admin/kept-1: Held until it is released" in told
    assert "2 nodes, 2 running, 2 waiting" in told


def test_one_job_and_the_language_can_be_chosen(picture: Path) -> None:
    told = replay(picture, "--job", "large-1", lang="zh").stdout.decode()
    assert "分布式 2 × 2 卡: 立即开始：n1, n2" in told
    assert "kept" not in told


def test_it_reads_standard_input_and_answers_in_json(picture: Path) -> None:
    done = replay("-", "--json", "--limit", "1", input=picture.read_bytes())
    found = json.loads(done.stdout)
    assert found["starts"] == []
    assert [job["job"] for job in found["waiting"]] == ["admin/large-1"]
    assert found["waiting"][0]["causes"][0]["kind"] == "no_room"


def test_what_could_start_is_told_with_its_place(picture: Path, tmp_path: Path) -> None:
    values = json.loads(picture.read_text())
    for node in values["snapshot"]["nodes"]:
        node["gpus"] = [{**gpu, "free": 1000} for gpu in node["gpus"]]
    values["snapshot"]["running"] = []
    file = tmp_path / "empty.json"
    file.write_text(json.dumps(values))
    told = replay(file).stdout.decode()
    assert "admin/large-1: Starts now on n1, GPUs 0–3" in told


def _broken(picture: Path) -> Iterator[tuple[str, str]]:
    values = json.loads(picture.read_text())
    yield "not even json", "is not a snapshot from `danlu snapshot`"
    yield json.dumps({"some": "file"}), 'there is no "danlu": "snapshot" in it'
    yield json.dumps({**values, "version": 7}), "its version is 7"
    values["snapshot"]["nodes"] = 3
    yield json.dumps(values), "is not a snapshot from `danlu snapshot`"
    values["snapshot"]["nodes"] = ["n1"]
    yield json.dumps(values), "is not a snapshot from `danlu snapshot`"


def test_a_bad_file_is_told_and_ends_with_2(picture: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    for text, said in _broken(picture):
        file.write_text(text)
        done = replay(file)
        assert done.returncode == 2, (text[:40], done)
        assert said in done.stderr.decode()
        assert b"Traceback" not in done.stderr
    assert replay(tmp_path / "none.json").returncode == 2
    done = replay(picture, "--job", "nobody/x-1")
    assert done.returncode == 2
    assert b"no such waiting job" in done.stderr
