"""`danlu up --demo`, as somebody without GPUs tries it."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from danlu.server.demo import past, scene
from danlu.server.demo.cast import GPUS, NODES
from danlu.server.demo.load import Load
from tests.support.demo import DANLU, Visitor


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    visitor = Visitor(tmp_path)
    yield visitor
    if visitor.server is not None and visitor.server.poll() is None:
        visitor.interrupt()


def until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.2)


def test_a_demo_shows_a_busy_cluster_and_leaves_nothing_running(visitor: Visitor) -> None:
    said = visitor.start()
    assert "This is a demo" in said
    assert str(visitor.data) in said

    # three kinds of people can sign in
    assert visitor.sign_in("zhangyue")["role"] == "member"
    assert visitor.sign_in("chenyu")["leads"] == ["vision"]
    assert visitor.sign_in("admin")["role"] == "admin"
    assert not visitor.sign_in("admin")["must_change_password"]

    # every answer says what it is
    listing = visitor.danlu("jobs", "--all")
    assert "people, jobs and GPU usage are made up" in listing.stderr
    assert "made up" not in visitor.danlu("jobs", "--json").stderr
    with urllib.request.urlopen(f"{visitor.address()}/danlu/v1/version") as answer:
        assert json.load(answer)["demo"] is True
        assert answer.headers["Danlu-Demo"] == "1"

    # all GPUs are accounted for, in several states
    until(lambda: "failed" in visitor.jobs()["alice/vit-huge"]["state"])
    gpus = visitor.json("gpus")["gpus"]
    assert len(gpus) == len(NODES) * GPUS
    assert {"used", "down", "outside"} <= {gpu["state"] for gpu in gpus}

    # jobs wait for different reasons
    assert "Needs 4 GPUs on one node" in visitor.why("zhangyue/llava-ft")
    assert "Your quota: 1 of 1 GPU in use" in visitor.why("wangsi/ppo-sweep")
    assert re.search(r"Waiting for chenyu/dfm-\d+ to succeed", visitor.why("chenyu/dfm-eval"))
    jobs = visitor.jobs()
    assert jobs["alice/vit-huge"]["reason"] == "out_of_gpu_memory"
    assert jobs["alice/vit-huge"]["evidence"]
    assert jobs["bob/tune"]["array_index"] is not None or jobs["bob/tune"]["state"] == "running"

    # what runs has run for a while, with usage and a log
    running = jobs["alice/resnet-abl"]
    assert time.time() - running["started_at"] > 7200
    charts = visitor.json("usage", running["ref"])
    assert charts["series"], "no usage of a running job"
    assert "INFO step" in visitor.danlu("logs", running["ref"]).stdout

    assert visitor.tasks()
    assert visitor.interrupt() == 0
    assert visitor.tasks() == []


def test_a_second_start_goes_on_and_a_reset_begins_anew(visitor: Visitor) -> None:
    visitor.start()
    password = visitor.password()
    assert visitor.danlu("run", "--name", "visit", "--", "true").returncode == 0
    assert visitor.interrupt() == 0

    visitor.start()
    assert visitor.password() == password
    jobs = visitor.jobs()
    assert jobs["admin/visit"]["state"] == "succeeded"
    assert jobs["alice/resnet-abl"]["state"] != "failed"
    assert visitor.interrupt() == 0

    visitor.start("--reset")
    assert visitor.password() != password
    assert "admin/visit" not in visitor.jobs()


def test_a_demo_killed_at_once_is_reset_with_its_tasks(visitor: Visitor) -> None:
    visitor.start()
    until(visitor.tasks)
    assert visitor.server is not None
    visitor.server.kill()
    visitor.server.wait()
    visitor.start("--reset")
    assert visitor.sign_in("zhangyue")["user"] == "zhangyue"
    assert visitor.interrupt() == 0
    assert visitor.tasks() == []


def test_a_demo_keeps_out_of_other_folders_and_settings(visitor: Visitor) -> None:
    def refused(*words: str) -> str:
        done = subprocess.run(
            [*DANLU, "up", *words], env=visitor.env, capture_output=True, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        assert done.returncode == 2, done
        return done.stderr

    real = visitor.home / "real"
    (real / "home").mkdir(parents=True)
    (real / "danlu.db").write_text("precious")
    for words in (["--demo"], ["--demo", "--reset"]):
        assert "is not the folder of a demo" in refused(*words, "--data", str(real))
    assert (real / "danlu.db").read_text() == "precious"
    assert "needs --demo" in refused("--reset", "--data", str(real))
    assert "has its own settings" in refused("--demo", "--config", str(real / "danlu.toml"))

    demo = visitor.home / "demo"
    demo.mkdir()
    (demo / "demo.json").write_text("{}")
    assert "is the folder of a demo" in refused("--data", str(demo))


def test_a_demo_does_not_replace_the_current_context(visitor: Visitor) -> None:
    kept = visitor.home / ".config/danlu/context.json"
    kept.parent.mkdir(parents=True)
    lab = {"server": "http://gpu.example.org", "token": "danlu_x"}
    kept.write_text(json.dumps({"current": "lab", "contexts": {"lab": lab}}))
    visitor.start()
    found = json.loads(kept.read_text())
    assert found["current"] == "lab"
    assert set(found["contexts"]) == {"lab", "demo"}


def test_no_gpu_of_the_past_had_two_jobs_at_once() -> None:
    now = 1_800_000_000.0
    rows = scene.Rows()
    present = past.stays_of(scene.opening(rows, now), rows, now)
    stays = present + past.earlier(rows, present, now)
    assert len(stays) > 100
    by_gpu: dict[tuple[str, int], list[past.Stay]] = {}
    for stay in stays:
        for index in stay.gpus:
            by_gpu.setdefault((stay.node, index), []).append(stay)
    for each in by_gpu.values():
        each.sort(key=lambda stay: stay.since)
        assert all(one.until <= other.since for one, other in itertools.pairwise(each))


@pytest.mark.parametrize("age", [0.0, 10.0, 4000.0])
def test_usage_stays_within_what_a_gpu_has(age: float) -> None:
    for name in ("a", "b", "c"):
        load = Load.of(name, {"DEMO_BUSY": "100", "DEMO_MEMORY": "24"})
        for at in range(0, 4000, 13):
            busy, memory = load.gpu(age, float(at))
            assert 0 <= busy <= 1
            assert 0 <= memory <= 24.5 * 2**30
    assert Load.of("a", {"DEMO_BUSY": "0"}).gpu(age, 5.0)[0] == 0
    assert 0 < Load.of("a", {"DEMO_BUSY": "a lot"}).busy < 1, "a visitor's own job"
